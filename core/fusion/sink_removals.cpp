#include "fusion/sink_removals.hpp"

namespace fedbn {

int sink_cost(const Dag& dag, int v) {
    const auto adjacent = dag.pa[v] | dag.ch[v];
    NodeSet married(dag.n());
    int cost = -1;
    for (int c : members(dag.ch[v])) {
        cost += 1 + count(dag.pa[v] - dag.pa[c]);  // without a cycle no parent of v is a child of c
        married |= dag.pa[c];
    }
    return cost + count(married - adjacent - v);
}

namespace {

/// The smallest child c of v such that v -> c is the only directed path, or -1 for a sink.
int first_reversible_child(const Dag& dag, int v) {
    const int child = first(dag.ch[v]);
    if (child < 0 || !any(dag.ch[v] - child)) return child;
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

// A cost depends on the parents and children of a node, and on the parents of its children: those of v
// alone are others than before.
NodeSet remove_as_sink(Dag& dag, int v) {
    NodeSet changed(dag.n());
    const NodeSet children = dag.ch[v];
    for (int c = first_reversible_child(dag, v); c >= 0; c = first_reversible_child(dag, v))
        reverse_covered(dag, v, c, changed);
    for (int p : members(dag.pa[v])) dag.ch[p].erase(v);
    changed |= dag.pa[v];
    for (int c : members(children)) changed |= dag.pa[c];
    dag.pa[v].clear();
    changed.erase(v);
    return changed;
}

SinkRemovals::SinkRemovals(std::shared_ptr<const Dag> dag) : whole_(std::move(dag)), left_(*whole_), costs_(left_.n()) {
    for (int v = 0; v < left_.n(); ++v) costs_[v] = sink_cost(left_, v);
    costs_left_ = costs_;
}

void SinkRemovals::forget_from(std::size_t earlier) {
    removed_.resize(earlier);
    ends_.resize(earlier);
    changes_.resize(earlier ? ends_.back() : 0);
    left_ = *whole_;
    for (int v : removed_) remove_as_sink(left_, v);
    costs_left_ = costs_;
    for (const auto& [node, difference] : changes_) costs_left_[node] += difference;
}

std::span<const SinkRemovals::Change> SinkRemovals::remove(std::size_t earlier, int v) {
    if (earlier < removed_.size() && removed_[earlier] != v) forget_from(earlier);
    if (earlier == removed_.size()) {
        for (const NodeSet changed = remove_as_sink(left_, v); int u : members(changed)) {
            const int cost = sink_cost(left_, u);
            if (cost != costs_left_[u]) changes_.push_back({u, cost - costs_left_[u]});
            costs_left_[u] = cost;
        }
        removed_.push_back(v);
        ends_.push_back(changes_.size());
    }
    const std::size_t start = earlier ? ends_[earlier - 1] : 0;
    return {changes_.data() + start, ends_[earlier] - start};
}

}  // namespace fedbn
