#include "graphs/elimination.hpp"

namespace fedbn {

namespace {

void eliminate(NodeSets& around, int node) {
    const NodeSet neighbours = around[node];
    for (int v : members(neighbours)) {
        around[v] |= neighbours;
        around[v].erase(v);
        around[v].erase(node);
    }
    around[node].clear();
}

/// Edges that eliminating the node would add: pairs of neighbours that are not joined.
int fill_of(const NodeSets& around, int node) {
    const int degree = count(around[node]);
    int joined = 0;
    for (int v : members(around[node])) joined += count(around[v] & around[node]);
    return (degree * (degree - 1) - joined) / 2;
}

}  // namespace

Elimination fill_order(NodeSets around) {
    const int n = around.size();
    std::vector<std::pair<int, int>> costs(n);  // fill edges, degree
    const auto update = [&](int v) { costs[v] = {fill_of(around, v), count(around[v])}; };
    for (int v = 0; v < n; ++v) update(v);
    Elimination found;
    NodeSet left = AllBelow{n};
    for (int place = 0; place < n; ++place) {
        int node = -1;
        for (int v : members(left))
            if (node < 0 || costs[v] < costs[node]) node = v;
        found.order.push_back(node);
        found.width = std::max(found.width, costs[node].second);
        left.erase(node);
        NodeSet stale = around[node];  // only nodes within two edges can need other fill edges now
        for (int v : members(around[node])) stale |= around[v];
        eliminate(around, node);
        for (int v : members(stale & left)) update(v);
    }
    return found;
}

std::vector<int> cardinality_order(const NodeSets& around) {
    const int n = around.size();
    std::vector<int> order(n), seen_neighbours(n);
    NodeSet left = AllBelow{n};
    for (int place = n - 1; place >= 0; --place) {
        int node = -1;
        for (int v : members(left))
            if (node < 0 || seen_neighbours[v] > seen_neighbours[node]) node = v;
        order[place] = node;
        left.erase(node);
        for (int v : members(around[node] & left)) ++seen_neighbours[v];
    }
    return order;
}

int order_width(NodeSets around, const std::vector<int>& order) {
    int width = 0;
    for (int node : order) {
        width = std::max(width, count(around[node]));
        eliminate(around, node);
    }
    return width;
}

}  // namespace fedbn
