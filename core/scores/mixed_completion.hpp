// Missing cells of a table of numbers and categories drawn anew: the step of structural EM by sampling for such tables.
#pragma once

#include <cstdint>
#include <vector>

namespace fedbn {

/// A table with missing cells, and the Markov blanket of each of its n columns.
struct IncompleteMixed {
    std::size_t rows;
    std::vector<int> states;                  // of a category; 0 for a number
    std::vector<double> table;                // [n, rows], numbers and codes; missing cells with some value of their column
    std::vector<std::uint8_t> gone;           // [n, rows], whether a cell is missing
    std::vector<std::vector<int>> blankets;   // of each column, other columns
};

/// The table after draws from the general-location model (Olkin and Tate 1961; Little and Rubin, chapter 14): `fits`
/// times the model of each column is fitted to the table as it is then, and `sweeps` Gibbs sweeps follow, column after
/// column, in each of them row after row.
///
/// z are the columns of the blanket, a category's being the indicators of all states but the last; S are sums of products
/// about means, D their diagonal divided by the number of rows (1 for a constant).
///
///     number    x = a + b z + s N(0, 1), b = (S_zz + D)^-1 S_zx, s^2 the mean square that is left
///     category  P(v) ~ share of v x N(z; mean of z in v, W), W = (S_zz within states + D) / rows
///
/// One 53-bit number of SplitMix64 for a category's cell; normal numbers by Marsaglia's polar method, two at a time.
std::vector<double> draw_missing_mixed(IncompleteMixed given, int fits, int sweeps, std::uint64_t seed);

}  // namespace fedbn
