#include "scores/gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "elementary.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kBlock = 128;  // further members that one thread takes at a time
constexpr double kProductsWorthThreads = 50'000;  // multiplications: from some ten microseconds on

}  // namespace

Factor::Factor(int n)
    : inverse_(n + 1), log_det_(n + 2), determined_(n + 2) {}

double Factor::factorise(const CrossProducts& gram, std::span<const int> members) {
    const auto differ = std::ranges::mismatch(members_, members).in1;
    if (differ - members_.begin() < std::ptrdiff_t(members.size()))
        members_.erase(differ, members_.end());
    while (members_.size() < members.size()) add_row(gram, members[members_.size()]);
    return log_det_[members.size()];
}

void Factor::add_row(const CrossProducts& gram, int member) {
    const std::size_t a = members_.size();
    const double own = gram(member, member);
    if (rows_.size() < start_of(a + 1)) rows_.resize(start_of(a + 1));
    double* const row = &rows_[start_of(a)];
    double left = own;
    for (std::size_t b = 0; b < a; ++b) {
        const double* const earlier = &rows_[start_of(b)];
        double rest = gram(member, members_[b]);
        for (std::size_t c = 0; c < b; ++c) rest -= row[c] * earlier[c];
        rest *= inverse_[b];
        row[b] = rest;
        left -= rest * rest;
    }
    left = std::max({left, kRelativeFloor * own, kAbsoluteFloor});
    inverse_[a] = 1.0 / std::sqrt(left);
    log_det_[a + 1] = log_det_[a] + logarithm(left);
    determined_[a + 1] = determined_[a] || left < kNearlyDetermined * own;
    members_.push_back(member);
}

GaussianScore::GaussianScore(CrossProducts gram, std::vector<double> constant, std::vector<double> exponent)
    : gram_(std::move(gram)),
      constant_(std::move(constant)),
      exponent_(std::move(exponent)),
      factor_(n()),
      columns_(1) {}

GaussianScore GaussianScore::over(std::span<const int> nodes) const {
    const auto sizes = std::ptrdiff_t(nodes.size()) + 1;
    return {gram_.over(nodes), {constant_.begin(), constant_.begin() + sizes},
            {exponent_.begin(), exponent_.begin() + sizes}};
}

double GaussianScore::joint(std::span<const int> members) {
    const std::lock_guard turn(threads_.turn);
    return joint_of(members.size(), factor_.factorise(gram_, members));
}

/// Not stored: a factor depends on the order of its members, in the last bits, so what a store gave
/// would depend on what was asked before.
double GaussianScore::local(int y, std::span<const int> parents) {
    const std::lock_guard turn(threads_.turn);
    const std::size_t k = parents.size();
    members_.assign(parents.begin(), parents.end());
    members_.push_back(y);
    double whole = factor_.factorise(gram_, members_), base = factor_.log_det(k);
    if (factor_.determined(k + 1)) {
        base = log_det_in_order(std::span(members_).first(k));
        whole = log_det_in_order(members_);
    }
    return joint_of(k + 1, whole) - joint_of(k, base);
}

double GaussianScore::log_det_in_order(std::span<int> members) {
    std::ranges::sort(members);
    return factor_.factorise(gram_, members);
}

void GaussianScore::local_with(int y, std::span<const int> parents, std::span<const int> xs,
                               std::span<double> scores) {
    const std::lock_guard turn(threads_.turn);
    members_.assign(parents.begin(), parents.end());
    members_.push_back(y);
    factor_.factorise(gram_, members_);
    counted_ += 2 * std::int64_t(xs.size());
    std::atomic<bool> all_known = true;
    const auto score = [&](int worker, int block) {
        const std::size_t begin = kBlock * block, size = std::min(kBlock, xs.size() - begin);
        if (!score_some(xs.subspan(begin, size), scores.subspan(begin, size), columns_[worker])) all_known = false;
    };
    const int blocks = static_cast<int>((xs.size() + kBlock - 1) / kBlock);
    const double each = members_.size() * (members_.size() / 2.0 + std::max(1, gram_.rows()));
    if (threads_.workers && blocks > 1 && each * xs.size() >= kProductsWorthThreads)
        threads_.workers->share(blocks, score);
    else
        for (int block = 0; block < blocks; ++block) score(0, block);
    if (all_known) return;
    for (std::size_t i = 0; i < xs.size(); ++i)
        if (std::isnan(scores[i])) scores[i] = pair_in_order(y, parents, xs[i]);
}

/// Of further members of the factor's; false where one that is NaN must be looked at in order.
bool GaussianScore::score_some(std::span<const int> xs, std::span<double> scores, std::vector<double>& columns) const {
    const std::size_t k = members_.size() - 1;
    const double whole = factor_.log_det(k + 1), base = factor_.log_det(k);
    const bool in_order = factor_.determined(k + 1);
    bool all_known = true;
    columns.resize((k + 1) * kTogether);
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const std::size_t lane = i % kTogether;
        if (lane == 0) solve_columns(xs.subspan(i), columns);
        const double own = gram_(xs[i], xs[i]), least = std::max(kRelativeFloor * own, kAbsoluteFloor);
        const auto square = [&](std::size_t a) { return columns[a * kTogether + lane] * columns[a * kTogether + lane]; };
        double rest = own;
        for (std::size_t a = 0; a < k; ++a) rest -= square(a);
        const double part = joint_of(k + 1, base + logarithm(std::max(rest, least)));
        rest = std::max(rest - square(k), least);
        scores[i] = joint_of(k + 2, whole + logarithm(rest)) - part;
        if (in_order || rest < kNearlyDetermined * own)
            scores[i] = std::numeric_limits<double>::quiet_NaN(), all_known = false;
    }
    return all_known;
}

void GaussianScore::use_threads(int threads) {
    const std::lock_guard turn(threads_.turn);
    threads_.workers = workers_of(threads);
    columns_.resize(threads);
}

/// J(P ∪ {y, x}) - J(P ∪ {x}) of members in ascending order.
double GaussianScore::pair_in_order(int y, std::span<const int> parents, int x) {
    ordered_.assign(parents.begin(), parents.end());
    ordered_.push_back(x);
    const double part = joint_of(ordered_.size(), log_det_in_order(ordered_));
    ordered_.push_back(y);
    return joint_of(ordered_.size(), log_det_in_order(ordered_)) - part;
}

/// columns := L⁻¹ gram[members, x] for the first of the xs, L the factor. The lanes go side by side,
/// and what one of them gives does not depend on the others.
void GaussianScore::solve_columns(std::span<const int> xs, std::span<double> columns) const {
    int ends[kTogether];
    for (int lane = 0; lane < kTogether; ++lane) ends[lane] = xs[std::min<std::size_t>(lane, xs.size() - 1)];
    for (std::size_t a = 0; a < members_.size(); ++a) {
        double* const column = &columns[a * kTogether];
        for (int lane = 0; lane < kTogether; ++lane) column[lane] = gram_(members_[a], ends[lane]);
        for (std::size_t b = 0; b < a; ++b) {
            const double entry = factor_.entry(a, b);
            const double* const earlier = &columns[b * kTogether];
            for (int lane = 0; lane < kTogether; ++lane) column[lane] -= entry * earlier[lane];
        }
        for (int lane = 0; lane < kTogether; ++lane) column[lane] *= factor_.inverse(a);
    }
}

}  // namespace fedbn
