#include "families/ordering.hpp"

#include <cmath>

#include "infinity.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr double kGain = 1e-9;  // less does not help

}  // namespace

Ordering::Ordering(std::vector<int> first, std::vector<double> cost, NodeSets parents)
    : first_(std::move(first)), cost_(std::move(cost)), parents_(std::move(parents)) {}

int Ordering::first_fit(int v, const NodeSet& placed) const {
    for (int f = first_[v]; f < first_[v + 1]; ++f)
        if (is_subset(parents_[f], placed)) return f;
    return -1;
}

double Ordering::cost_within(int v, const NodeSet& placed) const {
    const int f = first_fit(v, placed);
    return f < 0 ? kInfinity : cost_[f];
}

Ordering::Fit Ordering::fit(const std::vector<int>& order) const {
    NodeSet placed(n());
    Fit found{0.0, std::vector<int>(n(), -1)};
    for (int v : order) {
        const int f = first_fit(v, placed);
        if (f < 0) return {kInfinity, std::move(found.chosen)};
        found.chosen[v] = f;
        found.cost += cost_[f];
        placed.insert(v);
    }
    return found;
}

/// A round of all nodes that does not lower the cost is the last one: what then still seems to help is
/// rounding.
double Ordering::descend(std::vector<int>& order) const {
    double cost = fit(order).cost;
    while (true) {
        bool improved = false;
        for (int v = 0; v < n(); ++v) {
            notice_interrupt();
            const auto at = std::find(order.begin(), order.end(), v);
            const auto best = order.begin() + best_place(int(at - order.begin()), order);
            if (best < at) std::rotate(best, at, at + 1);
            if (best > at) std::rotate(at, at + 1, best + 1);
            improved |= best != at;
        }
        const double before = cost;
        cost = fit(order).cost;
        if (!improved || !(cost < before)) return cost;
    }
}

/// Where the node at `place` lowers the cost most; `place` if nowhere. It wanders by swaps of neighbours:
/// each swap changes the predecessors of two nodes only.
int Ordering::best_place(int place, const std::vector<int>& order) const {
    const int v = order[place];
    double best_gain = kGain;
    int best = place;
    for (int step : {-1, 1}) {
        NodeSet placed(n());
        for (int at = 0; at < place; ++at) placed.insert(order[at]);
        double own = cost_within(v, placed), gain = 0;
        for (int at = place + step; at >= 0 && at < n(); at += step) {
            const int other = order[at];
            if (step < 0) placed.erase(other);
            const double without = cost_within(other, placed);
            placed.insert(v);
            const double behind = cost_within(other, placed);
            placed.erase(v);
            if (step > 0) placed.insert(other);
            const double was = step < 0 ? without : behind, now = step < 0 ? behind : without, old = own;
            own = cost_within(v, placed);
            if (std::isinf(own) || std::isinf(now) || std::isinf(was) || std::isinf(old)) break;
            gain += was + old - now - own;
            if (gain > best_gain) {
                best_gain = gain;
                best = at;
            }
        }
    }
    return best;
}

}  // namespace fedbn
