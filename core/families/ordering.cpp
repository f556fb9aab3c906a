#include "families/ordering.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "infinity.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr double kGain = 1e-9;  // less does not help

}  // namespace

Ordering::Ordering(std::vector<int> first, std::vector<double> cost, NodeSets parents)
    : first_(std::move(first)), cost_(std::move(cost)), parents_(std::move(parents)), first_with_(n() + 1) {
    for (int f = 0; f < parents_.size(); ++f)
        for (int p : members(parents_[f])) ++first_with_[p + 1];
    std::partial_sum(first_with_.begin(), first_with_.end(), first_with_.begin());
    with_.resize(first_with_.back());
    std::vector<int> next(first_with_);
    for (int f = 0; f < parents_.size(); ++f)
        for (int p : members(parents_[f])) with_[next[p]++] = f;
}

/// The first family of v from this one on that fits.
int Ordering::next_fit(int family, int v, const NodeSet& placed) const {
    while (family != none(v) && !is_subset(parents_[family], placed)) ++family;
    return family;
}

/// What fits when `parent` has joined the placed nodes, where `family` did before.
int Ordering::better_with(int parent, int family, int v, const NodeSet& placed) const {
    if (family == first_[v]) return family;
    const auto end = with_.begin() + first_with_[parent + 1];
    auto f = std::lower_bound(with_.begin() + first_with_[parent], end, first_[v]);
    for (; f != end && *f < family; ++f)
        if (is_subset(parents_[*f], placed)) return *f;
    return family;
}

/// What fits when `parent` has left the placed nodes, where `family` did before.
int Ordering::without(int parent, int family, int v, const NodeSet& placed) const {
    const bool has = family != none(v) && parents_[family].has(parent);
    return has ? next_fit(family + 1, v, placed) : family;
}

double Ordering::cost_of(int family, int v) const { return family == none(v) ? kInfinity : cost_[family]; }

Ordering::Fit Ordering::fit(const std::vector<int>& order) const {
    NodeSet placed(n());
    Fit found{0.0, std::vector<int>(n(), -1)};
    for (int v : order) {
        const int f = next_fit(first_[v], v, placed);
        if (f == none(v)) return {kInfinity, std::move(found.chosen)};
        found.chosen[v] = f;
        found.cost += cost_[f];
        placed.insert(v);
    }
    return found;
}

/// The best families of the nodes at places [from, to).
void Ordering::fit_between(int from, int to, const std::vector<int>& order, std::vector<int>& chosen) const {
    NodeSet placed(n());
    for (int at = 0; at < to; ++at) {
        const int v = order[at];
        if (at >= from) chosen[v] = next_fit(first_[v], v, placed);
        placed.insert(v);
    }
}

double Ordering::total(const std::vector<int>& order, const std::vector<int>& chosen) const {
    double cost = 0;
    for (int v : order) cost += cost_of(chosen[v], v);
    return cost;
}

/// A round of all nodes that does not lower the cost is the last one: what then still seems to help is
/// rounding.
double Ordering::descend(std::vector<int>& order) const {
    std::vector<int> chosen(n());
    fit_between(0, n(), order, chosen);
    double cost = total(order, chosen);
    while (true) {
        bool improved = false;
        for (int v = 0; v < n(); ++v) {
            notice_interrupt();
            const auto at = std::find(order.begin(), order.end(), v);
            const auto best = order.begin() + best_place(int(at - order.begin()), order, chosen);
            if (best == at) continue;
            if (best < at) std::rotate(best, at, at + 1);
            if (best > at) std::rotate(at, at + 1, best + 1);
            const auto [from, to] = std::minmax({at - order.begin(), best - order.begin()});
            fit_between(int(from), int(to) + 1, order, chosen);
            improved = true;
        }
        const double before = cost;
        cost = total(order, chosen);
        if (!improved || !(cost < before)) return cost;
    }
}

/// Where the node at `place` lowers the cost most; `place` if nowhere. It wanders by swaps of neighbours:
/// each swap changes the predecessors of two nodes only. `chosen` are the families of the order.
int Ordering::best_place(int place, const std::vector<int>& order, const std::vector<int>& chosen) const {
    const int v = order[place];
    NodeSet before(n());
    for (int at = 0; at < place; ++at) before.insert(order[at]);
    double best_gain = kGain;
    int best = place;
    for (int step : {-1, 1}) {
        NodeSet placed(before);
        int family = chosen[v];
        double gain = 0;
        for (int at = place + step; at >= 0 && at < n(); at += step) {
            const int other = order[at], old = family;
            int moved;  // the other's family on the other side of v
            if (step < 0) {
                placed.erase(other);
                placed.insert(v);
                moved = better_with(v, chosen[other], other, placed);
                placed.erase(v);
                family = without(other, family, v, placed);
            } else {
                moved = without(v, chosen[other], other, placed);
                placed.insert(other);
                family = better_with(other, family, v, placed);
            }
            const double was = cost_of(chosen[other], other), now = cost_of(moved, other);
            const double own = cost_of(family, v), own_before = cost_of(old, v);
            if (std::isinf(own) || std::isinf(now) || std::isinf(was) || std::isinf(own_before)) break;
            gain += was + own_before - now - own;
            if (gain > best_gain) {
                best_gain = gain;
                best = at;
            }
        }
    }
    return best;
}

}  // namespace fedbn
