// The cluster relaxation: the bound of its duals, and clusters that a fractional point violates.
//
// A k-cluster is a set of nodes of which k at least take fewer than k parents from the set; k = 1 are the
// cluster constraints of Jaakkola et al. (2010), k > 1 those of Cussens et al. (2017).
#pragma once

#include <span>
#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

/// Families of n nodes in any order, as a linear programme's columns.
struct Columns {
    int n;
    std::vector<int> node;
    NodeSets parents;

    /// Whether a family's node is in the cluster with fewer than k parents inside.
    bool covers(int f, const Set auto& cluster, int k) const {
        return cluster.has(node[f]) && count(cluster & parents[f]) < k;
    }
};

/// The Lagrangian bound of any duals >= 0.
struct ReducedCosts {
    double bound;                 // Σ least + Σ duals: no DAG costs less
    std::vector<double> least;    // [node]: the least price of its families
    std::vector<double> reduced;  // [family]: price - least of its node, the price being the cost less the
                                  // duals of the clusters that it covers
};
ReducedCosts reduced_costs(const Columns& columns, std::span<const double> cost, const NodeSets& clusters,
                           std::span<const double> duals);

/// Clusters with their left sides: Σ of x over the families that they cover.
struct Clusters {
    NodeSets sets;
    std::vector<double> sides;
};

/// k-clusters whose left side is below `below`, each once, by greedy growth from each seed: the node that
/// lowers the left side most is added or taken out until no single change lowers it.
Clusters grow_clusters(const Columns& columns, std::span<const double> x, const NodeSets& seeds, int k,
    double below);

/// For each seed the k-cluster of least left side that a tabu walk meets. Each step makes the best flip,
/// better or worse, of a node that was not flipped in the last n / 4 steps; more than k nodes stay.
Clusters walk_clusters(const Columns& columns, std::span<const double> x, const NodeSets& seeds, int k,
    int steps);

}  // namespace fedbn
