// Who judges a separation, where inputs observe different nodes, and what a family of operators is worth.
#include <algorithm>
#include <ranges>

#include "consensus/deletions.hpp"

namespace fedbn {

/// Inputs that observe the same nodes are one group.
void Deletions::find_observers(const Observers& observers) {
    const int r = int(inputs_.size());
    min_judges_ = observers.min_judges;
    const auto is_whole = [&](int i) { return equal(observers.observed[i], AllBelow{n_}); };
    is_whole_ = std::ranges::all_of(std::views::iota(0, r), is_whole);
    if (is_whole_) return;
    std::vector<int> first;
    for (int i = 0; i < r; ++i) {
        const auto same = [&](int k) { return equal(observers.observed[k], observers.observed[i]); };
        const int group = int(std::ranges::find_if(first, same) - first.begin());
        if (group == int(first.size())) {
            first.push_back(i);
            judges_.push_back(0);
        }
        group_.push_back(group);
        judges_[group] += observers.members[i];
    }
    is_one_enough_ = std::ranges::all_of(judges_, [&](std::int64_t of_group) { return of_group >= min_judges_; });
    observed_ = NodeSets(int(first.size()), n_);
    for (std::size_t k = 0; k < first.size(); ++k) observed_[int(k)] = observers.observed[first[k]];
}

/// Say anew which groups judge what a slot holds, and so its bound.
void Deletions::appoint(Slot& slot) {
    if (is_whole_) return;
    count_lacking(slot);
    if (!is_one_enough_) slot.from = level_of(slot, &Lacking::least), slot.to = level_of(slot, &Lacking::most);
    slot.is_divided = is_anyone_divided(slot);
    slot.unknown = 0;
    slot.first = 0;
    slot.bound = {0, 0};
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (!is_heard(slot, i)) continue;
        slot.unknown += slot.cut[i] < 0;
        slot.bound.sum += weights_[i] * at_least(slot.cut[i]), slot.bound.weight += weights_[i];
    }
    if (slot.bound.weight == 0) slot.bound = {0, 1};
    if (slot.is_divided || pooling_ == Pooling::median) slot.bound = least_of(slot);
}

/// For every group that observes x and y: of how many members of S it lacks, the least and the most in all
/// operators that a slot holds. Of U at most k_max - |H| elements are left out. And how many the last judge
/// lacks, where one group is enough.
void Deletions::count_lacking(Slot& slot) const {
    slot.lacking.assign(judges_.size(), {});
    const int more = k_max_ - count(slot.h);
    const auto [x, y] = std::pair(edges_[slot.edge].x, edges_[slot.edge].y);
    const bool is_one = slot.kind == Slot::Kind::operation;
    Lacking last;
    for (int k = 0; k < observed_.size(); ++k) {
        const SetView seen = observed_[k];
        if (!seen.has(x) || !seen.has(y)) continue;
        const int of_f = count(slot.f - seen), of_u = is_one ? 0 : count(slot.u - seen);
        slot.lacking[k] = {std::int16_t(of_f + std::max(0, of_u - more)), std::int16_t(of_f + of_u)};
        last = {std::min(last.least, slot.lacking[k].least), std::min(last.most, slot.lacking[k].most)};
    }
    if (last.least == kLacksAll) last = {0, 0};
    slot.from = last.least, slot.to = last.most;
}

bool Deletions::is_anyone_divided(const Slot& slot) const {
    return std::ranges::any_of(slot.lacking, [&](const Lacking& of) { return of.least <= slot.to && of.most > slot.from; });
}

/// The smallest number such that the groups that lack at most so many members of S are `min_judges`, if
/// all lack as many as `bound` says; if there are never so many, that of the last group.
int Deletions::level_of(const Slot& slot, std::int16_t Lacking::*bound) {
    std::int64_t found = 0;
    levels_.clear();
    for (std::size_t k = 0; k < judges_.size(); ++k) {
        if (slot.lacking[k].least < kLacksAll) levels_.emplace_back(slot.lacking[k].*bound, judges_[k]);
    }
    std::ranges::sort(levels_);
    for (const auto& [lacking, sites] : levels_)
        if ((found += sites) >= min_judges_) return lacking;
    return levels_.empty() ? 0 : count(slot.high());
}

/// The least Ψ that is possible by what is known of the cuts, over all numbers of members of S that the
/// last judge may lack.
Ratio Deletions::least_of(const Slot& slot) {
    pooling_ == Pooling::median ? gather_inputs(slot) : gather_groups(slot);
    Ratio least = least_at(slot.from);
    levels_.clear();
    for (const Say& say : says_)
        for (int level : {say.lacking.least, say.lacking.most})
            if (level > slot.from && level <= slot.to) levels_.emplace_back(level, 0);
    std::ranges::sort(levels_);
    levels_.erase(std::ranges::unique(levels_).begin(), levels_.end());
    for (const auto& [level, none] : levels_) least = std::min(least, least_at(level));
    return least;
}

/// What every input says that is heard, ascending.
void Deletions::gather_inputs(const Slot& slot) {
    says_.clear();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (is_heard(slot, i)) says_.push_back({{weights_[i] * at_least(slot.cut[i]), weights_[i]}, slot.lacking[group_[i]]});
    std::ranges::sort(says_, {}, &Say::mean);
}

/// What every group says that is heard, ascending: its inputs judge together, or none of them does.
void Deletions::gather_groups(const Slot& slot) {
    says_.clear();
    for (const Lacking& lacking : slot.lacking) says_.push_back({{0, 0}, lacking});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        Ratio& mean = says_[group_[i]].mean;
        mean.sum += weights_[i] * at_least(slot.cut[i]), mean.weight += weights_[i];
    }
    std::erase_if(says_, [&](const Say& say) { return say.lacking.least > slot.to; });
    std::ranges::sort(says_, {}, &Say::mean);
}

/// The least Ψ if those judge who lack at most `level` members of S.
Ratio Deletions::least_at(int level) const {
    return pooling_ == Pooling::median ? least_median(level) : least_mean(level);
}

/// Whoever perhaps judges and is below the mean of the others lowers it: the smallest first.
Ratio Deletions::least_mean(int level) const {
    Ratio mean{0, 0};
    for (const auto& [own, lacking] : says_)
        if (lacking.most <= level) mean.sum += own.sum, mean.weight += own.weight;
    for (const auto& [own, lacking] : says_) {
        if (lacking.most <= level || lacking.least > level) continue;
        if (mean.weight > 0 && mean <= own) break;
        mean.sum += own.sum, mean.weight += own.weight;
    }
    return mean.weight > 0 ? mean : Ratio{0, 1};
}

/// The smallest value that half of the judges and of those others that are within it do not exceed.
Ratio Deletions::least_median(int level) const {
    std::int64_t judges = 0, within = 0;
    for (const auto& [own, lacking] : says_)
        if (lacking.most <= level) judges += own.weight;
    for (const auto& [own, lacking] : says_) {
        if (lacking.least > level) continue;
        within += (lacking.most <= level ? 2 : 1) * own.weight;
        if (within >= judges) return {own.sum / own.weight, 1};
    }
    return {0, 1};
}

}  // namespace fedbn
