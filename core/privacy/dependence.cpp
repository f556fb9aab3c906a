#include "privacy/dependence.hpp"

#include <cstdlib>
#include <numeric>
#include <vector>

namespace fedbn {

std::int64_t dependence_sum(const Strata& table) {
    const auto [a, b, stratum, r_a, r_b, count] = table;
    std::vector<std::int64_t> counts(count * r_a * r_b), of_a(r_a), of_b(r_b);
    for (std::size_t row = 0; row < a.size(); ++row) ++counts[(stratum[row] * r_a + a[row]) * r_b + b[row]];
    std::int64_t total = 0;
    for (std::size_t s = 0; s < count; ++s) {
        const std::int64_t* const cells = &counts[s * r_a * r_b];
        of_a.assign(r_a, 0), of_b.assign(r_b, 0);
        for (std::size_t i = 0; i < r_a; ++i)
            for (std::size_t j = 0; j < r_b; ++j) of_a[i] += cells[i * r_b + j], of_b[j] += cells[i * r_b + j];
        const auto rows = std::accumulate(of_a.begin(), of_a.end(), std::int64_t{0});
        if (rows == 0) continue;
        std::int64_t part = 0;
        for (std::size_t i = 0; i < r_a; ++i)
            for (std::size_t j = 0; j < r_b; ++j) part += std::abs(rows * cells[i * r_b + j] - of_a[i] * of_b[j]);
        total += 32 * part / rows;
    }
    return total;
}

}  // namespace fedbn
