// Fusion: an order for several DAGs, and their minimal directed I-maps under it.
#pragma once

#include <memory>

#include "fusion/sink_removals.hpp"
#include "ratio.hpp"

namespace fedbn {

/// The order heuristic of Puerta et al. (2021): σ is built from last to first. The cost of a node is
/// the mean over the inputs that observe it.
class OrderHeuristic {
public:
    /// `draws`: numbers in [0, 1), one per node, that choose among tied nodes; empty: the smallest
    /// index. `after`: row v has what must come after v; without a cycle. `observed`: the nodes that each
    /// input is about, of which alone it has arcs.
    OrderHeuristic(std::vector<std::shared_ptr<SinkRemovals>> inputs, std::vector<std::int64_t> weights,
                   std::vector<double> draws, NodeSets after, const NodeSets& observed);
    /// Fill at most so many more places, from the last; returns how many are empty.
    int extend(int places);
    const std::vector<int>& order() const { return order_; }

private:
    int cheapest(int place) const;

    std::vector<std::shared_ptr<SinkRemovals>> inputs_;
    std::vector<std::int64_t> weights_;
    std::vector<double> draws_;
    NodeSets after_;
    std::vector<Ratio> costs_;  // of making a node a sink
    NodeSet left_;
    int empty_;
    std::vector<int> order_;
};

/// The minimal directed I-map of a DAG under one order after another. The parents of a node follow from
/// the set of its predecessors, so they are kept where that set is the same.
class MinimalImap {
public:
    explicit MinimalImap(const Dag& dag);
    /// Parents under `order`.
    const NodeSets& under(const Dag& dag, std::span<const int> order);

private:
    void find_parents(const Dag& dag, int v, const NodeSet& before, const NodeSet& inside);

    NodeSets ancestors_, before_, parents_;  // before_[v] has v itself where the parents of v are not known
};

/// Arcs that at least `quorum` of the inputs have; members: how many inputs each map stands for. Where
/// inputs observe different nodes (null: all of them), and fewer than `quorum` observe both ends of an arc,
/// all of these must have it.
NodeSets arcs_of_quorum(std::span<const NodeSets* const> maps, std::span<const std::int64_t> members, std::int64_t quorum,
                        const NodeSets* observed);

}  // namespace fedbn
