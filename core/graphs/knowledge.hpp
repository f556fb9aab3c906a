// Background knowledge on a CPDAG.
#pragma once

#include <optional>

#include "graphs/dag.hpp"

namespace fedbn {

/// Row y has x if x -> y is forbidden, or required.
struct Knowledge {
    NodeSets forbidden, required;
    bool says_nothing() const;
};

Knowledge nothing_known(int n);

/// Whether a DAG has all required and no forbidden edges.
bool keeps(const NodeSets& parents, const Knowledge& known);

/// A member of the class without forbidden and with all required edges, if there is one.
std::optional<Dag> constrained_extension(const Pdag& g, const Knowledge& known);

/// The edges of a CPDAG in the directions that all members share which keep the knowledge: what it
/// directs, closed under the rules 1 to 4 of Meek (1995). Nothing where no member keeps it.
std::optional<Pdag> maximally_oriented(const Pdag& g, const Knowledge& known);

}  // namespace fedbn
