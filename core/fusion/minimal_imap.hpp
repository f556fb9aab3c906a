// The minimal directed I-map of a DAG under an order of its variables.
#pragma once

#include <span>

#include "graphs/dag.hpp"

namespace fedbn {

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

}  // namespace fedbn
