// Taking one DAG apart, node by node, each made a sink first, as the order heuristic does.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graphs/dag.hpp"

namespace fedbn {

/// What making v a sink costs in one DAG: (children - 1) + #{(p, c): p parent, c child, not
/// adjacent} + #{q: other parent of a child of v, not adjacent to v}.
int sink_cost(const Dag& dag, int v);

/// Make v a sink by covered reversals, then remove it; returns the nodes whose sink cost may be another now.
NodeSet remove_as_sink(Dag& dag, int v);

/// The removals from one DAG and what each did to the sink costs of the nodes that are left. They are
/// kept: a DAG that loses the same nodes in the same order again is not taken apart again.
class SinkRemovals {
public:
    struct Change {
        int node, difference;
    };

    /// The DAG stays as it is while this is in use.
    explicit SinkRemovals(std::shared_ptr<const Dag> dag);

    /// The sink cost of each node before any removal.
    const std::vector<int>& costs() const { return costs_; }
    /// Remove v as the node after the first `earlier` ones, those of the calls before; the costs that
    /// change.
    std::span<const Change> remove(std::size_t earlier, int v);

private:
    void forget_from(std::size_t earlier);

    std::shared_ptr<const Dag> whole_;
    Dag left_;
    std::vector<int> costs_, costs_left_;
    std::vector<int> removed_;
    std::vector<Change> changes_;
    std::vector<std::size_t> ends_;  // of the changes of each removal
};

}  // namespace fedbn
