#include "cg_dca/submodular.hpp"

#include <cmath>

#include "elementary.hpp"

namespace fedbn {

Prefixes GaussianLikelihood::along(int node, std::span<const int> order, bool) {
    const std::size_t size = order.size();
    factor_.resize(size * size);
    row_.resize(size);
    Prefixes values;
    double log_det = 0, variance = 1;
    for (std::size_t k = 0; k < size; ++k) {
        double* of_k = &factor_[k * size];
        double rest = 1;
        for (std::size_t b = 0; b < k; ++b) {
            const double* of_b = &factor_[b * size];
            double value = correlation(order[k], order[b]);
            for (std::size_t c = 0; c < b; ++c) value -= of_k[c] * of_b[c];
            value /= of_b[b];
            of_k[b] = value;
            rest -= value * value;
        }
        of_k[k] = std::sqrt(rest);
        double value = correlation(order[k], node);
        for (std::size_t c = 0; c < k; ++c) value -= of_k[c] * row_[c];
        row_[k] = value / of_k[k];
        variance -= row_[k] * row_[k];
        log_det += logarithm(rest);
        values.f.push_back(fit_ * log_det);
        values.g.push_back(fit_ * (log_det + logarithm(variance)) + penalty_ * double(k + 1));
        values.p.push_back(0.0);
    }
    return values;
}

CategoricalLikelihood::CategoricalLikelihood(DiscreteScore& score)
    : score_(score), penalty_(score.rung().parameter) {
    const double k = score.rung().row_weight, rows = score.table().all_rows;
    int largest = 1;
    for (int v = 0; v < n(); ++v) largest = std::max(largest, score.arity(v));
    n_log_n_ = k * (rows * logarithm(rows));
    most_ = k * rows * logarithm(double(largest));
}

Prefixes CategoricalLikelihood::along(int node, std::span<const int> order, bool cut) {
    Prefixes values;
    std::vector<int> members{node};
    const double unit = penalty_ * (score_.arity(node) - 1.0), own = score_.joint(members) + unit;
    double cells = 1;
    for (std::size_t k = 0; k < order.size() && !(cut && unit * cells >= most_); ++k) {
        members[k] = order[k];
        cells *= score_.arity(order[k]);
        const double plain = score_.joint(members) + penalty_ * (cells - 1.0);
        members.push_back(node);
        const double whole = score_.joint(members) + penalty_ * (cells * score_.arity(node) - 1.0);
        values.f.push_back(n_log_n_ - plain);
        values.g.push_back(own - whole);
        values.p.push_back(unit * (cells - 1.0));
    }
    return values;
}

Prefixes prefixes(Likelihood& likelihood, const ClusterRows& clusters, int node, std::span<const int> order,
                  bool cut) {
    Prefixes values = likelihood.along(node, order, cut);
    for (std::size_t c = 0; c < clusters.duals.size(); ++c) {
        const SetView members = clusters.members[int(c)];
        const double dual = clusters.duals[c];
        int met = 0;
        for (std::size_t k = 0; k < values.length(); ++k) {
            met += members.has(order[k]);
            values.g[k + 1] += dual * std::min(met, clusters.sizes[c]);
            values.f[k + 1] += dual * std::min(met, clusters.sizes[c] - 1);
        }
    }
    return values;
}

}  // namespace fedbn
