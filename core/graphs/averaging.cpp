#include "graphs/averaging.hpp"

#include <algorithm>

#include "ratio.hpp"

namespace fedbn {

namespace {

/// A DAG that grows, with the ancestors and descendants of every node, itself included.
class GrowingDag {
public:
    explicit GrowingDag(int n) : parents_(n, n), above_(n, n), below_(n, n) {
        for (int v = 0; v < n; ++v) above_[v].insert(v), below_[v].insert(v);
    }
    bool closes_cycle(int x, int y) const { return below_[y].has(x); }
    void add(int x, int y) {
        parents_[y].insert(x);
        const NodeSet above = above_[x], below = below_[y];
        for (int a : members(above)) below_[a] |= below;
        for (int b : members(below)) above_[b] |= above;
    }
    const NodeSets& parents() const { return parents_; }

private:
    NodeSets parents_, above_, below_;
};

}  // namespace

NodeSets averaged_arcs(std::span<const PairStrength> all, const Knowledge& known) {
    const int n = known.forbidden.size();
    GrowingDag dag(n);
    for (int y = 0; y < n; ++y)
        for (int x : members(known.required[y])) dag.add(x, y);
    struct Pair {
        Ratio strength;
        const PairStrength* of;
    };
    std::vector<Pair> pairs;
    for (const PairStrength& pair : all) {
        const auto joined = pair.votes + pair.votes_back;
        if (joined > 0 && (joined > pair.above || joined == pair.seen)) pairs.push_back({{joined, pair.seen}, &pair});
    }
    std::ranges::stable_sort(pairs, std::greater{}, &Pair::strength);
    const auto may_be = [&](int x, int y, std::int64_t votes, std::int64_t votes_back) {
        const bool liked = votes >= votes_back || known.forbidden[x].has(y);
        return liked && !known.forbidden[y].has(x) && !dag.closes_cycle(x, y);
    };
    for (const auto& [strength, pair] : pairs) {
        const auto [a, b, votes, votes_back, above, seen] = *pair;
        if (may_be(a, b, votes, votes_back))
            dag.add(a, b);
        else if (may_be(b, a, votes_back, votes))
            dag.add(b, a);
    }
    return dag.parents();
}

}  // namespace fedbn
