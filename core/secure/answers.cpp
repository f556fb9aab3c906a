#include "secure/answers.hpp"

#include <algorithm>

#include "fusion/sink_removals.hpp"

namespace fedbn {

std::vector<std::int64_t> cost_sums(std::span<const Dag> dags, std::span<const std::int64_t> weights,
                                    std::span<const int> taken, std::span<const int> chain) {
    const std::size_t n = dags[0].n();
    std::vector<std::int64_t> sums((chain.size() + 1) * n);
    for (std::size_t i = 0; i < dags.size(); ++i) {
        Dag rest = dags[i];
        for (int v : taken) remove_as_sink(rest, v);
        for (std::size_t level = 0; level <= chain.size(); ++level) {
            if (level > 0) remove_as_sink(rest, chain[level - 1]);
            for (std::size_t v = 0; v < n; ++v) sums[level * n + v] += weights[i] * sink_cost(rest, static_cast<int>(v));
        }
    }
    return sums;
}

OwnInputs::OwnInputs(std::vector<Dag> dags) : cut_(dags[0].n()) {
    for (auto& dag : dags) inputs_.emplace_back(std::move(dag));
}

void OwnInputs::prune(int x, int y, const NodeSet& given) {
    cut_.ask(x, y, given, NodeSet(inputs_[0].n()));
    for (auto& input : inputs_)
        if (cut_.find(input) > 0) input.remove(cut_.arcs(input));
}

std::int64_t OwnInputs::cut_sum(std::span<const std::int64_t> weights, int x, int y, const NodeSet& given, std::int64_t largest) {
    std::int64_t sum = 0;
    cut_.ask(x, y, given, NodeSet(inputs_[0].n()));
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        sum += weights[i] * std::min<std::int64_t>(cut_.find(inputs_[i]), largest);
    return sum;
}

}  // namespace fedbn
