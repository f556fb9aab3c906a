// J of many sets of one size, or of all sets: local scores are differences of it (see fedbn/scores).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "families/ranks.hpp"
#include "scores/gaussian.hpp"
#include "scores/mixed.hpp"
#include "scores/score.hpp"

namespace fedbn {

/// What J is made of. BIC and AIC: J without its penalty, Σ n_c ln n_c.
struct JointScore {
    explicit JointScore(DiscreteScore of);
    explicit JointScore(GaussianScore of) : kind(ScoreKind::gaussian), gaussian(std::move(of)) {}
    explicit JointScore(MixedScore of) : kind(ScoreKind::mixed), mixed(std::move(of)) {}

    int n() const { return mixed ? mixed->n() : gaussian ? gaussian->n() : discrete->n(); }

    ScoreKind kind;
    std::optional<DiscreteScore> discrete = std::nullopt;
    std::vector<double> n_log_n;  // BIC and AIC, by count
    std::optional<GaussianScore> gaussian = std::nullopt;
    std::optional<MixedScore> mixed = std::nullopt;
};

struct JointValues {
    std::vector<double> values;
    std::vector<std::int32_t> occupied;  // number of observed configurations; 0 for scores of numbers
};
/// Of the sets with the wanted ranks; those that follow one another share the counting of their largest members.
JointValues joint_values(const JointScore& score, const SetRanks& sets, std::span<const Rank> wanted, int size);

/// BDeu's J of every set of few variables, [2^n]; bit v of a set is variable v.
std::vector<double> all_joint_values(const JointScore& score);

struct CostedSets {
    std::vector<std::uint64_t> masks;
    std::vector<double> costs;
};
/// The parent sets of a node that no subset beats by more than the slack; J [2^n] of every set.
CostedSets undominated_sets(std::span<const double> values, int node, int n, double slack);

}  // namespace fedbn
