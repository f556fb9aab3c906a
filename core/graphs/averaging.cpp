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

NodeSets averaged_arcs(std::span<const std::int64_t> votes, std::span<const std::int64_t> above,
                       std::span<const std::int64_t> seen, const Knowledge& known) {
    const int n = known.forbidden.size();
    const auto votes_for = [&](int x, int y) { return votes[std::size_t(x) * n + y]; };
    GrowingDag dag(n);
    for (int y = 0; y < n; ++y)
        for (int x : members(known.required[y])) dag.add(x, y);
    struct Pair {
        Ratio strength;
        int a, b;
    };
    std::vector<Pair> pairs;
    for (int a = 0; a < n; ++a)
        for (int b = a + 1; b < n; ++b) {
            const std::size_t pair = std::size_t(a) * n + b;
            const auto joined = votes_for(a, b) + votes_for(b, a);
            if (joined > 0 && (joined > above[pair] || joined == seen[pair])) pairs.push_back({{joined, seen[pair]}, a, b});
        }
    std::ranges::stable_sort(pairs, std::greater{}, &Pair::strength);
    const auto may_be = [&](int x, int y) {
        const bool liked = votes_for(x, y) >= votes_for(y, x) || known.forbidden[x].has(y);
        return liked && !known.forbidden[y].has(x) && !dag.closes_cycle(x, y);
    };
    for (const auto& [strength, a, b] : pairs) {
        if (may_be(a, b))
            dag.add(a, b);
        else if (may_be(b, a))
            dag.add(b, a);
    }
    return dag.parents();
}

}  // namespace fedbn
