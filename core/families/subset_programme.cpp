#include "families/subset_programme.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "arguments.hpp"
#include "elementary.hpp"
#include "infinity.hpp"
#include "interrupt.hpp"
#include "scores/gaussian.hpp"

namespace fedbn {

namespace {

constexpr Subset kSubsetsBetweenLooks = Subset{1} << 12;  // subsets, at Ctrl-C
constexpr std::size_t kStretch = std::size_t{1} << 14;  // entries that stay in the processor's cache

void lower(double* more, const double* less, std::size_t size) {
    for (std::size_t u = 0; u < size; ++u) more[u] = less[u] < more[u] ? less[u] : more[u];
}

/// row[u] := min over the subsets of u, stretch by stretch so that each is read in cache.
void minimise(std::span<double> row) {
    const std::size_t stretch = std::min(row.size(), kStretch);
    for (std::size_t block = 0; block < row.size() / stretch; ++block) {
        notice_interrupt();
        double* first = &row[block * stretch];
        std::size_t step = 1;
        for (; step < stretch; step *= 2)
            for (std::size_t base = 0; base < stretch; base += 2 * step)
                lower(first + base + step, first + base, step);
        for (std::size_t done = block + 1; done % 2 == 0; done /= 2, step *= 2) {
            double* base = first + stretch - 2 * step;
            lower(base + step, base, step);
        }
    }
}

}  // namespace

std::vector<double> best_families(const FamilyList& families, int m) {
    const std::size_t half = std::size_t{1} << (m - 1);
    std::vector<double> table(m * half, kInfinity);
    for (std::size_t f = 0; f < families.node.size(); ++f) {
        const int i = families.node[f];
        double& least = table[i * half + without(Subset(families.parents[f]), i)];
        least = std::min(least, families.cost[f]);
    }
    for (int i = 0; i < m; ++i) minimise({&table[i * half], half});
    return table;
}

std::vector<double> forward(BestFamilies b) {
    std::vector<double> best(std::size_t{1} << b.m, kInfinity);
    best[0] = 0.0;
    for (Subset u = 1; u < best.size(); ++u) {
        if (u % kSubsetsBetweenLooks == 0) notice_interrupt();
        for (Subset left = u; left; left &= left - 1) {
            const int i = std::countr_zero(left);
            best[u] = std::min(best[u], best[u ^ Subset{1} << i] + b(i, u));
        }
    }
    return best;
}

std::vector<double> backward(BestFamilies b) {
    const Subset full = (Subset{1} << b.m) - 1;
    std::vector<double> rest(std::size_t{1} << b.m, kInfinity);
    rest[full] = 0.0;
    for (Subset u = full; u-- > 0;) {
        if (u % kSubsetsBetweenLooks == 0) notice_interrupt();
        for (Subset left = full & ~u; left; left &= left - 1) {
            const int i = std::countr_zero(left);
            rest[u] = std::min(rest[u], rest[u | Subset{1} << i] + b(i, u));
        }
    }
    return rest;
}

std::vector<double> marginals(const FamilyList& families, std::span<const double> best, std::span<const double> rest,
                              int m) {
    const std::size_t half = std::size_t{1} << (m - 1);
    std::vector<double> out(families.node.size()), through(half);
    for (int i = 0; i < m; ++i) {
        for (Subset place = 0; place < half; ++place) {
            if (place % kSubsetsBetweenLooks == 0) notice_interrupt();
            const Subset u = around(place, i);
            through[place] = best[u] + rest[u | Subset{1} << i];
        }
        for (std::size_t bit = 1; bit < half; notice_interrupt(), bit *= 2)  // min over the supersets
            for (std::size_t base = 0; base < half; base += 2 * bit)
                lower(&through[base], &through[base + bit], bit);
        for (std::size_t f = 0; f < out.size(); ++f)
            if (families.node[f] == i)
                out[f] = families.cost[f] + through[without(Subset(families.parents[f]), i)];
    }
    return out;
}

std::vector<std::int64_t> optimal_order(BestFamilies b, std::span<const double> best) {
    std::vector<std::int64_t> order(b.m);
    Subset u = (Subset{1} << b.m) - 1;
    for (int at = b.m - 1; at >= 0; --at) {
        int i = b.m - 1;
        while (i >= 0 && !(u >> i & 1 && best[u] == best[u ^ Subset{1} << i] + b(i, u))) --i;
        require(i >= 0, "the least costs must be those that follow from the table");
        order[at] = i;
        u ^= Subset{1} << i;
    }
    return order;
}

// Subsets in counting order: A's lowest member t is added last, and schur[t] is the matrix of the variables below t
// given A. So one pivot and one rank-one step of size t serve each subset.
std::vector<double> gaussian_subset_values(std::span<const double> gram, std::span<const double> constant,
                                           std::span<const double> exponent) {
    const int n = static_cast<int>(constant.size()) - 1;
    std::vector<std::vector<double>> schur(n + 1, std::vector<double>(std::size_t(n) * n));
    schur[n].assign(gram.begin(), gram.end());
    std::vector<double> values(std::size_t{1} << n);
    for (Subset a = 1; a < values.size(); ++a) {
        if (a % kSubsetsBetweenLooks == 0) notice_interrupt();
        const int t = std::countr_zero(a);
        const Subset others = a & (a - 1);
        const double* given = schur[others ? std::countr_zero(others) : n].data();
        const double* row = given + t * n;
        const double pivot = std::max({row[t], kRelativeFloor * gram[t * n + t], kAbsoluteFloor});
        for (int j = 0; j < t; ++j) {
            const double share = row[j] / pivot;
            for (int k = 0; k <= j; ++k) schur[t][j * n + k] = given[j * n + k] - share * row[k];
        }
        values[a] = values[others] + logarithm(pivot);
    }
    for (Subset a = 1; a < values.size(); ++a) {
        const int size = std::popcount(a);
        values[a] = constant[size] - exponent[size] * values[a];
    }
    return values;
}

std::vector<double> best_within(std::span<const double> values, int n) {
    const std::size_t half = std::size_t{1} << (n - 1);
    std::vector<double> table(n * half);
    for (int i = 0; i < n; ++i) {
        std::span<double> row(&table[i * half], half);
        for (Subset place = 0; place < half; ++place) {
            if (place % kSubsetsBetweenLooks == 0) notice_interrupt();
            const Subset u = around(place, i);
            row[place] = values[u] - values[u | Subset{1} << i];
        }
        minimise(row);
    }
    return table;
}

}  // namespace fedbn
