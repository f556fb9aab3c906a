// A site's answers to the sums that secure MCBNC asks for, over its own DAGs.
#pragma once

#include "consensus/min_cut.hpp"

namespace fedbn {

/// Weighted sums of the order heuristic's costs: for each of 1 + |chain| levels, for each node. Level 0
/// has the nodes of `taken` made sinks and removed, in that order; level d the first d of `chain`, too.
/// Entries of removed nodes mean nothing.
std::vector<std::int64_t> cost_sums(std::span<const Dag> dags, std::span<const std::int64_t> weights,
                                    std::span<const int> taken, std::span<const int> chain);

/// A site's DAGs while they lose the arcs of deletions.
class OwnInputs {
public:
    explicit OwnInputs(std::vector<Dag> dags);

    const std::vector<Input>& inputs() const { return inputs_; }
    /// Remove from every DAG the arcs of its minimum cut nearest to y given S.
    void prune(int x, int y, const NodeSet& given);
    /// The weighted sum of the minimum cuts, each counted as at most `largest`.
    std::int64_t cut_sum(std::span<const std::int64_t> weights, int x, int y, const NodeSet& given, std::int64_t largest);

private:
    std::vector<Input> inputs_;
    MinCut cut_;
};

}  // namespace fedbn
