// Descents over parent sets for any score, and orders as forward selection takes them.
#pragma once

#include "cg_dca/submodular.hpp"

namespace fedbn {

/// Parent sets of one node, priced by their score and the clusters that hold the node.
class ParentSets {
public:
    ParentSets(Score& score, const ClusterRows& clusters, int node)
        : score_(score), clusters_(clusters), node_(node) {}

    /// -s(node, P) + Σ of the duals of the clusters that have k of the parents.
    double value(const NodeSet& parents);

    struct Descent {
        std::vector<NodeSet> sets;
        std::vector<double> values;
    };
    /// The sets on the way down from `start`, which is the first, by the best addition, removal or swap,
    /// until none lowers the value or there are `most` sets.
    Descent descend(const NodeSet& start, int most);

    /// The order with each run of ties, which for the place k ends before ends[k], sorted by greedy descent
    /// of the value. Only the first `places` places are chosen so; the rest stays as it was.
    std::vector<int> greedy_order(std::vector<int> order, std::span<const int> ends, int places);

private:
    struct Move {
        int enter = -1, leave = -1;  // -1 for none
        double value = 0;
        explicit operator bool() const { return enter >= 0 || leave >= 0; }
    };
    Move best_move(const NodeSet& now, double value);

    Score& score_;
    const ClusterRows& clusters_;
    int node_;
    std::vector<int> members_;  // scratch
};

}  // namespace fedbn
