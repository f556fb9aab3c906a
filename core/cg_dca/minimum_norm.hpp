// Wolfe's (1976) minimum-norm point of a base polytope, by which Fujishige minimises submodular functions.
#pragma once

#include "cg_dca/submodular.hpp"

namespace fedbn {

struct MinimumNorm {
    double tolerance;  // how far the set found may be from the minimum
    int rounds;        // major cycles at most
};

/// The point w [free] of the base polytope of g - y, given that `base` is in the set; {w < 0} minimises.
/// `start` [free] gives the order of the first vertex.
std::vector<double> minimum_norm_point(Likelihood& likelihood, const ClusterRows& clusters, int node,
                                       std::span<const int> base, std::span<const int> free,
                                       std::span<const double> y, std::span<const double> start,
                                       const MinimumNorm& settings);

}  // namespace fedbn
