// Elimination orders. Eliminating a node joins its neighbours pairwise and takes it out.
#pragma once

#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

struct Elimination {
    std::vector<int> order;
    int width = 0;  // the maximum number of neighbours that a node has when it is eliminated
};

/// Min-fill: ties by fewest neighbours, then index. around: symmetric, no node beside itself.
Elimination fill_order(NodeSets around);

/// The reverse of the visits of maximum cardinality search, ties by index.
std::vector<int> cardinality_order(const NodeSets& around);

/// The width of an order.
int order_width(NodeSets around, const std::vector<int>& order);

}  // namespace fedbn
