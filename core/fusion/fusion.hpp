// Fusion: an order for several DAGs, and their minimal directed I-maps under it.
#pragma once

#include "graphs/dag.hpp"

namespace fedbn {

/// What making v a sink costs in one DAG: (children - 1) + #{(p, c): p parent, c child, not
/// adjacent} + #{q: other parent of a child of v, not adjacent to v}.
int sink_cost(const Dag& dag, int v);

/// Make v a sink by covered reversals, then remove it; returns the nodes with new edges.
NodeSet remove_as_sink(Dag& dag, int v);

/// The order heuristic of Puerta et al. (2021): σ is built from last to first.
class OrderHeuristic {
public:
    /// `draws`: numbers in [0, 1), one per node, that choose among tied nodes; empty: the smallest
    /// index. `after`: row v has what must come after v; without a cycle.
    OrderHeuristic(std::vector<Dag> dags, std::vector<std::int64_t> weights, std::vector<double> draws,
                   NodeSets after);
    /// Fill at most so many more places, from the last; returns how many are empty.
    int extend(int places);
    const std::vector<int>& order() const { return order_; }

private:
    void update(std::size_t i, int v);
    int cheapest(int place) const;

    std::vector<Dag> dags_;  // without the nodes that have their place
    std::vector<std::int64_t> weights_;
    std::vector<double> draws_;
    NodeSets after_;
    std::vector<std::vector<int>> costs_;  // of making a node a sink, for each DAG
    std::vector<std::int64_t> total_;
    NodeSet left_;
    int empty_;
    std::vector<int> order_;
};

/// Parents in the minimal directed I-map of a DAG under `order`.
NodeSets minimal_imap(const Dag& dag, std::span<const int> order);

/// Arcs that at least `quorum` of the inputs have; members: how many inputs each map stands for.
NodeSets arcs_of_quorum(std::span<const NodeSets> maps, std::span<const std::int64_t> members, std::int64_t quorum);

}  // namespace fedbn
