// A layered decision diagram of all near-optimal DAGs of one component.
//
// Layer k holds the states after k nodes are placed, always the smallest label that is available, so that
// each DAG is exactly one path. States from which the same things can follow are merged. This replaces
// the depth-first search of Liao et al. (2019), section 4.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "credible/limits.hpp"
#include "credible/problem.hpp"

namespace fedbn {

/// From a state of one layer by a family to a state of the next.
struct DiagramArc {
    std::int32_t source, family, target;
};

struct Layer {
    std::vector<double> reach, rest;  // least cost to each state, and from it to the end
    std::vector<DiagramArc> arcs;            // to the next layer, by source

    int states() const { return static_cast<int>(reach.size()); }
    /// Where the arcs of each state begin [states + 1].
    std::vector<std::size_t> first_arcs() const;
};

struct Diagram {
    std::vector<int> node;     // of each family
    std::vector<double> cost;  // of each family
    std::vector<Layer> layers;
    double limit = 0;  // largest cost of a path

    int n() const { return static_cast<int>(layers.size()) - 1; }
    /// The least cost of a path.
    double shift() const { return layers[0].rest[0]; }
};

/// The DAGs that cost at most the problem's optimum + budget; none if no DAG is within the problem's limit.
std::optional<Diagram> build_diagram(const Problem& problem, double budget, const Limits& limits);

}  // namespace fedbn
