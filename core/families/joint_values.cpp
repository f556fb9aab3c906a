#include "families/joint_values.hpp"

#include <bit>
#include <cmath>
#include <numeric>

#include "interrupt.hpp"
#include "elementary.hpp"
#include "scores/gaussian.hpp"

namespace fedbn {

WeightedRows::WeightedRows(std::vector<std::uint16_t> all_codes, std::vector<std::int32_t> all_weights,
                           std::span<const int> arities)
    : codes(std::move(all_codes)), weights(std::move(all_weights)), variables(arities.size()),
      total(std::accumulate(weights.begin(), weights.end(), std::int64_t{0})) {
    for (std::size_t v = 0; v < arities.size(); ++v) {
        Variable& variable = variables[v];
        const std::uint16_t* code = column(static_cast<int>(v));
        std::vector<int> held(arities[v]);
        for (int row = 0; row < rows(); ++row) ++held[code[row]];
        variable.arity = arities[v];
        variable.mode = static_cast<int>(std::max_element(held.begin(), held.end()) - held.begin());
        for (int row = 0; row < rows(); ++row)
            if (code[row] != variable.mode) {
                variable.other_rows.push_back(row);
                variable.other_codes.push_back(code[row]);
            }
    }
}

int WeightedRows::widest() const {
    int most = 1;
    for (const Variable& variable : variables) most = std::max(most, variable.arity);
    return most;
}

namespace {

using Counts = std::vector<std::int32_t>;

/// ln Γ(k count + α) - ln Γ(α), k the row weight and α = ess / Π r; those of small counts are remembered.
class BdeuTerms {
public:
    BdeuTerms(double ess, double row_weight) : ess_(ess), row_weight_(row_weight), slots_(kSlots) {}

    /// From here on, sets with this ln Π r.
    void choose(double log_size) {
        slot_ = &slots_[static_cast<std::int64_t>(log_size * 997.0) % kSlots];
        if (slot_->log_size == log_size) return;
        const double alpha = ess_ * exponential(-log_size);
        *slot_ = {log_size, alpha, log_gamma(alpha), std::vector<double>(kSmall, std::nan(""))};
    }
    double operator()(std::int32_t count) {
        if (count >= kSmall) return computed(count);
        double& value = slot_->small[count];
        if (std::isnan(value)) value = computed(count);
        return value;
    }

private:
    static constexpr int kSlots = 128, kSmall = 256;
    struct Slot {
        double log_size = -1.0, alpha = 0.0, base = 0.0;
        std::vector<double> small;
    };
    double computed(std::int32_t count) const {
        return log_gamma(row_weight_ * count + slot_->alpha) - slot_->base;
    }
    double ess_, row_weight_;
    std::vector<Slot> slots_;
    Slot* slot_ = nullptr;
};

/// Counts sets of one size one after the other, each from its largest member down.
class PrefixCounter {
public:
    PrefixCounter(const WeightedRows& data, int size) : data_(data), steps_(std::max(1, size)) {
        const std::size_t most = (std::size_t(data.rows()) + kCompact) * data.widest() + 1;
        for (Step& step : steps_) {
            step.labels.resize(data.rows());
            step.held.resize(most);
        }
        steps_[0].held[0] = static_cast<std::int32_t>(data.total);
        cells_.resize(most);
    }

    /// Rows of each configuration of the members, with zeros.
    std::span<const std::int32_t> operator()(std::span<const int> members) {
        if (members.empty()) return {steps_[0].held.data(), 1};
        prepare(members);
        const Step& last = steps_[members.size() - 1];
        count(members[0], last, cells_);
        return {cells_.data(), last.span * data_.variables[members[0]].arity};
    }

private:
    static constexpr std::size_t kCompact = 128;  // configurations that may be numbered with gaps
    struct Step {         // the largest members, by how many they are
        int added = -1;   // the member that the next step adds
        Counts labels;    // configuration of each row
        Counts held;      // rows of each configuration
        std::size_t span = 1;
    };

    // Count all members but the smallest, from the largest one that has changed.
    void prepare(std::span<const int> members) {
        const std::size_t size = members.size();
        std::size_t depth = 0;
        while (depth + 1 < size && steps_[depth].added == members[size - 1 - depth]) ++depth;
        for (std::size_t d = depth; d < steps_.size(); ++d) steps_[d].added = -1;
        for (; depth + 1 < size; ++depth) {
            const int v = members[size - 1 - depth];
            Step &step = steps_[depth], &next = steps_[depth + 1];
            step.added = v;
            count(v, step, next.held);
            const std::int32_t arity = data_.variables[v].arity;
            const std::uint16_t* column = data_.column(v);
            for (std::size_t row = 0; row < step.labels.size(); ++row)
                next.labels[row] = step.labels[row] * arity + column[row];
            next.span = step.span * arity;
            if (next.span > kCompact) compact(next);
        }
    }

    // Number the configurations that occur, in their order.
    void compact(Step& step) {
        Counts& number = cells_;
        std::int32_t found = 0;
        for (std::size_t c = 0; c < step.span; ++c)
            if (step.held[c] > 0) {
                number[c] = found;
                step.held[found++] = step.held[c];
            }
        for (std::int32_t& label : step.labels) label = number[label];
        step.span = found;
    }

    // cells[configuration, state of v]; the mode of v gets what the others leave.
    void count(int v, const Step& step, Counts& cells) const {
        const WeightedRows::Variable& variable = data_.variables[v];
        const int arity = variable.arity;
        std::fill_n(cells.begin(), step.span * arity, 0);
        for (std::size_t k = 0; k < variable.other_rows.size(); ++k) {
            const std::int32_t row = variable.other_rows[k];
            cells[step.labels[row] * arity + variable.other_codes[k]] += data_.weights[row];
        }
        for (std::size_t c = 0; c < step.span; ++c) {
            std::int32_t rest = step.held[c];
            for (int state = 0; state < arity; ++state) rest -= cells[c * arity + state];
            cells[c * arity + variable.mode] = rest;
        }
    }

    const WeightedRows& data_;
    std::vector<Step> steps_;
    Counts cells_;
};

}  // namespace

JointValues joint_values(const JointScore& score, const SetRanks& sets, std::span<const Rank> wanted, int size) {
    JointValues out{std::vector<double>(wanted.size()), std::vector<std::int32_t>(wanted.size())};
    std::vector<int> members(size);
    if (score.kind == JointKind::gaussian) {
        GaussianScore gaussian(CrossProducts(score.gram, score.n()), score.constant, score.exponent);
        for (std::size_t a = 0; a < wanted.size(); ++a) {
            if (a % 64 == 0) notice_interrupt();
            sets.unrank(wanted[a], score.n(), members);
            out.values[a] = gaussian.joint(members);
        }
        return out;
    }
    if (score.kind == JointKind::mixed) {
        for (std::size_t a = 0; a < wanted.size(); ++a) {
            if (a % 64 == 0) notice_interrupt();
            sets.unrank(wanted[a], score.n(), members);
            out.values[a] = score.mixed->joint_afresh(members);
        }
        return out;
    }
    const bool bdeu = score.kind == JointKind::bdeu;
    PrefixCounter counts(score.data, size);
    BdeuTerms terms(score.parameter, score.row_weight);
    for (std::size_t a = 0; a < wanted.size(); ++a) {
        if (a % 16 == 0) notice_interrupt();
        sets.unrank(wanted[a], score.n(), members);
        if (bdeu) {
            double log_size = 0.0;
            for (int v : members) log_size += logarithm(double(score.data.variables[v].arity));
            terms.choose(log_size);
        }
        for (std::int32_t count : counts(members))
            if (count > 0) {
                ++out.occupied[a];
                out.values[a] += bdeu ? terms(count) : score.n_log_n[count];
            }
    }
    return out;
}

namespace {

/// A set is its superset's partition of the rows made coarser, so sets are visited from the largest variable down,
/// each splitting the groups of rows of the set without its smallest. A row that is alone in its group stays alone:
/// only its weight is remembered.
class AllSets {
public:
    explicit AllSets(const JointScore& score)
        : data_(score.data), n_(score.n()), terms_(score.parameter, score.row_weight), levels_(n_ + 1),
          weight_(std::size_t(data_.rows() + 1) * data_.widest()), number_(weight_.size()), alone_(data_.rows()),
          values_(std::size_t{1} << n_) {
        values_[0] = log_gamma(score.row_weight * double(data_.total) + score.parameter) -
                     log_gamma(score.parameter);
        for (Level& level : levels_) {
            level.row.resize(data_.rows());
            level.group.resize(data_.rows());
        }
        std::iota(levels_[0].row.begin(), levels_[0].row.end(), 0);
        levels_[0].kept = data_.rows();
    }

    std::vector<double> run() {
        visit(0, n_, 0, 1.0);
        return std::move(values_);
    }

private:
    struct Level {
        Counts row, group;        // of the `kept` rows that are not alone
        std::size_t groups = 1, kept = 0;
        std::int64_t ones = 0;    // rows alone of weight 1
        std::size_t heavy = 0;    // other rows alone
    };

    // All sets that add variables below `top` to this one.
    void visit(int depth, int top, std::uint64_t set, double configurations) {
        const Level& level = levels_[depth];
        if (++visits_ % 64 == 0) notice_interrupt();
        for (int v = top - 1; v >= 0; --v) {
            const int arity = data_.variables[v].arity;
            terms_.choose(logarithm(configurations * arity));
            count(level, v);
            double total = double(level.ones) * terms_(1);
            for (std::size_t k = 0; k < level.heavy; ++k) total += terms_(alone_[k]);
            for (std::size_t c = 0; c < level.groups * arity; ++c)
                if (weight_[c] > 0) total += terms_(weight_[c]);
            values_[set | std::uint64_t{1} << v] = total;
            if (v == 0) continue;
            split(level, v, levels_[depth + 1]);
            visit(depth + 1, v, set | std::uint64_t{1} << v, configurations * arity);
        }
    }

    // Weight and number of the rows per (group, state of v).
    void count(const Level& level, int v) {
        const int arity = data_.variables[v].arity;
        const std::uint16_t* column = data_.column(v);
        std::fill_n(weight_.begin(), level.groups * arity, 0);
        std::fill_n(number_.begin(), level.groups * arity, 0);
        for (std::size_t k = 0; k < level.kept; ++k) {
            const std::int32_t r = level.row[k], c = level.group[k] * arity + column[r];
            weight_[c] += data_.weights[r];
            ++number_[c];
        }
    }

    // finer := the groups split by v. The number of rows in a group becomes its label.
    void split(const Level& level, int v, Level& finer) {
        const int arity = data_.variables[v].arity;
        const std::uint16_t* column = data_.column(v);
        finer.groups = finer.kept = 0;
        finer.ones = level.ones;
        finer.heavy = level.heavy;
        for (std::size_t c = 0; c < level.groups * arity; ++c)
            number_[c] = number_[c] > 1 ? static_cast<std::int32_t>(finer.groups++) : -1;
        for (std::size_t k = 0; k < level.kept; ++k) {
            const std::int32_t r = level.row[k], label = number_[level.group[k] * arity + column[r]];
            if (label >= 0) {
                finer.row[finer.kept] = r;
                finer.group[finer.kept++] = label;
            } else if (data_.weights[r] == 1) {
                ++finer.ones;
            } else {
                alone_[finer.heavy++] = data_.weights[r];
            }
        }
    }

    const WeightedRows& data_;
    int n_;
    BdeuTerms terms_;
    std::vector<Level> levels_;
    Counts weight_, number_, alone_;
    std::size_t visits_ = 0;
    std::vector<double> values_;
};

}  // namespace

std::vector<double> all_joint_values(const JointScore& score) { return AllSets(score).run(); }

CostedSets undominated_sets(std::span<const double> values, int node, int n, double slack) {
    const std::uint64_t low = (std::uint64_t{1} << node) - 1, number = std::uint64_t{1} << (n - 1);
    std::vector<double> least(number);  // the least cost of a set and its subsets
    CostedSets out;
    for (std::uint64_t a = 0; a < number; ++a) {
        if (a % 4096 == 0) notice_interrupt();
        const std::uint64_t mask = (a & low) | (a & ~low) << 1;
        const double cost = values[mask] - values[mask | std::uint64_t{1} << node];
        double best = std::numeric_limits<double>::infinity();
        for (std::uint64_t left = a; left; left &= left - 1) best = std::min(best, least[a ^ (left & -left)]);
        if (!(best + slack < cost)) {
            out.masks.push_back(mask);
            out.costs.push_back(cost);
        }
        least[a] = std::min(best, cost);
    }
    return out;
}

}  // namespace fedbn
