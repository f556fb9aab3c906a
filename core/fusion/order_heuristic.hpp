// The order under which several DAGs are fused.
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
    int cheapest(int place);

    std::vector<std::shared_ptr<SinkRemovals>> inputs_;
    std::vector<std::int64_t> weights_;
    std::vector<double> draws_;
    NodeSets after_;
    NodeSet preceding_;  // nodes that something must come after
    std::vector<Ratio> costs_;  // of making a node a sink
    NodeSet left_;
    std::vector<int> ties_;  // of the place that is looked at
    int empty_;
    std::vector<int> order_;
};

}  // namespace fedbn
