#include "families/gaussian_walk.hpp"

#include <numeric>

#include "elementary.hpp"

namespace fedbn {

namespace {
constexpr int kKnown = 64;  // cheap sets that every new one is compared with
}

GaussianWalk::GaussianWalk(WalkRules rules, std::span<const double> covariance, std::span<const double> precision,
                           int size)
    : rules_(std::move(rules)), size_(size), level_(size - 1), schur_(std::size_t(size) * size * size),
      precision_(schur_.size()), levels_(size), label_(size), included_(size), met_(rules_.duals.size()),
      known_(kKnown, {NodeSet(size)}) {
    std::iota(label_.begin(), label_.end(), 0);
    for (Level& level : levels_) level.schur_at = level.precision_at = size - 1;
    std::copy(covariance.begin(), covariance.end(), schur(size - 1));
    std::copy(precision.begin(), precision.end(), this->precision(size - 1));
}

std::int64_t GaussianWalk::walk_on(double threshold, std::int64_t steps, std::size_t most,
                                   std::vector<PricedSet>& found) {
    while (level_ < size_ && steps > 0 && found.size() < most) {
        const int m = level_;
        Level& level = levels_[m];
        switch (level.phase) {
            case Phase::arrived:
                --steps;
                arrive(m, threshold, found);
                break;
            case Phase::one_done:
                level.phase = Phase::both_done;
                if (rules_.large_first) {
                    take_back(m);
                    exclude(m);
                } else {
                    include(m);
                }
                break;
            case Phase::both_done:
                if (included_.has(label_[m])) take_back(m);
                if (m) swap(m);
                level.phase = Phase::arrived;
                level_ = m + 1;
        }
    }
    return steps;
}

// Report the set of the included candidates if it is new and good; go on where that can pay.
void GaussianWalk::arrive(int m, double threshold, std::vector<PricedSet>& found) {
    Level& level = levels_[m];
    const WalkRules& r = rules_;
    const double cost = r.scale * logarithm(schur(m)[0]) + r.penalty * included_count_;
    if (level.is_new) {
        const double before = std::min(level.best, best_known());
        level.best = std::min(before, cost);
        if (!(before + r.slack + r.margin < cost)) {
            remember(cost);
            if (cost + paid_ <= threshold) found.push_back({included_, cost + paid_});
        }
    }
    const double least = r.penalty * (included_count_ + 1) - r.scale * logarithm(precision(m)[0]);
    const bool hopeless = level.best + r.slack + r.margin < least || least + paid_ > threshold + r.margin;
    const bool full = included_count_ >= r.max_parents;
    if (m > 0 && !hopeless && full) capped_ = true;
    level.moved = m;
    if (m == 0 || hopeless || full) {
        level.phase = Phase::both_done;
        return;
    }
    level.moved = branching(m);
    swap(m);
    level.phase = Phase::one_done;
    if (r.large_first)
        include(m);
    else
        exclude(m);
}

// The least cost of a known set inside the included candidates.
double GaussianWalk::best_known() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Known& known : known_)
        if (known.cost < least && is_subset(known.set, included_)) least = known.cost;
    return least;
}

// Put the included candidates in the place of the costliest known set if they cost less.
void GaussianWalk::remember(double cost) {
    Known* costliest = &known_[0];
    for (Known& known : known_)
        if (known.cost > costliest->cost) costliest = &known;
    if (cost < costliest->cost) *costliest = {included_, cost};
}

// The undecided candidate whose exclusion leaves the node the largest variance.
int GaussianWalk::branching(int m) {
    const double* p = precision(m);
    double most = -1.0;
    int chosen = m;
    for (int j = 1; j <= m; ++j) {
        const double share = p[j * size_] * p[j * size_] / p[j * size_ + j];
        if (share > most) most = share, chosen = j;
    }
    return chosen;
}

// Exchange the last undecided candidate with the one that is decided; twice is as before.
void GaussianWalk::swap(int m) {
    const int a = levels_[m].moved;
    if (a == m) return;
    std::swap(label_[a], label_[m]);
    swap_rows(schur(m), a, m);
    swap_rows(precision(m), a, m);
}

void GaussianWalk::swap_rows(double* matrix, int a, int m) const {
    auto at = [&](int row, int column) -> double& { return matrix[std::size_t(row) * size_ + column]; };
    std::swap(at(a, a), at(m, m));
    for (int k = 0; k < a; ++k) std::swap(at(a, k), at(m, k));
    for (int k = a + 1; k < m; ++k) std::swap(at(k, a), at(m, k));
}

// The matrix of level m - 1: what is left of the old one without row m.
void GaussianWalk::eliminate(const double* old, std::vector<double>& matrices, int m) const {
    double* reduced = &matrices[std::size_t(m - 1) * size_ * size_];
    const double* row = old + std::size_t(m) * size_;
    for (int j = 0; j < m; ++j) {
        const double share = row[j] / row[m];
        for (int k = 0; k <= j; ++k) reduced[j * size_ + k] = old[j * size_ + k] - share * row[k];
    }
}

void GaussianWalk::exclude(int m) {
    eliminate(precision(m), precision_, m);
    Level& next = levels_[m - 1];
    next.precision_at = m - 1;
    next.schur_at = levels_[m].schur_at;
    next.is_new = false;
    next.best = levels_[m].best;
    level_ = m - 1;
}

void GaussianWalk::include(int m) {
    eliminate(schur(m), schur_, m);
    Level& next = levels_[m - 1];
    next.schur_at = m - 1;
    next.precision_at = levels_[m].precision_at;
    next.is_new = true;
    next.best = levels_[m].best;
    included_.insert(label_[m]);
    ++included_count_;
    for (std::size_t c = 0; c < rules_.duals.size(); ++c)
        if (rules_.clusters[c][label_[m]] && ++met_[c] == 1) paid_ += rules_.duals[c];
    level_ = m - 1;
}

void GaussianWalk::take_back(int m) {
    included_.erase(label_[m]);
    --included_count_;
    for (std::size_t c = 0; c < rules_.duals.size(); ++c)
        if (rules_.clusters[c][label_[m]] && --met_[c] == 0) paid_ -= rules_.duals[c];
}

}  // namespace fedbn
