#pragma once

#include <limits>

namespace fedbn {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace fedbn
