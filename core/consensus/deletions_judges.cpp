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
    slot.roles.assign(judges_.size(), Slot::Role::outside);
    if (slot.kind == Slot::Kind::operation)
        appoint_for_operator(slot);
    else
        appoint_for_family(slot);
    slot.is_divided = std::ranges::find(slot.roles, Slot::Role::perhaps) != slot.roles.end();
    slot.unknown = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) slot.unknown += slot.cut[i] < 0 && is_heard(slot, i);
    slot.bound = least_of(slot);
}

bool Deletions::sees_both(int group, const Slot& slot) const {
    const SetView seen = observed_[group];
    return seen.has(edges_[slot.edge].x) && seen.has(edges_[slot.edge].y);
}

/// The groups that observe x, y and at least so much of S that they are `min_judges`; if there are not
/// so many, all that observe x and y.
void Deletions::appoint_for_operator(Slot& slot) const {
    std::vector<std::int64_t> judges(count(slot.f) + 1);  // by how much of S they observe
    for (int k = 0; k < observed_.size(); ++k)
        if (sees_both(k, slot)) judges[count(slot.f & observed_[k])] += judges_[k];
    int least = count(slot.f);
    for (std::int64_t found = judges[least]; least > 0 && found < min_judges_;) found += judges[--least];
    for (int k = 0; k < observed_.size(); ++k)
        if (sees_both(k, slot) && count(slot.f & observed_[k]) >= least) slot.roles[k] = Slot::Role::judge;
}

/// Groups that observe all of F and U judge every operator. If they are enough, only groups that observe
/// all of F judge any other; else who observes x and y may have to.
void Deletions::appoint_for_family(Slot& slot) const {
    std::int64_t certain = 0;
    for (int k = 0; k < observed_.size(); ++k)
        if (sees_both(k, slot) && is_subset(slot.high(), observed_[k])) {
            slot.roles[k] = Slot::Role::judge;
            certain += judges_[k];
        }
    for (int k = 0; k < observed_.size(); ++k)
        if (sees_both(k, slot) && slot.roles[k] == Slot::Role::outside &&
            (certain < min_judges_ || is_subset(slot.f, observed_[k])))
            slot.roles[k] = Slot::Role::perhaps;
}

/// The least Ψ that any choice among those who perhaps judge makes of what is known of the cuts.
Ratio Deletions::least_of(const Slot& slot) const {
    return pooling_ == Pooling::median ? least_median(slot) : least_mean(slot);
}

/// Whoever is below the mean of the others lowers it: the smallest cuts first.
Ratio Deletions::least_mean(const Slot& slot) const {
    Ratio mean{0, 0};
    std::vector<std::pair<int, std::int64_t>> others;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const auto role = slot.roles[group_[i]];
        if (role == Slot::Role::outside) continue;
        const int cut = at_least(slot.cut[i]);
        if (role == Slot::Role::judge)
            mean.sum += weights_[i] * cut, mean.weight += weights_[i];
        else
            others.emplace_back(cut, weights_[i]);
    }
    std::ranges::sort(others);
    for (const auto& [cut, weight] : others) {
        if (mean.weight > 0 && mean <= Ratio{cut, 1}) break;
        mean.sum += weight * cut, mean.weight += weight;
    }
    return mean.weight > 0 ? mean : Ratio{0, 1};
}

/// The smallest value that half of the judges and of those others that are within it do not exceed.
Ratio Deletions::least_median(const Slot& slot) const {
    std::int64_t judges = 0;
    std::vector<std::pair<int, std::int64_t>> known;  // cuts; twice the weights of judges, the weights of others
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const auto role = slot.roles[group_[i]];
        if (role == Slot::Role::outside) continue;
        const bool is_judge = role == Slot::Role::judge;
        if (is_judge) judges += weights_[i];
        known.emplace_back(at_least(slot.cut[i]), (is_judge ? 2 : 1) * weights_[i]);
    }
    std::ranges::sort(known);
    std::int64_t within = 0;
    for (const auto& [cut, weight] : known)
        if ((within += weight) >= judges) return {cut, 1};
    return {0, 1};
}

}  // namespace fedbn
