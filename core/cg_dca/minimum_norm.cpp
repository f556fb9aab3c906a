#include "cg_dca/minimum_norm.hpp"

#include <cmath>
#include <numeric>

#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr double kZero = 1e-12;

using Point = std::vector<double>;

double dot(const Point& a, const Point& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

/// Places that sort w, ties by place; insertion, as w is short and nearly sorted.
std::vector<int> ascending(std::span<const double> w) {
    std::vector<int> places(w.size());
    for (std::size_t k = 0; k < w.size(); ++k) {
        std::size_t at = k;
        for (; at > 0 && w[places[at - 1]] > w[k]; --at) places[at] = places[at - 1];
        places[at] = int(k);
    }
    return places;
}

class Wolfe {
public:
    Wolfe(Likelihood& likelihood, const ClusterRows& clusters, int node, std::span<const int> base,
          std::span<const int> free, std::span<const double> y)
        : likelihood_(likelihood), clusters_(clusters), node_(node), base_(base), free_(free), y_(y) {}

    Point solve(std::span<const double> start, const MinimumNorm& settings);

private:
    Point vertex(std::span<const double> w);
    Point affine_weights() const;
    void move_into_hull();

    Likelihood& likelihood_;
    const ClusterRows& clusters_;
    int node_;
    std::span<const int> base_, free_;
    std::span<const double> y_;
    std::vector<Point> corral_;  // vertices, of which the present point is a convex combination
    Point weights_;
    double least_ = 0;  // the least value of a set met so far
};

/// The vertex of least w · q: the greedy one for w ascending.
Point Wolfe::vertex(std::span<const double> w) {
    std::vector<int> order(base_.begin(), base_.end());
    const auto places = ascending(w);
    for (int place : places) order.push_back(free_[place]);
    const auto g = prefixes(likelihood_, clusters_, node_, order, false).g;
    Point found(free_.size());
    double total = 0;
    for (std::size_t k = base_.size(); k < order.size(); ++k) {
        const double step = g[k + 1] - g[k] - y_[order[k]];
        found[places[k - base_.size()]] = step;
        total += step;
        least_ = std::min(least_, total);
    }
    return found;
}

/// Weights, summing to 1, of the point of least norm in the affine hull of the corral: proportional to
/// (P Pᵀ + c 1 1ᵀ)⁻¹ 1 for every c > 0, by Cholesky's factors.
Point Wolfe::affine_weights() const {
    const std::size_t count = corral_.size();
    std::vector<Point> factor(count, Point(count));
    double scale = 0;
    for (const Point& q : corral_) scale = std::max(scale, dot(q, q));
    for (std::size_t a = 0; a < count; ++a)
        for (std::size_t b = 0; b <= a; ++b) {
            double value = dot(corral_[a], corral_[b]) + scale;
            if (a == b) value += 1e-13 * scale;
            for (std::size_t c = 0; c < b; ++c) value -= factor[a][c] * factor[b][c];
            factor[a][b] = a == b ? std::sqrt(std::max(value, 1e-15 * scale)) : value / factor[b][b];
        }
    Point weights(count, 1.0);
    for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t c = 0; c < a; ++c) weights[a] -= factor[a][c] * weights[c];
        weights[a] /= factor[a][a];
    }
    for (std::size_t a = count; a-- > 0;) {
        for (std::size_t c = a + 1; c < count; ++c) weights[a] -= factor[c][a] * weights[c];
        weights[a] /= factor[a][a];
    }
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) weight /= sum;
    return weights;
}

/// Minor cycles: drop vertices until the affine minimiser is a convex combination.
void Wolfe::move_into_hull() {
    while (true) {
        const Point target = affine_weights();
        const auto outside = [](double weight) { return !(weight > kZero); };
        if (target.size() == 1 || std::none_of(target.begin(), target.end(), outside)) {
            weights_ = target;
            return;
        }
        double step = 1;
        for (std::size_t a = 0; a < target.size(); ++a)
            if (target[a] <= kZero && weights_[a] > target[a])
                step = std::min(step, weights_[a] / (weights_[a] - target[a]));
        std::size_t kept = 0;
        for (std::size_t a = 0; a < target.size(); ++a) {
            const double value = (1.0 - step) * weights_[a] + step * target[a];
            if (!(value > kZero)) continue;
            std::swap(corral_[kept], corral_[a]);
            weights_[kept++] = value;
        }
        corral_.resize(kept);
        weights_.resize(kept);
    }
}

Point Wolfe::solve(std::span<const double> start, const MinimumNorm& settings) {
    corral_.push_back(vertex(start));
    weights_.push_back(1.0);
    Point w = corral_[0];
    for (int round = 0; round < settings.rounds; ++round) {
        notice_interrupt();
        Point next = vertex(w);
        // No set has a value below Σ min(w, 0).
        const double below =
            std::accumulate(w.begin(), w.end(), 0.0, [](double sum, double x) { return sum + std::min(x,
                0.0); });
        if (least_ - below <= settings.tolerance) break;
        if (corral_.size() > w.size() || dot(w, w) <= dot(w, next) + 1e-10 * std::max(1.0, dot(w, w))) break;
        corral_.push_back(std::move(next));
        weights_.push_back(0.0);
        move_into_hull();
        w.assign(w.size(), 0.0);
        for (std::size_t a = 0; a < corral_.size(); ++a)
            for (std::size_t k = 0; k < w.size(); ++k) w[k] += weights_[a] * corral_[a][k];
    }
    return w;
}

}  // namespace

std::vector<double> minimum_norm_point(Likelihood& likelihood, const ClusterRows& clusters, int node,
                                       std::span<const int> base, std::span<const int> free,
                                       std::span<const double> y, std::span<const double> start,
                                       const MinimumNorm& settings) {
    return Wolfe(likelihood, clusters, node, base, free, y).solve(start, settings);
}

}  // namespace fedbn
