// Exact shares: a sum over some weight, compared without rounding.
#pragma once

#include <compare>
#include <cstdint>

namespace fedbn {

/// sum / weight, with weight >= 0; a sum above 0 over no weight is infinite.
struct Ratio {
    std::int64_t sum = 0, weight = 1;

    std::strong_ordering operator<=>(const Ratio& other) const {
        if (weight == other.weight) [[likely]] return sum <=> other.sum;
        const auto left = static_cast<__int128>(sum) * other.weight, right = static_cast<__int128>(other.sum) * weight;
        return left < right ? std::strong_ordering::less : left > right ? std::strong_ordering::greater : std::strong_ordering::equal;
    }
    bool operator==(const Ratio& other) const { return (*this <=> other) == 0; }
};

}  // namespace fedbn
