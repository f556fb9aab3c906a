// ln, exp and ln Γ by additions, multiplications and divisions alone, which IEEE 754 defines to the last
// bit: a result does not depend on the machine's library of such functions. Errors: ln and exp below one
// unit in the last place; ln Γ below 2e-14 (1 + |value|).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace fedbn {

namespace elementary {

/// A logarithm of a rational number: `high` is a multiple of 2^-40, so that small multiples of it are exact.
struct Logarithm {
    double high = 0, low = 0;
};

/// ln(p / q), p / q between 1/2 and 2: 2 artanh((p - q) / (p + q)) in units of 2^-108.
constexpr Logarithm logarithm_of(int p, int q) {
    const __int128 over = p - q, under = p + q;
    __int128 power = (__int128{1} << 109) / under * over, sum = 0;
    for (int odd = 1; power != 0; odd += 2) {
        sum += power / odd;
        power = power * over / under * over / under;
    }
    const __int128 high = sum / (__int128{1} << 68);  // units of 2^-40
    return {double(std::int64_t(high)) * 0x1p-40, double(std::int64_t((sum - high * (__int128{1} << 68)) >> 8)) * 0x1p-100};
}

constexpr int kSteps = 128;  // of a number between 1 and 2
constexpr Logarithm kLog2 = logarithm_of(2, 1);

/// ln(i / 128) for the i from 90 to 182, which are next to the numbers from √½ to √2.
constexpr auto kLogarithms = [] {
    std::array<Logarithm, 183> all{};
    for (int i = 90; i < 183; ++i) all[i] = logarithm_of(i, kSteps);
    return all;
}();

}  // namespace elementary

/// ln x; of 0 it is -inf, of a negative number NaN.
inline double logarithm(double x) {
    using namespace elementary;
    if (!(x > 0) || x > std::numeric_limits<double>::max()) return x == 0 ? -HUGE_VAL : x < 0 ? NAN : x;
    double exponent = 0;
    if (x < std::numeric_limits<double>::min()) x *= 0x1p54, exponent = -54;
    auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t half_up = bits - 0x3FE6A09E667F3BCD;  // √½
    exponent += double(std::int64_t(half_up) >> 52);
    const double m = std::bit_cast<double>(bits - (half_up & 0xFFF0000000000000));  // from √½ to √2
    const int i = int(m * kSteps + 0.5);
    const double c = i * (1.0 / kSteps), u = (m - c) / c;  // u is exact where c = 1
    const double s = u / (2 + u), square = s * s, half = 0.5 * u * u;  // ln(1 + u) = 2 artanh s
    const double curve = s * (half + square * (2.0 / 3 + square * (2.0 / 5 + square * (2.0 / 7)))) - half;
    const double base = exponent * kLog2.high + kLogarithms[i].high, sum = base + u;
    return sum + ((base - sum) + u + (curve + (exponent * kLog2.low + kLogarithms[i].low)));
}

/// e^x.
inline double exponential(double x) {
    using namespace elementary;
    if (!(x > -746)) return x != x ? x : 0;
    if (x > 710) return HUGE_VAL;
    const double k = std::floor(x * 1.4426950408889634 + 0.5);
    const double r = (x - k * kLog2.high) - k * kLog2.low;
    double series = 0;  // (e^r - 1 - r) / r²
    for (int i = 14; i >= 2; --i) {
        constexpr auto inverse = [] {
            std::array<double, 15> all{1.0, 1.0};
            double factorial = 1;
            for (int n = 2; n < 15; ++n) all[n] = 1.0 / (factorial *= n);
            return all;
        }();
        series = series * r + inverse[i];
    }
    return std::ldexp(1.0 + (r + r * r * series), int(k));
}

/// ln Γ(x) for x > 0: Stirling's series above 16; below, Γ(x) = Γ(x + m) / (x (x + 1) ... (x + m - 1)).
inline double log_gamma(double x) {
    constexpr double half_log_2_pi = 0.91893853320467274178;
    double product = 1;
    while (x < 16) product *= x++;
    const double inverse = 1 / x, square = inverse * inverse;
    const double series =
        inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square * (1.0 / 1188)))));
    const double above = (x - 0.5) * logarithm(x) - x + half_log_2_pi + series;
    return product == 1 ? above : above - logarithm(product);
}

}  // namespace fedbn
