#include "families/joint_values.hpp"

#include <cmath>
#include <numeric>

#include "interrupt.hpp"
#include "elementary.hpp"

namespace fedbn {

JointScore::JointScore(DiscreteScore of) : kind(of.kind()), discrete(std::move(of)) {
    if (kind != ScoreKind::information) return;
    for (int count = 0; count <= discrete->table().all_rows; ++count)
        n_log_n.push_back(count ? count * (discrete->rung().row_weight * logarithm(count)) : 0.0);
}

namespace {

using Counts = std::vector<std::int32_t>;

/// The largest number of states.
int widest(const DiscreteScore& score) {
    int most = 1;
    for (int v = 0; v < score.n(); ++v) most = std::max(most, score.arity(v));
    return most;
}

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
    PrefixCounter(const DiscreteScore& data, int size) : data_(data), steps_(std::max(1, size)) {
        const std::size_t most = (std::size_t(data.table().rows()) + kCompact) * widest(data) + 1;
        for (Step& step : steps_) {
            step.labels.resize(data.table().rows());
            step.held.resize(most);
        }
        steps_[0].held[0] = data.table().all_rows;
        cells_.resize(most);
    }

    /// Rows of each configuration of the members, with zeros.
    std::span<const std::int32_t> operator()(std::span<const int> members) {
        if (members.empty()) return {steps_[0].held.data(), 1};
        prepare(members);
        const Step& last = steps_[members.size() - 1];
        count(members[0], last, cells_);
        return {cells_.data(), last.span * data_.arity(members[0])};
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
            const std::int32_t arity = data_.arity(v);
            const auto& codes = data_.column(v).codes;
            for (std::size_t row = 0; row < step.labels.size(); ++row)
                next.labels[row] = step.labels[row] * arity + codes[row];
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
        const Column& variable = data_.column(v);
        const auto& weights = data_.table().weights;
        const int arity = variable.arity;
        std::fill_n(cells.begin(), step.span * arity, 0);
        for (std::size_t k = 0; k < variable.other_rows.size(); ++k) {
            const std::int32_t row = variable.other_rows[k];
            cells[step.labels[row] * arity + variable.other_codes[k]] += weights[row];
        }
        for (std::size_t c = 0; c < step.span; ++c) {
            std::int32_t rest = step.held[c];
            for (int state = 0; state < arity; ++state) rest -= cells[c * arity + state];
            cells[c * arity + variable.mode] = rest;
        }
    }

    const DiscreteScore& data_;
    std::vector<Step> steps_;
    Counts cells_;
};

}  // namespace

JointValues joint_values(const JointScore& score, const SetRanks& sets, std::span<const Rank> wanted, int size) {
    JointValues out{std::vector<double>(wanted.size()), std::vector<std::int32_t>(wanted.size())};
    std::vector<int> members(size);
    if (!score.discrete) {
        std::optional<GaussianScore> gaussian = score.gaussian;
        for (std::size_t a = 0; a < wanted.size(); ++a) {
            if (a % 64 == 0) notice_interrupt();
            sets.unrank(wanted[a], score.n(), members);
            out.values[a] = gaussian ? gaussian->joint(members) : score.mixed->joint_afresh(members);
        }
        return out;
    }
    const bool bdeu = score.kind == ScoreKind::bdeu;
    PrefixCounter counts(*score.discrete, size);
    BdeuTerms terms(score.discrete->rung().parameter, score.discrete->rung().row_weight);
    for (std::size_t a = 0; a < wanted.size(); ++a) {
        if (a % 16 == 0) notice_interrupt();
        sets.unrank(wanted[a], score.n(), members);
        if (bdeu) {
            double log_size = 0.0;
            for (int v : members) log_size += logarithm(double(score.discrete->arity(v)));
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
        : data_(*score.discrete), rows_(data_.table().rows()), n_(score.n()),
          terms_(data_.rung().parameter, data_.rung().row_weight), levels_(n_ + 1),
          weight_(std::size_t(rows_ + 1) * widest(data_)), number_(weight_.size()), alone_(rows_),
          values_(std::size_t{1} << n_) {
        const auto& [row_weight, ess, units] = data_.rung();
        values_[0] = log_gamma(row_weight * double(data_.table().all_rows) + ess) - log_gamma(ess);
        for (Level& level : levels_) {
            level.row.resize(rows_);
            level.group.resize(rows_);
        }
        std::iota(levels_[0].row.begin(), levels_[0].row.end(), 0);
        levels_[0].kept = rows_;
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
            const int arity = data_.arity(v);
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
        const int arity = data_.arity(v);
        const auto& codes = data_.column(v).codes;
        std::fill_n(weight_.begin(), level.groups * arity, 0);
        std::fill_n(number_.begin(), level.groups * arity, 0);
        for (std::size_t k = 0; k < level.kept; ++k) {
            const std::int32_t r = level.row[k], c = level.group[k] * arity + codes[r];
            weight_[c] += data_.table().weights[r];
            ++number_[c];
        }
    }

    // finer := the groups split by v. The number of rows in a group becomes its label.
    void split(const Level& level, int v, Level& finer) {
        const int arity = data_.arity(v);
        const auto& codes = data_.column(v).codes;
        finer.groups = finer.kept = 0;
        finer.ones = level.ones;
        finer.heavy = level.heavy;
        for (std::size_t c = 0; c < level.groups * arity; ++c)
            number_[c] = number_[c] > 1 ? static_cast<std::int32_t>(finer.groups++) : -1;
        for (std::size_t k = 0; k < level.kept; ++k) {
            const std::int32_t r = level.row[k], label = number_[level.group[k] * arity + codes[r]];
            if (label >= 0) {
                finer.row[finer.kept] = r;
                finer.group[finer.kept++] = label;
            } else if (data_.table().weights[r] == 1) {
                ++finer.ones;
            } else {
                alone_[finer.heavy++] = data_.table().weights[r];
            }
        }
    }

    const DiscreteScore& data_;
    int rows_, n_;
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
