// Greedy descent on the mean SMHD, by single edges.
#pragma once

#include "graphs/knowledge.hpp"

namespace fedbn {

/// Apply the valid addition, deletion or reversal of an edge that lowers the weighted sum of SMHD
/// most, until none does. Ties: the first (x, y), then delete before reverse.
/// gain [n, n] = W - 2 c_e: what a moral edge e adds to the sum. The DAG keeps what is known, and no
/// change breaks it, or leads to a moral graph of which neither of two elimination orders has a width of
/// at most max_width (below 0: any).
void descend_to_median(Dag& dag, std::span<const std::int64_t> gain, const Knowledge& known, int max_width);

}  // namespace fedbn
