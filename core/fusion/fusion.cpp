#include "fusion/fusion.hpp"

#include "interrupt.hpp"

namespace fedbn {

int sink_cost(const Dag& dag, int v) {
    const auto adjacent = dag.pa[v] | dag.ch[v];
    NodeSet married(dag.n());
    int cost = -1;
    for (int c : members(dag.ch[v])) {
        cost += 1 + count(dag.pa[v] - (dag.pa[c] | dag.ch[c]));
        married |= dag.pa[c];
    }
    return cost + count(married - adjacent - v);
}

namespace {

/// The smallest child c of v such that v -> c is the only directed path, or -1 for a sink.
int first_reversible_child(const Dag& dag, int v) {
    NodeSet below(dag.n()), look = dag.ch[v];  // strict descendants of the children
    for (int u = first(look); u >= 0; u = first(look)) {
        look.erase(u);
        look |= dag.ch[u] - below;
        below |= dag.ch[u];
    }
    return first(dag.ch[v] - below);
}

/// Cover v -> c (c gets the parents of v, v the other parents of c) and reverse it.
void reverse_covered(Dag& dag, int v, int c, NodeSet& changed) {
    auto& [pa, ch] = dag;
    pa[c].erase(v), ch[v].erase(c);
    const NodeSet to_c = pa[v] - pa[c], to_v = pa[c] - pa[v];
    pa[c] |= to_c;
    pa[v] |= to_v;
    for (int p : members(to_c)) ch[p].insert(c);
    for (int q : members(to_v)) ch[q].insert(v);
    pa[v].insert(c), ch[c].insert(v);
    changed |= to_c | to_v;
    changed.insert(v), changed.insert(c);
}

}  // namespace

NodeSet remove_as_sink(Dag& dag, int v) {
    NodeSet changed(dag.n());
    for (int c = first_reversible_child(dag, v); c >= 0; c = first_reversible_child(dag, v))
        reverse_covered(dag, v, c, changed);
    for (int p : members(dag.pa[v])) dag.ch[p].erase(v);
    changed |= dag.pa[v];
    dag.pa[v].clear();
    changed.erase(v);
    return changed;
}

OrderHeuristic::OrderHeuristic(std::vector<Dag> dags, std::vector<std::int64_t> weights, std::vector<double> draws,
                               NodeSets after)
    : dags_(std::move(dags)),
      weights_(std::move(weights)),
      draws_(std::move(draws)),
      after_(std::move(after)),
      costs_(dags_.size(), std::vector<int>(dags_[0].n())),
      total_(dags_[0].n()),
      left_(AllBelow{dags_[0].n()}),
      empty_(dags_[0].n()),
      order_(dags_[0].n(), -1) {
    for (std::size_t i = 0; i < dags_.size(); ++i)
        for (int v = 0; v < empty_; ++v) update(i, v);
}

void OrderHeuristic::update(std::size_t i, int v) {
    const int cost = sink_cost(dags_[i], v);
    total_[v] += weights_[i] * (cost - costs_[i][v]);
    costs_[i][v] = cost;
}

/// The node of smallest total cost among those left that nothing left must follow; ties by index or
/// by draw.
int OrderHeuristic::cheapest(int place) const {
    std::vector<int> ties;
    for (int v : members(left_)) {
        if (any(after_[v] & left_)) continue;
        if (!ties.empty() && total_[v] < total_[ties[0]]) ties.clear();
        if (ties.empty() || total_[v] == total_[ties[0]]) ties.push_back(v);
    }
    return ties[draws_.empty() ? 0 : std::size_t(draws_[place] * ties.size())];
}

int OrderHeuristic::extend(int places) {
    for (; places > 0 && empty_ > 0; --places) {
        notice_interrupt();
        const int v = order_[empty_ - 1] = cheapest(empty_ - 1);
        --empty_;
        left_.erase(v);
        for (std::size_t i = 0; i < dags_.size(); ++i) {
            const auto changed = remove_as_sink(dags_[i], v);
            NodeSet dirty = changed;  // and their neighbours
            for (int u : members(changed)) dirty |= dags_[i].pa[u] | dags_[i].ch[u];
            for (int u : members(dirty)) update(i, u);
        }
    }
    return empty_;
}

// w is a parent of v iff some path v..w in the moral graph of An(pred(v) + v) has no inner node in
// pred(v): a flood from v through non-predecessors collects the predecessors that it touches.
NodeSets minimal_imap(const Dag& dag, std::span<const int> order) {
    const int n = dag.n();
    const auto ancestors = ancestors_of(dag);
    NodeSets parents(n, n);
    NodeSet before(n), inside(n);
    for (int v : order) {
        notice_interrupt();
        inside |= ancestors[v];
        NodeSet seen(n), row(n);
        seen.insert(v);
        std::vector<int> stack{v};
        while (!stack.empty()) {
            const int u = stack.back();
            stack.pop_back();
            row = dag.pa[u] | (dag.ch[u] & inside);
            for (int c : members(dag.ch[u] & inside)) row |= dag.pa[c];
            parents[v] |= row & before;
            for (int w : members(row - before - seen)) stack.push_back(w);
            seen |= row - before;
        }
        before.insert(v);
    }
    return parents;
}

NodeSets arcs_of_quorum(std::span<const NodeSets> maps, std::span<const std::int64_t> members_of, std::int64_t quorum) {
    const int n = maps[0].size();
    NodeSets arcs(n, n);
    for (int v = 0; v < n; ++v) {
        std::vector<std::int64_t> votes(n);
        for (std::size_t i = 0; i < maps.size(); ++i)
            for (int p : members(maps[i][v])) votes[p] += members_of[i];
        for (int p = 0; p < n; ++p)
            if (votes[p] >= quorum) arcs[v].insert(p);
    }
    return arcs;
}

}  // namespace fedbn
