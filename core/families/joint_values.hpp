// J of many sets of one size, or of all sets: local scores are differences of it (see fedbn/scores).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "families/ranks.hpp"
#include "scores/mixed.hpp"

namespace fedbn {

enum class JointKind { bdeu, information, gaussian, mixed };

/// Categorical data: merged rows with their weights. The rows of a variable outside its mode are listed.
struct WeightedRows {
    struct Variable {
        int arity = 1, mode = 0;
        std::vector<std::int32_t> other_rows;
        std::vector<std::uint16_t> other_codes;
    };
    WeightedRows() = default;
    WeightedRows(std::vector<std::uint16_t> codes, std::vector<std::int32_t> weights, std::span<const int> arities);

    int rows() const { return static_cast<int>(weights.size()); }
    const std::uint16_t* column(int v) const { return codes.data() + std::size_t(v) * weights.size(); }
    int widest() const;  // the largest arity

    std::vector<std::uint16_t> codes;  // column after column
    std::vector<std::int32_t> weights;
    std::vector<Variable> variables;
    std::int64_t total = 0;  // of the weights
};

/// What J is made of. BIC and AIC: J without its penalty, Σ n_c ln n_c.
struct JointScore {
    int n() const {
        if (kind == JointKind::mixed) return mixed->n();
        return kind == JointKind::gaussian ? int(constant.size()) - 1 : int(data.variables.size());
    }

    JointKind kind;
    WeightedRows data;
    double row_weight = 1.0;
    double parameter = 0.0;       // BDeu: ess; BIC and AIC: penalty per free parameter
    std::vector<double> n_log_n;  // BIC and AIC, by count
    std::vector<double> gram, constant, exponent;  // Gaussian
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
