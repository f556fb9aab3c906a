// The search for parent sets by levels: which sets of a size may be extended, and what they cost.
//
// Theorems 4, 5 and 7 of Liao et al. (2019) for BIC and AIC, theorem 8 for BDeu; see
// fedbn/search/families/parent_sets.py. Sets of possible parents are numbered among the variables but the node,
// joint values among all variables.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "families/joint_values.hpp"
#include "families/ranks.hpp"
#include "graphs/node_set.hpp"

namespace fedbn {

/// Sets of one size that a node may extend, with the least cost within each.
using Frontier = ByRank<double>;

struct BoundedSets {
    std::vector<Rank> ranks;
    std::vector<double> bounds;
};
struct LevelCosts {
    std::vector<double> cost;
    std::vector<std::uint8_t> may_extend;
};
struct LastFamilies {
    std::vector<std::int64_t> nodes;
    std::vector<Rank> ranks;  // among the other variables
    std::vector<double> costs;
};

class ParentSetLevels {
public:
    /// slack: that of the costs, with what rounding may do.
    ParentSetLevels(JointScore score, double slack)
        : score_(std::move(score)), sets_(score_.n()), n_(score_.n()), slack_(slack) {}

    const JointScore& score() const { return score_; }
    const SetRanks& sets() const { return sets_; }
    int n() const { return n_; }

    /// Ranks among all variables of the node's sets, and of these with the node.
    std::pair<std::vector<Rank>, std::vector<Rank>> global_ranks(int node, std::span<const Rank> ranks,
                                                                 int size) const;
    /// The sets of `size` + 1 all of whose subsets of `size` may be extended, with the least cost among all their
    /// proper subsets. BIC and AIC leave out a set P with bound + slack < w (r - 1) Π r + floor, and its supersets
    /// (theorem 4), where no set of any size loses less likelihood than `floor`.
    BoundedSets extend(int node, const Frontier& old, int size, double floor) const;
    /// Which parent sets P, or supersets of P, may be undominated (theorem 7). In any T ⊇ P the parent j saves
    /// N I(i; j | T - j) ≤ N H(j | P - j) - N H(j | all others), and costs at least w (r_i - 1)(r_j - 1) Π r over
    /// P - j. `floors` are N H(j | all others); `below` and `own` hold joint values of sets of `size` - 1 and `size`.
    std::vector<std::uint8_t> worth_scoring(int node, std::span<const Rank> ranks, int size,
                                            std::span<const double> floors, const ByRank<double>& below,
                                            const ByRank<double>& own) const;
    /// Costs of the parent sets of one level, and which of them may be extended; joint values of `size` and + 1.
    LevelCosts costs(int node, const Frontier& sets, int size, const ByRank<double>& own,
                     std::span<const std::int32_t> occupied, const ByRank<double>& above) const;
    /// The families with parent sets of `size` that stay, among S - i -> i for the sets S of ranks first .. last - 1.
    /// Each S is counted once. Few costs are below `limit` [n]; only these are compared with those of subsets.
    /// `values` are J of all sets of `size`; frontiers of one level below, for each node, with all ranks listed.
    LastFamilies last_level(Rank first, Rank last, int size, std::span<const double> values,
                            std::span<const Frontier> frontiers, std::span<const double> limit) const;
    /// The sets as bits among all variables.
    NodeSets bits(int node, std::span<const Rank> ranks, int size) const;

private:
    double arity(int v) const { return score_.discrete->arity(v); }
    double penalty() const { return score_.discrete->rung().parameter; }
    double parameters(int node, std::span<const int> parents) const;
    void unrank(int node, Rank rank, std::span<int> parents) const;
    Rank rank(std::span<const int> members) const;
    Rank rank_with(int node, std::span<const int> parents) const;
    double least_within(std::span<const int> members, int smallest, const Frontier& old) const;

    JointScore score_;
    SetRanks sets_;
    int n_;
    double slack_;
};

}  // namespace fedbn
