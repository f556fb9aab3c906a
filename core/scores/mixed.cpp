#include "scores/mixed.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "elementary.hpp"

namespace fedbn {

namespace {

/// Cholesky's factor by the largest pivot of what is left, of a matrix of ones on its diagonal: ln det and the rank;
/// `chosen` are the places of the pivots.
template <typename Entry>
double by_pivots(int size, const Entry& entry, std::vector<double>& rows, std::vector<double>& left,
                 std::vector<int>& chosen) {
    rows.resize(std::size_t(size) * size);
    left.assign(size, 1.0);
    chosen.clear();
    double log_det = 0;
    for (int k = 0; k < size; ++k) {
        const int pivot = static_cast<int>(std::ranges::max_element(left) - left.begin());
        if (left[pivot] <= kLeastShare) break;
        log_det += logarithm(left[pivot]);
        const double inverse = 1.0 / std::sqrt(left[pivot]);
        const double* const own = &rows[std::size_t(pivot) * size];
        left[pivot] = -1.0;  // done with
        for (int i = 0; i < size; ++i) {
            if (left[i] <= kLeastShare) continue;
            double* const row = &rows[std::size_t(i) * size];
            double rest = entry(i, pivot);
            for (int c = 0; c < k; ++c) rest -= row[c] * own[c];
            row[k] = rest * inverse;
            left[i] -= row[k] * row[k];
        }
        chosen.push_back(pivot);
    }
    return log_det;
}

}  // namespace

struct Blocks::Work {
    std::vector<int> columns, chosen;
    std::vector<double> rows, left;
};

Blocks::Blocks(std::span<const double> covariance, std::span<const int> widths) {
    const std::size_t all = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
    const auto entry = [&](int a, int b) { return covariance[a * all + b]; };
    std::vector<double> scale(all), rows, left;
    for (std::size_t c = 0; c < all; ++c) scale[c] = entry(c, c) > 0 ? 1.0 / std::sqrt(entry(c, c)) : 0.0;
    std::vector<int> kept, varying, chosen;
    int first = 0;
    starts_.push_back(0);
    for (int width : widths) {
        varying.clear();
        for (int c = first; c < first + width; ++c)
            if (scale[c] > 0) varying.push_back(c);
        const auto correlation = [&](int i, int j) {
            return entry(varying[i], varying[j]) * scale[varying[i]] * scale[varying[j]];
        };
        by_pivots(int(varying.size()), correlation, rows, left, chosen);
        std::ranges::sort(chosen);
        double logs = 0;
        for (int place : chosen) {
            kept.push_back(varying[place]);
            logs += logarithm(entry(varying[place], varying[place]));
        }
        log_variances_.push_back(logs);
        starts_.push_back(int(kept.size()));
        first += width;
    }
    correlations_.reserve(kept.size() * kept.size());
    for (int a : kept)
        for (int b : kept) correlations_.push_back(a == b ? 1.0 : entry(a, b) * scale[a] * scale[b]);
}

Blocks::Blocks(std::vector<double> correlations, std::span<const int> ranks, std::vector<double> log_variances)
    : correlations_(std::move(correlations)), log_variances_(std::move(log_variances)), starts_{0} {
    for (int rank : ranks) starts_.push_back(starts_.back() + rank);
}

/// ln det and rank of the members' columns, which come in ascending order: no order of members reaches the result.
std::pair<double, int> Blocks::factorise(std::span<const int> members, Work& work) const {
    work.columns.clear();
    for (int v : members)
        for (int c = starts_[v]; c < starts_[v + 1]; ++c) work.columns.push_back(c);
    std::ranges::sort(work.columns);
    const auto entry = [&](int i, int j) { return correlation(work.columns[i], work.columns[j]); };
    const double log_det = by_pivots(int(work.columns.size()), entry, work.rows, work.left, work.chosen);
    return {log_det, int(work.chosen.size())};
}

BlockFit Blocks::fit(std::span<const int> members) const {
    Work work;
    const auto [log_det, found] = factorise(members, work);
    double squares = 0;
    int full = 0;
    for (int v : members) squares += double(rank(v)) * rank(v), full += rank(v);
    BlockFit fit{log_det, (double(found) * found - squares) / 2, 0};
    if (found == full) return fit;
    std::vector<int> others;
    for (int v : members) {
        others.clear();
        for (int u : members)
            if (u != v) others.push_back(u);
        if (rank(v) > 0 && factorise(others, work).second == found) ++fit.determined;
    }
    return fit;
}

double value_of(const BlockFit& fit, const BlockRung& rung, int all_columns) {
    // A column's fit gains at most N/2 ln(1 / kLeastShare) < 12 N, and all columns together 12 N times their number.
    const double refusal = 24.0 * rung.rows * (all_columns + 1);
    return -0.5 * rung.rows * fit.log_det - rung.penalty * fit.pairs - refusal * fit.determined;
}

namespace {

constexpr std::size_t kSetsWorthThreads = 16;  // sets: from some ten microseconds on

double constant_of(const Blocks& blocks, const BlockRung& rung, int v) {
    const double each = 1.0 + logarithm(2.0 * std::numbers::pi);
    return -0.5 * rung.rows * (each * blocks.rank(v) + blocks.log_variances(v));
}

}  // namespace

MixedScore::MixedScore(std::shared_ptr<const Blocks> blocks, BlockRung rung, std::size_t memory)
    : blocks_(std::move(blocks)), rung_(rung), memory_(memory),
      fits_(std::make_shared<Fits>(blocks_->n(), memory)), signs_(make_signs(blocks_->n())), nodes_(blocks_->n()) {
    std::iota(nodes_.begin(), nodes_.end(), 0);
}

MixedScore MixedScore::at(BlockRung rung) const {
    MixedScore other = *this;
    other.rung_ = rung;
    return other;
}

MixedScore MixedScore::over(std::span<const int> nodes) const {
    MixedScore part = *this;
    part.nodes_.clear();
    for (int v : nodes) part.nodes_.push_back(nodes_[v]);
    return part;
}

std::optional<BlockFit> MixedScore::known(Key key) const {
    const double* found = fits_->store.find(key);
    return found ? std::optional(BlockFit{found[0], found[1], found[2]}) : std::nullopt;
}

BlockFit MixedScore::keep(Key key, const BlockFit& found) {
    ++counted_;
    const auto place = fits_->store.place(key);
    place[0] = found.log_det, place[1] = found.pairs, place[2] = found.determined;
    return found;
}

/// Of the members and up to two more, from the store or for it.
BlockFit MixedScore::fit(std::span<const int> members, int more, int most) {
    family_.clear();
    for (int v : members) family_.push_back(nodes_[v]);
    for (int v : {more, most})
        if (v >= 0) family_.push_back(nodes_[v]);
    Key key;
    for (int v : family_) key = key ^ signs_[v];
    const auto found = known(key);
    return found ? *found : keep(key, blocks_->fit(family_));
}

double MixedScore::joint(std::span<const int> members) {
    const std::lock_guard turn(fits_->turn);
    double constants = 0;
    for (int v : members) constants += constant_of(*blocks_, rung_, nodes_[v]);
    return constants + value(fit(members));
}

double MixedScore::joint_afresh(std::span<const int> members) const {
    std::vector<int> family;
    double constants = 0;
    for (int v : members) family.push_back(nodes_[v]), constants += constant_of(*blocks_, rung_, nodes_[v]);
    return constants + value(blocks_->fit(family));
}

double MixedScore::local(int y, std::span<const int> parents) {
    const std::lock_guard turn(fits_->turn);
    const double base = value(fit(parents));
    return constant_of(*blocks_, rung_, nodes_[y]) + (value(fit(parents, y)) - base);
}

void MixedScore::local_with(int y, std::span<const int> parents, std::span<const int> xs, std::span<double> scores) {
    const std::lock_guard turn(fits_->turn);
    if (fits_->workers) fit_ahead(y, parents, xs);
    const double constant = constant_of(*blocks_, rung_, nodes_[y]);
    for (std::size_t i = 0; i < xs.size(); ++i) {
        const double base = value(fit(parents, xs[i]));
        scores[i] = constant + (value(fit(parents, xs[i], y)) - base);
    }
}

/// Threads fit what `local_with` will ask for and nobody knows; the store gets it in the order of the xs.
void MixedScore::fit_ahead(int y, std::span<const int> parents, std::span<const int> xs) {
    family_.clear();
    Key key;
    for (int v : parents) family_.push_back(nodes_[v]), key = key ^ signs_[nodes_[v]];
    missing_.clear();
    for (int x : xs)
        for (int more : {-1, y}) {
            Key of = key ^ signs_[nodes_[x]];
            if (more >= 0) of = of ^ signs_[nodes_[more]];
            if (!known(of)) missing_.push_back({nodes_[x], more < 0 ? -1 : nodes_[more], of, {}});
        }
    if (missing_.size() < kSetsWorthThreads) return;
    fits_->workers->share(static_cast<int>(missing_.size()), [&](int, int i) {
        Missing& each = missing_[i];
        std::vector<int> members = family_;
        members.push_back(each.x);
        if (each.y >= 0) members.push_back(each.y);
        each.fit = blocks_->fit(members);
    });
    for (const Missing& each : missing_) keep(each.key, each.fit);
}

void MixedScore::use_threads(int threads) {
    const std::lock_guard turn(fits_->turn);
    fits_->workers = workers_of(threads);
}

bool MixedScore::refuses(int y, std::span<const int> parents) {
    const std::lock_guard turn(fits_->turn);
    const double base = fit(parents).determined;
    return fit(parents, y).determined > base;
}

}  // namespace fedbn
