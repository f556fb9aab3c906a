// The pricing problem as a difference of two submodular functions g - f (Propositions 1 and 2 of CG-DCA).
//
// Their values are asked for along orders: of the first variable, the first two, and so on.
#pragma once

#include <span>
#include <vector>

#include "graphs/node_set.hpp"
#include "scores/score.hpp"

namespace fedbn {

/// Rows of the master problem that hold the priced node: sets of variables, their duals and their k.
struct ClusterRows {
    NodeSets members;
    std::vector<double> duals;
    std::vector<int> sizes;
};

/// Values of the first k variables of an order, k = 0, 1, ...; the reduced cost is g - f + p but for a
/// constant, p being the penalty of categorical data.
struct Prefixes {
    std::vector<double> g{0.0}, f{0.0}, p{0.0};
    std::size_t length() const { return g.size() - 1; }
};

/// A penalised likelihood: g and f without clusters.
class Likelihood {
public:
    virtual ~Likelihood() = default;
    virtual int n() const = 0;
    /// Values along an order; with `cut` only to where every further variable costs more penalty than any
    /// data could gain by it.
    virtual Prefixes along(int node, std::span<const int> order, bool cut) = 0;
};

/// BIC and AIC of Gaussian data: a Cholesky factor along the order, with the node as one more row.
class GaussianLikelihood : public Likelihood {
public:
    /// correlation [n, n]; fit: N / 2.
    GaussianLikelihood(int n, std::vector<double> correlation, double fit, double penalty)
        : n_(n), correlation_(std::move(correlation)), fit_(fit), penalty_(penalty) {}
    int n() const override { return n_; }
    const std::vector<double>& correlations() const { return correlation_; }
    double fit() const { return fit_; }
    double penalty() const { return penalty_; }
    Prefixes along(int node, std::span<const int> order, bool cut) override;

private:
    double correlation(int a, int b) const { return correlation_[std::size_t(a) * n_ + b]; }
    int n_;
    std::vector<double> correlation_;
    double fit_, penalty_;
    std::vector<double> factor_, row_;  // scratch
};

/// BIC and AIC of categorical data: entropies times N, from the joint values of the score.
class CategoricalLikelihood : public Likelihood {
public:
    explicit CategoricalLikelihood(DiscreteScore& score);
    int n() const override { return score_.n(); }
    Prefixes along(int node, std::span<const int> order, bool cut) override;

private:
    DiscreteScore& score_;
    double penalty_, n_log_n_;
    double most_;  // that the data can gain: N ln of the largest arity
};

/// g, f and p with the clusters that hold the node.
Prefixes prefixes(Likelihood& likelihood, const ClusterRows& clusters, int node, std::span<const int> order,
                  bool cut);

}  // namespace fedbn
