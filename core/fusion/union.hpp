// G+, the union of the minimal I-maps of all inputs under one order.
#pragma once

#include <cstdint>
#include <span>

#include "graphs/node_set.hpp"

namespace fedbn {

/// Arcs that at least `quorum` of the inputs have; members: how many inputs each map stands for. Where
/// inputs observe different nodes (null: all of them), and fewer than `quorum` observe both ends of an arc,
/// all of these must have it.
NodeSets arcs_of_quorum(std::span<const NodeSets* const> maps, std::span<const std::int64_t> members, std::int64_t quorum,
                        const NodeSets* observed);

}  // namespace fedbn
