#include "fusion/order_heuristic.hpp"

#include "interrupt.hpp"

namespace fedbn {

OrderHeuristic::OrderHeuristic(std::vector<std::shared_ptr<SinkRemovals>> inputs, std::vector<std::int64_t> weights,
                               std::vector<double> draws, NodeSets after, const NodeSets& observed)
    : inputs_(std::move(inputs)),
      weights_(std::move(weights)),
      draws_(std::move(draws)),
      after_(std::move(after)),
      preceding_(after_.size()),
      costs_(inputs_[0]->costs().size(), Ratio{0, 0}),
      left_(AllBelow{int(costs_.size())}),
      empty_(int(costs_.size())),
      order_(costs_.size(), -1) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        for (int v : members(observed[int(i)])) {
            costs_[v].sum += weights_[i] * inputs_[i]->costs()[v];
            costs_[v].weight += weights_[i];
        }
    for (int v = 0; v < after_.size(); ++v)
        if (any(after_[v])) preceding_.insert(v);
    for (Ratio& cost : costs_)
        if (cost.weight == 0) cost.weight = 1;  // nobody observes it, and nothing depends on its place
}

/// The node of smallest mean cost among those left that nothing left must follow; ties by index or
/// by draw.
int OrderHeuristic::cheapest(int place) {
    ties_.clear();
    for (int v : members(left_)) {
        if (preceding_.has(v) && any(after_[v] & left_)) continue;
        if (!ties_.empty() && costs_[v] < costs_[ties_[0]]) ties_.clear();
        if (ties_.empty() || costs_[v] == costs_[ties_[0]]) ties_.push_back(v);
    }
    return ties_[draws_.empty() ? 0 : std::size_t(draws_[place] * ties_.size())];
}

int OrderHeuristic::extend(int places) {
    for (; places > 0 && empty_ > 0; --places) {
        notice_interrupt();
        const int v = order_[empty_ - 1] = cheapest(empty_ - 1);
        --empty_;
        left_.erase(v);
        const std::size_t earlier = order_.size() - 1 - empty_;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            for (const auto& [u, difference] : inputs_[i]->remove(earlier, v)) costs_[u].sum += weights_[i] * difference;
    }
    return empty_;
}

}  // namespace fedbn
