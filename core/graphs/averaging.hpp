// Model averaging: one DAG from votes on arcs.
#pragma once

#include <cstdint>

#include "graphs/knowledge.hpp"

namespace fedbn {

/// The votes on a pair, a < b.
struct PairStrength {
    int a, b;
    std::int64_t votes, votes_back;  // the weight of those that have a -> b, and b -> a
    std::int64_t above, seen;
};

/// The parents in the DAG of the required edges and of the pairs whose votes are above `above`, or all
/// that are possible, `seen`: those of the largest share of them first, then by name. An edge gets the
/// direction of more votes (both are tried where they are equal, the one from the smaller index first), or
/// the one that is allowed; it is left out where that closes a cycle. pairs: ascending.
NodeSets averaged_arcs(std::span<const PairStrength> pairs, const Knowledge& known);

}  // namespace fedbn
