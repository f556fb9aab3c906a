#include "fusion/fusion.hpp"

#include "interrupt.hpp"

namespace fedbn {

OrderHeuristic::OrderHeuristic(std::vector<std::shared_ptr<SinkRemovals>> inputs, std::vector<std::int64_t> weights,
                               std::vector<double> draws, NodeSets after, const NodeSets& observed)
    : inputs_(std::move(inputs)),
      weights_(std::move(weights)),
      draws_(std::move(draws)),
      after_(std::move(after)),
      costs_(inputs_[0]->costs().size(), Ratio{0, 0}),
      left_(AllBelow{int(costs_.size())}),
      empty_(int(costs_.size())),
      order_(costs_.size(), -1) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        for (int v : members(observed[int(i)])) {
            costs_[v].sum += weights_[i] * inputs_[i]->costs()[v];
            costs_[v].weight += weights_[i];
        }
    for (Ratio& cost : costs_)
        if (cost.weight == 0) cost.weight = 1;  // nobody observes it, and nothing depends on its place
}

/// The node of smallest mean cost among those left that nothing left must follow; ties by index or
/// by draw.
int OrderHeuristic::cheapest(int place) const {
    std::vector<int> ties;
    for (int v : members(left_)) {
        if (any(after_[v] & left_)) continue;
        if (!ties.empty() && costs_[v] < costs_[ties[0]]) ties.clear();
        if (ties.empty() || costs_[v] == costs_[ties[0]]) ties.push_back(v);
    }
    return ties[draws_.empty() ? 0 : std::size_t(draws_[place] * ties.size())];
}

int OrderHeuristic::extend(int places) {
    for (; places > 0 && empty_ > 0; --places) {
        notice_interrupt();
        const int v = order_[empty_ - 1] = cheapest(empty_ - 1);
        --empty_;
        left_.erase(v);
        const std::size_t earlier = order_.size() - 1 - empty_;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            for (const auto& [u, difference] : inputs_[i]->remove(earlier, v)) costs_[u].sum += weights_[i] * difference;
    }
    return empty_;
}

MinimalImap::MinimalImap(const Dag& dag)
    : ancestors_(ancestors_of(dag)), before_(dag.n(), dag.n()), parents_(dag.n(), dag.n()) {
    for (int v = 0; v < dag.n(); ++v) before_[v].insert(v);
}

const NodeSets& MinimalImap::under(const Dag& dag, std::span<const int> order) {
    NodeSet before(dag.n()), inside(dag.n());
    for (int v : order) {
        inside |= ancestors_[v];
        if (!equal(before_[v], before)) {
            notice_interrupt();
            find_parents(dag, v, before, inside);
            before_[v] = before;
        }
        before.insert(v);
    }
    return parents_;
}

// w is a parent of v iff some path v..w in the moral graph of An(pred(v) + v), `inside`, has no inner
// node in pred(v), `before`: a flood from v through the others collects the predecessors that it
// touches.
void MinimalImap::find_parents(const Dag& dag, int v, const NodeSet& before, const NodeSet& inside) {
    NodeSet row(dag.n()), seen = Single{v, before.words()}, look = seen;
    parents_[v].clear();
    for (int u = v; u >= 0; u = first(look)) {
        look.erase(u);
        const auto children = dag.ch[u] & inside;
        row = dag.pa[u] | children;
        for (int c : members(children)) row |= dag.pa[c];
        parents_[v] |= row & before;
        row -= before | seen;
        look |= row;
        seen |= row;
    }
}

NodeSets arcs_of_quorum(std::span<const NodeSets* const> maps, std::span<const std::int64_t> members_of,
                        std::int64_t quorum, const NodeSets* observed) {
    const int n = maps[0]->size();
    NodeSets arcs(n, n);
    std::vector<std::int64_t> votes(n), voters(n, quorum);
    for (int v = 0; v < n; ++v) {
        if (quorum <= 1) {
            for (const NodeSets* map : maps) arcs[v] |= (*map)[v];
            continue;
        }
        std::ranges::fill(votes, 0);
        for (std::size_t i = 0; i < maps.size(); ++i)
            for (int p : members((*maps[i])[v])) votes[p] += members_of[i];
        if (observed) {
            std::ranges::fill(voters, 0);
            for (std::size_t i = 0; i < maps.size(); ++i)
                if (const SetView seen = (*observed)[int(i)]; seen.has(v))
                    for (int p : members(seen)) voters[p] += members_of[i];
        }
        for (int p = 0; p < n; ++p)
            if (votes[p] > 0 && votes[p] >= std::min(quorum, voters[p])) arcs[v].insert(p);
    }
    return arcs;
}

}  // namespace fedbn
