// Background knowledge on a CPDAG.
#pragma once

#include <optional>

#include "graphs/dag.hpp"

namespace fedbn {

/// Row y has x if x -> y is forbidden, or required.
struct Knowledge {
    NodeSets forbidden, required;
};

/// A member of the class without forbidden and with all required edges, if there is one.
std::optional<Dag> constrained_extension(const Pdag& g, const Knowledge& known);

}  // namespace fedbn
