#include "credible/listing.hpp"

#include <algorithm>
#include <limits>

#include "interrupt.hpp"

namespace fedbn {

PathListing::PathListing(const Diagram& diagram, double budget, Barred barred)
    : diagram_(diagram),
      limit_(budget + diagram.shift()),
      barred_(std::move(barred)),
      taken_(diagram.n(), -1) {
    for (const Layer& layer : diagram.layers) first_arcs_.push_back(layer.first_arcs());
    enter(0, 0.0);
}

void PathListing::enter(std::int32_t state, double spent) {
    path_.push_back({first_arcs_[path_.size()][state], state, spent});
}

bool PathListing::is_barred(int family) const {
    return !barred_.empty() && std::ranges::any_of(barred_[family], [&](int other) {
        return taken_[diagram_.node[other]] == other;
    });
}

std::pair<Choices, std::vector<double>> PathListing::next(std::size_t most) {
    Choices found;
    std::vector<double> excess;
    for (std::uint32_t steps = 1; !path_.empty(); ++steps) {
        if (steps % 4096 == 0) notice_interrupt();
        const std::size_t depth = path_.size() - 1;
        Step& now = path_.back();
        if (depth == std::size_t(diagram_.n())) {
            if (found.number == most) break;
            ++found.number;
            found.families.insert(found.families.end(), taken_.begin(), taken_.end());
            excess.push_back(std::max(now.spent - diagram_.shift(), 0.0));
            path_.pop_back();
            continue;
        }
        if (now.arc == first_arcs_[depth][now.state + 1]) {
            path_.pop_back();
            continue;
        }
        const DiagramArc& arc = diagram_.layers[depth].arcs[now.arc++];
        const double spent = now.spent + diagram_.cost[arc.family];
        if (spent + diagram_.layers[depth + 1].rest[arc.target] > limit_ || is_barred(arc.family)) continue;
        taken_[diagram_.node[arc.family]] = arc.family;
        enter(arc.target, spent);
    }
    return {std::move(found), std::move(excess)};
}

DepthFirst::DepthFirst(const Problem& problem)
    : problem_(problem), completion_(problem), path_(problem.n() + 1), taken_(problem.n()) {
    for (Step& step : path_) step.row = problem.root();
}

Choices DepthFirst::next(std::size_t most, std::int64_t max_steps, const Stop& stop) {
    Choices found;
    while (depth_ >= 0 && steps_ < max_steps && !stop.set.load(std::memory_order_relaxed)) {
        ++steps_;
        Step& now = path_[depth_];
        if (depth_ == problem_.n()) {
            if (found.number == most) break;
            ++found.number;
            found.families.insert(found.families.end(), taken_.begin(), taken_.end());
            --depth_;
        } else if (now.node == problem_.n()) {
            --depth_;
        } else if (const State s = problem_.state(now.row.data());
                   now.family == problem_.first[now.node + 1] || s.placed.has(now.node)) {
            now.node = problem_.keep_misfits(now.node, s) ? now.node + 1 : problem_.n();
            if (now.node < problem_.n()) now.family = problem_.first[now.node];
        } else {
            try_family(now);
        }
    }
    return found;
}

/// Place the node at hand by the family at hand, if that leads on.
void DepthFirst::try_family(Step& now) {
    const int v = now.node, f = now.family++;
    Step& next = path_[depth_ + 1];
    const State s = problem_.state(now.row.data()), below = problem_.state(next.row.data());
    const auto place = [&] {
        next.row = now.row;
        problem_.place(v, below);
    };
    if (f == problem_.first[v]) {
        place();
        now.ahead = completion_.bound(below);
        const double room = problem_.limit - now.spent - now.ahead;
        if (!completion_.can_end(below, std::max(room, 0.0))) now.ahead =
            std::numeric_limits<double>::infinity();
    }
    if (!(now.spent + problem_.cost[f] + now.ahead <= problem_.limit)) return;
    if (!s.families.has(f) || !problem_.fits(f, s)) return;
    place();
    taken_[v] = f;
    next.spent = now.spent + problem_.cost[f];
    next.node = 0;
    next.family = 0;
    ++depth_;
}

}  // namespace fedbn
