#include "cg_dca/local_search.hpp"

#include <algorithm>
#include <limits>

#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr double kFall = 1e-9;  // by less a value does not fall

NodeSet exchanged(NodeSet set, int enter, int leave) {
    if (enter >= 0) set.insert(enter);
    if (leave >= 0) set.erase(leave);
    return set;
}

}  // namespace

double ParentSets::value(const NodeSet& parents) {
    list(parents, members_);
    double value = -score_.local(node_, members_);
    for (std::size_t c = 0; c < clusters_.duals.size(); ++c)
        if (count(clusters_.members[int(c)] & parents) >= clusters_.sizes[c]) value += clusters_.duals[c];
    return value;
}

ParentSets::Move ParentSets::best_move(const NodeSet& now, double value_now) {
    Move best{-1, -1, value_now - kFall};
    for (int enter = -1; enter < score_.n(); ++enter) {
        if (enter == node_ || (enter >= 0 && now.has(enter))) continue;
        notice_interrupt();
        for (int leave = -1; leave < score_.n(); ++leave) {
            if ((enter < 0 && leave < 0) || (leave >= 0 && !now.has(leave))) continue;
            const double found = value(exchanged(now, enter, leave));
            if (found < best.value) best = {enter, leave, found};
        }
    }
    return best;
}

ParentSets::Descent ParentSets::descend(const NodeSet& start, int most) {
    Descent found{{start}, {value(start)}};
    while (found.sets.size() < std::size_t(most)) {
        const Move move = best_move(found.sets.back(), found.values.back());
        if (!move) break;
        found.sets.push_back(exchanged(found.sets.back(), move.enter, move.leave));
        found.values.push_back(move.value);
    }
    return found;
}

std::vector<int> ParentSets::greedy_order(std::vector<int> order, std::span<const int> ends, int places) {
    NodeSet taken(score_.n());
    for (int k = 0; k < std::min(places, int(order.size())); ++k) {
        notice_interrupt();
        double best = std::numeric_limits<double>::infinity();
        int at = k;
        for (int b = k; b < ends[k]; ++b) {
            const double found = value(exchanged(taken, order[b], -1));
            if (found < best - kFall) {
                best = found;
                at = b;
            }
        }
        taken.insert(order[at]);
        std::rotate(order.begin() + k, order.begin() + at, order.begin() + at + 1);
    }
    return order;
}

}  // namespace fedbn
