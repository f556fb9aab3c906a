// The dependence of two variables in strata, as whole numbers: utilities of private draws.
#pragma once

#include <cstdint>
#include <span>

namespace fedbn {

/// Two columns of codes below r_a and r_b, and the stratum of every row.
struct Strata {
    std::span<const std::int32_t> a, b;
    std::span<const std::int64_t> stratum;
    std::size_t r_a, r_b, count;
};

/// Σ_s floor(32 Σ_ab |n_s n_s,ab - n_s,a n_s,b| / n_s) over strata with rows; rows < 2^28.
std::int64_t dependence_sum(const Strata& table);

}  // namespace fedbn
