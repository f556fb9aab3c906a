// Totals of DAGs, and what two of them may differ by and count as equal.
#pragma once

#include <cmath>
#include <vector>

#include "graphs/node_set.hpp"
#include "infinity.hpp"
#include "scores/score.hpp"

namespace fedbn {

inline double tolerance_at(double total) { return 1e-9 * (1.0 + std::abs(total)); }

/// Σ_y s(y, Pa(y)).
inline double total_of(Score& score, const NodeSets& parents) {
    double total = 0;
    std::vector<int> of_y;
    for (int y = 0; y < parents.size(); ++y) {
        list(parents[y], of_y);
        total += score.local(y, of_y);
    }
    return total;
}

}  // namespace fedbn
