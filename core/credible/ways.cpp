#include "credible/ways.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "elementary.hpp"
#include "infinity.hpp"
#include "interrupt.hpp"

namespace fedbn {

namespace {

constexpr std::int64_t kMaxWays = std::int64_t{1} << 62;

DiagramLimit uncountable() {
    return DiagramLimit("more than 2^62 credible graphs of one score; lower the Bayes factor");
}

DiagramLimit too_large(const Limits& limits) {
    return DiagramLimit("the counts need more than " + std::to_string(limits.memory >> 20) + " MiB");
}

bool cheaper(const Group& a, const Group& b) { return a.cost < b.cost; }

/// Ascending runs of groups, one after the other, to be sorted as a whole.
class Runs {
public:
    std::vector<Group>& groups() { return groups_; }
    void clear() {
        groups_.clear();
        ends_.clear();
    }
    void end_run() {
        if (groups_.size() > (ends_.empty() ? 0 : ends_.back())) ends_.push_back(groups_.size());
    }
    /// Merge neighbouring runs, again and again.
    void sort() {
        while (ends_.size() > 1) {
            merged_.resize(groups_.size());
            std::size_t begin = 0, runs = 0;
            for (std::size_t k = 0; k < ends_.size(); k += 2) {
                const std::size_t middle = ends_[k], end = k + 1 < ends_.size() ? ends_[k + 1] : middle;
                std::merge(groups_.begin() + begin, groups_.begin() + middle, groups_.begin() + middle,
                           groups_.begin() + end, merged_.begin() + begin, cheaper);
                ends_[runs++] = begin = end;
            }
            ends_.resize(runs);
            std::swap(groups_, merged_);
        }
    }

private:
    std::vector<Group> groups_, merged_;
    std::vector<std::size_t> ends_;
};

/// One step on: profiles of the states that are the sources of `arcs`, from those at their targets. What
/// costs more than the state's room is left out. All within 2e-11 of the least of a group are one.
Profiles extend(const std::vector<DiagramArc>& arcs, const std::vector<double>& cost,
    const std::vector<double>& room,
                const Profiles& far, const Limits& limits) {
    Profiles found{{0}, {}};
    auto& groups = found.groups;
    Runs runs;
    auto arc = arcs.begin();
    for (std::size_t s = 0; s < room.size(); ++s) {
        runs.clear();
        for (; arc != arcs.end() && std::size_t(arc->source) == s; ++arc) {
            const double shift = cost[arc->family];
            for (const Group& group : far.of(arc->target)) {
                if (shift + group.cost > room[s]) break;
                runs.groups().push_back({shift + group.cost, group.ways});
            }
            runs.end_run();
        }
        limits.require_time();
        if (groups.size() + runs.groups().size() > limits.memory / 32) throw too_large(limits);
        runs.sort();
        for (const Group& group : runs.groups()) {
            if (groups.size() > found.start.back() && group.cost - groups.back().cost <= kTogether) {
                if (groups.back().ways > kMaxWays - group.ways) throw uncountable();
                groups.back().ways += group.ways;
            } else {
                groups.push_back(group);
            }
        }
        found.start.push_back(groups.size());
    }
    return found;
}

std::vector<double> room_beside(const Diagram& diagram, const std::vector<double>& spent) {
    std::vector<double> room;
    for (double value : spent) room.push_back(diagram.limit - value);
    return room;
}

Profiles one_layer_up(const Diagram& diagram, int depth, const Profiles& below, const Limits& limits) {
    const Layer& layer = diagram.layers[depth];
    return extend(layer.arcs, diagram.cost, room_beside(diagram, layer.reach), below, limits);
}

Profiles one_layer_down(const Diagram& diagram, int depth, const Profiles& above, const Limits& limits) {
    auto arcs = diagram.layers[depth].arcs;
    for (DiagramArc& arc : arcs) std::swap(arc.source, arc.target);
    std::stable_sort(arcs.begin(), arcs.end(), [](const DiagramArc& a,
        const DiagramArc& b) { return a.source < b.source; });
    return extend(arcs, diagram.cost, room_beside(diagram, diagram.layers[depth + 1].rest), above, limits);
}

/// Sums up + down of the states of a layer in (low, high], sorted by `runs`; false if there are more
/// than `most`.
bool sums_between(const Profiles& above, const Profiles& below, double low, double high, std::size_t most,
                  const Limits& limits, Runs& runs) {
    auto& sums = runs.groups();
    runs.clear();
    for (int s = 0; std::size_t(s) + 1 < above.start.size(); ++s) {
        limits.require_time();
        const auto on = below.of(s);
        for (const Group& up : above.of(s)) {
            auto down = std::upper_bound(on.begin(), on.end(), low - up.cost,
                                         [](double cost, const Group& group) { return cost < group.cost; });
            for (; down != on.end(); ++down) {
                const double cost = up.cost + down->cost;
                if (cost > high) break;
                if (cost <= low) continue;
                if (sums.size() == most) return false;
                if (double(up.ways) * double(down->ways) > double(kMaxWays)) throw uncountable();
                sums.push_back({cost, up.ways * down->ways});
            }
            runs.end_run();
        }
    }
    return true;
}

/// Append sorted groups to `out`, those within 2e-11 of their predecessor made one.
void append_distinct(const std::vector<Group>& sorted, std::vector<Group>& out) {
    double before = -kInfinity, ways = 0;
    for (const Group& group : sorted) {
        if (group.cost - before > kTogether) {
            out.push_back(group);
            ways = double(group.ways);
        } else {
            ways += double(group.ways);
            if (ways > 0x1p62) throw uncountable();
            out.back().ways += group.ways;
        }
        before = group.cost;
    }
}

/// Distinct costs of the ways through the states of one layer, in pieces from the least to the limit.
std::vector<Group> join(const Diagram& diagram, const Profiles& above, const Profiles& below,
                        const Limits& limits, std::size_t piece) {
    Runs runs;
    std::vector<Group> found, distinct;
    double low = -kInfinity, width = diagram.limit - diagram.shift(), at = diagram.limit - width;
    while (low < diagram.limit) {
        limits.require_time();
        const double high = std::min(diagram.limit, at + width);
        if (!sums_between(above, below, low, high, piece, limits, runs)) {
            width /= 2;
            if (width < kTogether || found.size() > limits.memory / 64) throw too_large(limits);
            continue;
        }
        runs.sort();
        append_distinct(runs.groups(), found);
        low = at = high;
        width *= runs.groups().size() < piece / 4 ? 2 : 1;
    }
    append_distinct(found, distinct);
    return distinct;
}

}  // namespace

std::vector<Group> whole_profile(const Diagram& diagram, const Limits& limits, std::size_t piece) {
    Profiles above, below;
    for (int first = 0, last = diagram.n(); first < last;) {
        if (above.groups.size() <= below.groups.size())
            above = one_layer_down(diagram, first++, above, limits);
        else
            below = one_layer_up(diagram, --last, below, limits);
    }
    auto found = join(diagram, above, below, limits, piece);
    for (Group& group : found) group.cost = std::max(group.cost - diagram.shift(), 0.0);
    return found;
}

std::vector<Profiles> ways_from_top(const Diagram& diagram, const Limits& limits) {
    std::vector<Profiles> found(1);
    for (int depth = 0; depth < diagram.n(); ++depth)
        found.push_back(one_layer_down(diagram, depth, found.back(), limits));
    return found;
}

std::vector<Profiles> ways_to_end(const Diagram& diagram, const Limits& limits) {
    std::vector<Profiles> found(1);
    for (int depth = diagram.n(); depth-- > 0;)
        found.push_back(one_layer_up(diagram, depth, found.back(), limits));
    std::reverse(found.begin(), found.end());
    return found;
}

std::vector<double> family_weights(const Diagram& diagram, const std::vector<Profiles>& from_top,
                                   const std::vector<Profiles>& to_end, double budget,
                                       const Weights& others) {
    const auto left_by_others = [&](double room) {
        const auto beyond = std::upper_bound(others.excess.begin(), others.excess.end(), room);
        return beyond == others.excess.begin() ? nullptr : &others.weight[beyond - others.excess.begin() - 1];
    };
    std::vector<double> weights(diagram.cost.size());
    for (int depth = 0; depth < diagram.n(); ++depth)
        for (const DiagramArc& arc : diagram.layers[depth].arcs) {
            notice_interrupt();
            double total = 0;
            for (const Group& up : from_top[depth].of(arc.source)) {
                const double base = up.cost - diagram.shift() + diagram.cost[arc.family];
                for (const Group& down : to_end[depth + 1].of(arc.target)) {
                    const double excess = base + down.cost;
                    const double* left = excess > budget ? nullptr : left_by_others(budget - excess);
                    if (!left) break;
                    total += double(up.ways) * double(down.ways) * exponential(-excess) * *left;
                }
            }
            weights[arc.family] += total;
        }
    return weights;
}

std::vector<std::int32_t> draw(const Diagram& diagram, const std::vector<Profiles>& to_end, double excess,
                               std::span<const double> uniform) {
    double left = excess + diagram.shift();
    std::int32_t state = 0;
    std::vector<std::int32_t> chosen(diagram.n());
    std::vector<double> ways;  // summed up over the arcs
    for (int depth = 0; depth < diagram.n(); ++depth) {
        const auto& arcs = diagram.layers[depth].arcs;
        const auto [begin, end] = std::equal_range(arcs.begin(), arcs.end(), DiagramArc{state, 0, 0},
                                                   [](const DiagramArc& a, const DiagramArc& b) { return a.source < b.source; });
        ways.clear();
        for (auto arc = begin; arc != end; ++arc) {
            const double rest = left - diagram.cost[arc->family];
            const auto on = to_end[depth + 1].of(arc->target);
            auto group = std::lower_bound(on.begin(), on.end(), Group{rest - kBlur, 0}, cheaper);
            std::int64_t number = 0;
            for (; group != on.end() && group->cost < rest + kBlur; ++group) number += group->ways;
            ways.push_back((ways.empty() ? 0.0 : ways.back()) + double(number));
        }
        if (ways.empty() || !(ways.back() > 0)) return {};
        const auto at = std::upper_bound(ways.begin(), ways.end(),
            uniform[depth] * ways.back()) - ways.begin();
        if (at == end - begin) return {};
        const DiagramArc& arc = begin[at];
        chosen[diagram.node[arc.family]] = arc.family;
        left -= diagram.cost[arc.family];
        state = arc.target;
    }
    return chosen;
}

}  // namespace fedbn
