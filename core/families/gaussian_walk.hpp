// Depth-first search of the parent sets of one node under Gaussian BIC and AIC, with exact bounds.
//
// The candidates are decided one by one, each time the one without which least can be explained; it is moved to the
// end of those undecided, and back when it is done with. Index 0 of each matrix is the node; what is undecided is a
// leading block; only the lower triangle is kept. Including conditions the covariance and cuts its inverse to the
// leading block, excluding the reverse; so σ² of the node given the included is schur[0, 0], and given all that is
// not excluded 1 / precision[0, 0].
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

/// cost = scale ln σ² + penalty |P|, price = cost + duals of the clusters that P meets. A set is dropped when a set
/// met on the way to it, or one of the cheapest sets found, is a subset and costs less by more than `slack`, or when
/// its price exceeds the threshold.
struct WalkRules {
    double scale, penalty, slack;
    double margin;  // what rounding may do to a bound
    int max_parents;
    bool large_first;  // include before exclude: good sets come early; else small sets come early
    std::vector<std::vector<bool>> clusters;  // [clusters][candidate]
    std::vector<double> duals;
};

struct PricedSet {
    NodeSet parents;  // candidates
    double price;
};

class GaussianWalk {
public:
    /// Covariance and its inverse over the node and its candidates 1, 2, ..., row by row.
    GaussianWalk(WalkRules rules, std::span<const double> covariance, std::span<const double> precision, int size);

    /// Search on for `steps` steps or until `most` sets are found; returns the steps left. With steps left and fewer
    /// sets, the search is over.
    std::int64_t walk_on(double threshold, std::int64_t steps, std::size_t most, std::vector<PricedSet>& found);
    int words() const { return included_.words(); }  // of a set that is found
    bool capped() const { return capped_; }  // whether max_parents cut anything off

private:
    enum class Phase { arrived, one_done, both_done };
    struct Level {  // by the number of undecided candidates
        Phase phase = Phase::arrived;
        int schur_at, precision_at;  // the levels that hold the two matrices
        int moved = 0;               // whence the candidate came that is decided
        bool is_new = true;          // whether the last decision on the way was to include
        double best = std::numeric_limits<double>::infinity();  // least cost on the way
    };
    struct Known {
        NodeSet set;
        double cost = std::numeric_limits<double>::infinity();
    };

    double* schur(int m) { return &schur_[std::size_t(levels_[m].schur_at) * size_ * size_]; }
    double* precision(int m) { return &precision_[std::size_t(levels_[m].precision_at) * size_ * size_]; }
    void arrive(int m, double threshold, std::vector<PricedSet>& found);
    void eliminate(const double* old, std::vector<double>& matrices, int m) const;
    void exclude(int m);
    void include(int m);
    void take_back(int m);
    void swap(int m);
    void swap_rows(double* matrix, int a, int m) const;
    int branching(int m);
    double best_known() const;
    void remember(double cost);

    WalkRules rules_;
    int size_, level_;
    std::vector<double> schur_, precision_;  // [level][size, size]
    std::vector<Level> levels_;
    std::vector<int> label_;  // which candidate stands where
    NodeSet included_;
    int included_count_ = 0;
    std::vector<int> met_;  // included members of each cluster
    double paid_ = 0.0;     // duals of met clusters
    bool capped_ = false;
    std::vector<Known> known_;  // the cheapest sets found
};

}  // namespace fedbn
