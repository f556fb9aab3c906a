// Missing cells drawn anew from a network: the step of structural EM by sampling (Friedman, UAI 1998).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fedbn {

/// A table with missing cells, and a network over its columns.
struct Incomplete {
    std::size_t rows;
    std::vector<int> arities;                // of the n columns
    std::vector<std::uint16_t> codes;        // [n, rows], missing cells with some code of their column
    std::vector<std::uint8_t> gone;          // [n, rows], whether a cell is missing
    std::vector<std::vector<int>> parents;   // of each column
};

/// The largest number of configurations of a column's parents; only those that rows have take memory.
inline constexpr std::int64_t largest_configurations = std::int64_t{1} << 62;

/// The codes after Gibbs sweeps over the missing cells of every row, columns ascending: `fits` times the parameters are
/// counted from the codes as they are then, and `sweeps` sweeps follow.
///
/// The parameters are (N(x, p) + ess / (r q)) / (N(p) + ess / q). A cell is drawn given its Markov blanket: P(x | p)
/// times P(c | p_c) of every child c. One 53-bit number of SplitMix64 for each draw, rows ascending, then sweeps, then
/// columns.
std::vector<std::uint16_t> draw_missing(Incomplete given, double ess, int fits, int sweeps, std::uint64_t seed);

}  // namespace fedbn
