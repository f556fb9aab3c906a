// Dynamic programming over the subsets of m nodes (Silander & Myllymäki, 2006); bit i of a subset is node i.
//
// F(U) is the least cost of a DAG over U whose families stay in U; R(U) the least cost of adding all other nodes
// after U. Both come from B_i(U), the least cost of a family of i inside U.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fedbn {

using Subset = std::uint32_t;

/// The subset as a number over all nodes but i: bit i is taken out.
inline Subset without(Subset subset, int i) {
    const Subset low = (Subset{1} << i) - 1;
    return (subset & low) | (subset >> 1 & ~low);
}
/// The reverse: bit i is put in, as 0.
inline Subset around(Subset place, int i) {
    const Subset low = (Subset{1} << i) - 1;
    return (place & low) | (place & ~low) << 1;
}

/// Families (node, cost, parents).
struct FamilyList {
    std::span<const std::int32_t> node;
    std::span<const double> cost;
    std::span<const std::uint64_t> parents;
};

/// B [m, 2^(m-1)], each row over the nodes but one; borrowed.
struct BestFamilies {
    std::span<const double> table;
    int m;
    double operator()(int i, Subset subset) const {
        return table[(std::size_t(i) << (m - 1)) + without(subset, i)];
    }
};

std::vector<double> best_families(const FamilyList& families, int m);
std::vector<double> forward(BestFamilies b);   // F [2^m]
std::vector<double> backward(BestFamilies b);  // R [2^m]
/// [families]: the least cost of a DAG that uses each, min over U ⊇ P without i of F(U) + cost + R(U ∪ i).
std::vector<double> marginals(const FamilyList& families, std::span<const double> best, std::span<const double> rest,
                              int m);
/// An order of the nodes that reaches F of all of them; the largest index last on ties.
std::vector<std::int64_t> optimal_order(BestFamilies b, std::span<const double> best);

/// J [2^n] of a Gaussian score: constant[|A|] - exponent[|A|] ln det gram[A, A].
std::vector<double> gaussian_subset_values(std::span<const double> gram, std::span<const double> constant,
                                           std::span<const double> exponent);
/// B [n, 2^(n-1)] of all parent sets: the least cost J(P) - J(P ∪ i) over P inside each subset without i.
std::vector<double> best_within(std::span<const double> values, int n);

}  // namespace fedbn
