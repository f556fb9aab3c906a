// How many DAGs of a diagram have each excess: profiles of its states, and of the whole.
//
// A profile of a state lists the distinct costs of the ways to it or from it, and how many ways have each;
// it stops where no DAG is within the budget.
#pragma once

#include <span>
#include <vector>

#include "credible/diagram.hpp"

namespace fedbn {

constexpr double kTogether = 2e-11;  // costs this close count as one; rounding inside a class is below 4e-12
constexpr double kBlur = 1e-9;       // of the cost of a draw

/// So many ways of one cost.
struct Group {
    double cost;
    std::int64_t ways;
};

/// Of all states of a layer: the groups of s are start[s] ... start[s + 1] - 1, by ascending cost.
struct Profiles {
    std::vector<std::size_t> start{0, 1};
    std::vector<Group> groups{{0.0, 1}};

    std::span<const Group> of(int state) const {
        return {groups.data() + start[state], groups.data() + start[state + 1]};
    }
};

/// The number of DAGs per excess over the optimum. What lies in the middle layer is counted, where every
/// DAG is one way to a state and one way on: so neither the largest profiles, near the ends, nor all of
/// them at once are ever there. At most `piece` sums are sorted at once.
///
/// Costs within 2e-11 count as one. Throws DiagramLimit when memory or time do not suffice, or a count is
/// beyond 2^62.
std::vector<Group> whole_profile(const Diagram& diagram, const Limits& limits, std::size_t piece);

/// Profiles of the ways from the top to each state, per layer; throws as `whole_profile`.
std::vector<Profiles> ways_from_top(const Diagram& diagram, const Limits& limits);
/// Of the ways from each state to the end.
std::vector<Profiles> ways_to_end(const Diagram& diagram, const Limits& limits);

/// What the other components leave: the weight of all that costs at most `excess`, ascending.
struct Weights {
    std::span<const double> excess, weight;
};
/// [family]: Σ of exp(-excess) times the others' weight, within the budget of all, over the DAGs with it.
std::vector<double> family_weights(const Diagram& diagram, const std::vector<Profiles>& from_top,
                                   const std::vector<Profiles>& to_end, double budget, const Weights& others);

/// The families by node of one of the DAGs with this excess (to 1e-9), each as likely, from one uniform
/// number for each node; none if there is no such DAG.
std::vector<std::int32_t> draw(const Diagram& diagram, const std::vector<Profiles>& to_end, double excess,
                               std::span<const double> uniform);

}  // namespace fedbn
