#include "scores/terms.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "elementary.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kSlots = 256;
constexpr int kProbes = 8;
constexpr std::size_t kBytes = 8 << 20;
constexpr int kLookedUp = 128;  // counts below this are small: their terms are sums of logarithms
constexpr auto kUnknown = std::numeric_limits<std::int64_t>::min();

/// Π r - 1; beyond e^690 it grows with the logarithm, without inf.
double size_beyond_one(double log_size) {
    if (log_size <= 690.0) return exponential(log_size) - 1.0;
    return exponential(690.0) * (1.0 + log_size - 690.0);
}

std::int64_t whole(double value) { return static_cast<std::int64_t>(std::rint(value)); }

}  // namespace

Terms::Terms(ScoreKind kind, int rows, std::span<const int> arities, std::vector<Rung> rungs)
    : kind_(kind), rungs_(std::move(rungs)), slots_(kSlots), sums_(rungs_.size()) {
    double log_arities = 0;
    for (int arity : arities) log_arities += logarithm(arity);
    for (auto& rung : rungs_) {
        const double k = rung.row_weight;
        double largest = k * logarithm(k * rows + 2.0);
        if (kind == ScoreKind::bdeu)
            largest = k * logarithm(k * rows + rung.parameter + 2.0) +
                      std::abs(logarithm(rung.parameter)) + log_arities;
        const double exponent = std::floor(62.0 - logarithm(rows * largest + 1.0) * std::numbers::log2e);
        rung.units = std::ldexp(1.0, int(std::clamp(exponent, -1000.0, 44.0)));
    }
    places_ = std::min<std::size_t>(rows + 1, std::max<std::size_t>(kLookedUp, kBytes / (8 * kSlots * rungs_.size())));
    const auto weighted = std::ranges::find_if(rungs_, [](auto& r) { return r.row_weight != 1.0; });
    probe_ = kind == ScoreKind::bdeu && weighted != rungs_.end() ? weighted - rungs_.begin() : 0;
}

void Terms::joint(std::span<const std::int32_t> counts, double log_size, std::span<double> values) {
    auto& slot = slot_of(kind_ == ScoreKind::information ? 0.0 : log_size);
    if (!counts.empty()) make_room(slot, std::ranges::max(counts));
    std::int64_t one;  // not in memory that borders on another thread's
    const auto sums = rungs() == 1 ? std::span(&one, 1) : std::span(sums_);
    if (rungs() == 1)
        add<1>(slot, counts, sums);
    else
        add<0>(slot, counts, sums);
    for (std::size_t r = 0; r < rungs(); ++r) {
        values[r] = sums[r] / rungs_[r].units;
        if (kind_ == ScoreKind::information) values[r] -= size_beyond_one(log_size) * rungs_[r].parameter;
    }
}

template <std::size_t Rungs>
void Terms::add(Slot& slot, std::span<const std::int32_t> counts, std::span<std::int64_t> sums) {
    const std::size_t rungs = Rungs ? Rungs : this->rungs();
    const std::size_t places = places_, probe = probe_;
    const auto* const known = slot.known.data();
    std::int64_t total = 0;
    std::ranges::fill(sums, 0);
    for (const int count : counts) {
        const auto place = std::min<std::size_t>(count, places);
        if (known[place * rungs + probe] == kUnknown || place == places) [[unlikely]]
            fill(slot, count, place);
        if constexpr (Rungs == 1)
            total += known[place];
        else
            for (std::size_t r = 0; r < rungs; ++r) sums[r] += known[place * rungs + r];
    }
    if (Rungs == 1) sums[0] = total;
}

Terms::Slot& Terms::slot_of(double log_size) {
    const std::size_t home = std::int64_t(log_size * 1e6) & (kSlots - 1);
    std::size_t at = home;
    for (int probe = 0; probe < kProbes; ++probe, at = (at + 1) & (kSlots - 1)) {
        if (slots_[at].log_size == log_size) return slots_[at];
        if (slots_[at].log_size < 0) break;
    }
    auto& slot = slots_[slots_[at].log_size < 0 ? at : home];
    slot.log_size = log_size;
    slot.known.clear();
    make_room(slot, kLookedUp - 1);
    std::fill_n(slot.known.begin(), rungs(), 0);  // of cells without rows
    slot.base.assign(rungs(), 0.0);
    if (kind_ == ScoreKind::bdeu)
        for (std::size_t r = 0; r < rungs(); ++r) begin_bdeu(slot, r);
    return slot;
}

/// For the terms of counts up to `largest`.
void Terms::make_room(Slot& slot, int largest) {
    const std::size_t needed = std::min<std::size_t>(largest, places_) + 1;
    if (slot.known.size() < needed * rungs())
        slot.known.resize(std::min(std::bit_ceil(needed), places_ + 1) * rungs(), kUnknown);
}

/// What the terms ln Γ(k n + α) - ln Γ(α) need; for k = 1 those of small counts, too. They are
/// ln α + Σ_{0<i<n} ln(i + α), also where α underflows; where k n is not whole,
/// ln α - ln Γ(1 + α) + ln Γ(k n + α).
void Terms::begin_bdeu(Slot& slot, std::size_t r) {
    const auto& [k, ess, units] = rungs_[r];
    const double log_alpha = logarithm(ess) - slot.log_size, alpha = exponential(log_alpha);
    slot.alpha = alpha;
    slot.offset = log_alpha - log_gamma(1.0 + alpha);
    double total = slot.offset + log_gamma(k * (kLookedUp - 1) + alpha);
    if (k == 1.0) {
        total = log_alpha;
        for (int count = 1; count < kLookedUp; ++count) {
            if (count > 1) total += logarithm(count - 1 + alpha);
            if (std::size_t(count) < places_) slot.known[count * rungs() + r] = whole(total * units);
        }
    }
    slot.base[r] = log_gamma(k * (kLookedUp - 1) + alpha) - total;
}

/// The term of a count >= 1, unless it is known from the start.
void Terms::fill(Slot& slot, int count, std::size_t place) {
    for (std::size_t r = 0; r < rungs(); ++r) {
        const double k = rungs_[r].row_weight;
        double value;
        if (kind_ == ScoreKind::information)
            value = k * (count * logarithm(count));
        else if (count >= kLookedUp)
            value = log_gamma(k * count + slot.alpha) - slot.base[r];
        else if (k != 1.0)
            value = slot.offset + log_gamma(k * count + slot.alpha);
        else
            continue;
        slot.known[place * rungs() + r] = whole(value * rungs_[r].units);
    }
}

}  // namespace fedbn
