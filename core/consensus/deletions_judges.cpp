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
    observed_ = NodeSets(int(first.size()), n_);
    for (std::size_t k = 0; k < first.size(); ++k) observed_[int(k)] = observers.observed[first[k]];
}

/// Say anew which groups judge what a slot holds, and so its bound.
void Deletions::appoint(Slot& slot) const {
    if (is_whole_) return;
    count_lacking(slot);
    slot.from = level_of(slot, &Lacking::least), slot.to = level_of(slot, &Lacking::most);
    slot.is_divided = std::ranges::any_of(slot.lacking, [&](const Lacking& of) { return of.least <= slot.to && of.most > slot.from; });
    slot.unknown = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) slot.unknown += slot.cut[i] < 0 && is_heard(slot, i);
    slot.bound = least_of(slot);
}

/// For every group that observes x and y: of how many members of S it lacks, the least and the most in all
/// operators that a slot holds. Of U at most k_max - |H| elements are left out.
void Deletions::count_lacking(Slot& slot) const {
    slot.lacking.assign(judges_.size(), {});
    const int more = k_max_ - count(slot.h);
    for (int k = 0; k < observed_.size(); ++k) {
        const SetView seen = observed_[k];
        if (!seen.has(edges_[slot.edge].x) || !seen.has(edges_[slot.edge].y)) continue;
        const int of_f = count(slot.f - seen), of_u = count(slot.u - seen);
        slot.lacking[k] = {std::int16_t(of_f + std::max(0, of_u - more)), std::int16_t(of_f + of_u)};
    }
}

/// The smallest number such that the groups that lack at most so many members of S are `min_judges`, if
/// all lack as many as `bound` says; if there are never so many, that of the last group.
int Deletions::level_of(const Slot& slot, std::int16_t Lacking::*bound) const {
    std::int64_t found = 0;
    std::vector<std::pair<int, std::int64_t>> groups;
    for (std::size_t k = 0; k < judges_.size(); ++k)
        if (slot.lacking[k].least < kLacksAll) groups.emplace_back(slot.lacking[k].*bound, judges_[k]);
    std::ranges::sort(groups);
    for (const auto& [lacking, sites] : groups)
        if ((found += sites) >= min_judges_) return lacking;
    return groups.empty() ? 0 : count(slot.high());
}

/// The least Ψ that is possible by what is known of the cuts, over all numbers of members of S that the
/// last judge may lack.
Ratio Deletions::least_of(const Slot& slot) const {
    if (!slot.is_divided && pooling_ != Pooling::median) return mean_of_judges(slot);
    std::vector<Say> says;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (is_heard(slot, i)) says.push_back({at_least(slot.cut[i]), weights_[i], slot.lacking[group_[i]]});
    std::ranges::sort(says, {}, &Say::cut);
    Ratio least = least_at(says, slot.from);
    std::vector<int> levels;
    for (const Say& say : says)
        for (int level : {say.lacking.least, say.lacking.most})
            if (level > slot.from && level <= slot.to) levels.push_back(level);
    std::ranges::sort(levels);
    levels.erase(std::ranges::unique(levels).begin(), levels.end());
    for (int level : levels) least = std::min(least, least_at(says, level));
    return least;
}

/// Ψ of what is known of the cuts, where the same groups judge all operators of a slot.
Ratio Deletions::mean_of_judges(const Slot& slot) const {
    Ratio mean{0, 0};
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (is_heard(slot, i)) mean.sum += weights_[i] * at_least(slot.cut[i]), mean.weight += weights_[i];
    return mean.weight > 0 ? mean : Ratio{0, 1};
}

/// The least Ψ if those judge who lack at most `level` members of S; `says` ascend.
Ratio Deletions::least_at(const std::vector<Say>& says, int level) const {
    return pooling_ == Pooling::median ? least_median(says, level) : least_mean(says, level);
}

/// Whoever perhaps judges and is below the mean of the others lowers it: the smallest cuts first.
Ratio Deletions::least_mean(const std::vector<Say>& says, int level) const {
    Ratio mean{0, 0};
    for (const auto& [cut, weight, lacking] : says)
        if (lacking.most <= level) mean.sum += weight * cut, mean.weight += weight;
    for (const auto& [cut, weight, lacking] : says) {
        if (lacking.most <= level || lacking.least > level) continue;
        if (mean.weight > 0 && mean <= Ratio{cut, 1}) break;
        mean.sum += weight * cut, mean.weight += weight;
    }
    return mean.weight > 0 ? mean : Ratio{0, 1};
}

/// The smallest value that half of the judges and of those others that are within it do not exceed.
Ratio Deletions::least_median(const std::vector<Say>& says, int level) const {
    std::int64_t judges = 0, within = 0;
    for (const auto& [cut, weight, lacking] : says)
        if (lacking.most <= level) judges += weight;
    for (const auto& [cut, weight, lacking] : says) {
        if (lacking.least > level) continue;
        within += (lacking.most <= level ? 2 : 1) * weight;
        if (within >= judges) return {cut, 1};
    }
    return {0, 1};
}

}  // namespace fedbn
