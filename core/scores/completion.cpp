#include "scores/completion.hpp"

#include <algorithm>
#include <unordered_map>

#include "arguments.hpp"
#include "interrupt.hpp"
#include "random.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kRowsBetweenLooks = 64;
constexpr std::int64_t kDense = 1 << 16;
constexpr double kSmall = 0x1p-300;  // weights below it are scaled, so that a product of many factors is not 0

/// P(x | p) of one column, for the configurations of its parents that a row has, and for all others together.
struct Family {
    std::vector<std::int64_t> strides;                     // of each parent in the configuration's number
    std::vector<std::int32_t> dense;                       // place of each configuration, if there are few; else
    std::unordered_map<std::int64_t, std::int32_t> sparse;  // place of each that a row has
    std::vector<double> probability;                       // [place * arity + x]; no row has place 0

    std::int32_t place(std::int64_t configuration) const {
        if (!dense.empty()) return dense[configuration];
        const auto found = sparse.find(configuration);
        return found == sparse.end() ? 0 : found->second;
    }
    std::int32_t& place(std::int64_t configuration) {
        return dense.empty() ? sparse[configuration] : dense[configuration];
    }
};

/// A child of a column, and what one more of the column's code adds to the number of its parents' configuration.
struct Child {
    int node;
    std::int64_t stride;
};

/// The families in which a missing cell can be; those of the other columns stay empty.
class Parameters {
public:
    Parameters(const Incomplete& given, double ess)
        : given_(given), families_(given.arities.size()), children_(given.arities.size()) {
        const int n = int(given.arities.size());
        std::vector<bool> lacking(n);
        for (int v = 0; v < n; ++v) {
            const auto* gone = &given.gone[v * given.rows];
            lacking[v] = std::find(gone, gone + given.rows, 1) != gone + given.rows;
        }
        for (int v = 0; v < n; ++v) {
            const auto& parents = given.parents[v];
            if (!lacking[v] && std::ranges::none_of(parents, [&](int p) { return lacking[p]; })) continue;
            used_.push_back(v);
            fit(v, ess);
            for (std::size_t k = 0; k < parents.size(); ++k)
                children_[parents[k]].push_back({v, families_[v].strides[k]});
        }
    }

    std::span<const int> used() const { return used_; }
    std::span<const Child> children(int v) const { return children_[v]; }

    /// The number of the configuration of the parents of v in a row.
    std::int64_t configuration(int v, std::span<const std::uint16_t> row) const {
        std::int64_t found = 0;
        for (std::size_t k = 0; k < given_.parents[v].size(); ++k)
            found += families_[v].strides[k] * row[given_.parents[v][k]];
        return found;
    }

    /// P(all x | p) of a configuration of the parents of v.
    const double* given(int v, std::int64_t configuration) const {
        const Family& family = families_[v];
        return &family.probability[std::int64_t(family.place(configuration)) * given_.arities[v]];
    }

private:
    void fit(int v, double ess) {
        Family& family = families_[v];
        const std::int64_t arity = given_.arities[v];
        std::int64_t configurations = 1;
        std::vector<std::int64_t> configuration(given_.rows);
        for (int parent : given_.parents[v]) {
            family.strides.push_back(configurations);
            require(configurations <= largest_configurations / given_.arities[parent],
                    "the parents of a column must have at most ", largest_configurations, " configurations");
            const std::uint16_t* codes = codes_of(parent);
            for (std::size_t r = 0; r < given_.rows; ++r) configuration[r] += configurations * codes[r];
            configurations *= given_.arities[parent];
        }
        if (configurations <= kDense) family.dense.resize(configurations);
        std::vector<std::int64_t> counts(arity);  // [place * arity + x]
        std::int32_t places = 1;
        for (std::size_t r = 0; r < given_.rows; ++r) {
            std::int32_t& place = family.place(configuration[r]);
            if (place == 0) {
                place = places++;
                counts.resize(places * arity);
            }
            ++counts[place * arity + codes_of(v)[r]];
        }
        family.probability.resize(counts.size());
        const double cell = ess / (double(configurations) * double(arity)), margin = ess / double(configurations);
        for (std::int64_t q = 0; q < places; ++q) {
            std::int64_t total = 0;
            for (std::int64_t x = 0; x < arity; ++x) total += counts[q * arity + x];
            for (std::int64_t x = 0; x < arity; ++x)
                family.probability[q * arity + x] = (double(counts[q * arity + x]) + cell) / (double(total) + margin);
        }
    }
    const std::uint16_t* codes_of(int v) const { return &given_.codes[v * given_.rows]; }

    const Incomplete& given_;
    std::vector<Family> families_;
    std::vector<std::vector<Child>> children_;
    std::vector<int> used_;
};

/// One row at a time, with the configuration of every family in it.
class Row {
public:
    Row(const Incomplete& given, const Parameters& parameters)
        : given_(given), parameters_(parameters), codes_(given.arities.size()), configurations_(given.arities.size()) {}

    void read(std::size_t r) {
        for (std::size_t v = 0; v < codes_.size(); ++v) codes_[v] = given_.codes[v * given_.rows + r];
        for (int v : parameters_.used()) configurations_[v] = parameters_.configuration(v, codes_);
    }
    std::uint16_t operator[](int v) const { return codes_[v]; }

    void draw(int v, SplitMix64& random) {
        weigh(v);
        const int x = place_in_weights(random);
        const std::int64_t more = x - int(codes_[v]);
        for (const auto& [child, stride] : parameters_.children(v)) configurations_[child] += more * stride;
        codes_[v] = std::uint16_t(x);
    }

private:
    /// P(x | p) times P(c | p_c) of every child c, up to a factor.
    void weigh(int v) {
        const int arity = given_.arities[v];
        const double* own = parameters_.given(v, configurations_[v]);
        weights_.assign(own, own + arity);
        for (const auto& [child, stride] : parameters_.children(v)) {
            const std::int64_t first = configurations_[child] - stride * codes_[v];
            for (int x = 0; x < arity; ++x)
                weights_[x] *= parameters_.given(child, first + x * stride)[codes_[child]];
            const double largest = *std::ranges::max_element(weights_);
            if (largest < kSmall)
                for (double& weight : weights_) weight /= largest;
        }
    }
    int place_in_weights(SplitMix64& random) const {
        double total = 0;
        for (double weight : weights_) total += weight;
        double left = double(random.next() >> 11) * 0x1p-53 * total;
        for (std::size_t x = 0; x + 1 < weights_.size(); ++x)
            if ((left -= weights_[x]) < 0) return int(x);
        return int(weights_.size()) - 1;
    }

    const Incomplete& given_;
    const Parameters& parameters_;
    std::vector<std::uint16_t> codes_;
    std::vector<std::int64_t> configurations_;
    std::vector<double> weights_;
};

/// The columns that are missing in each row: those of row r are [starts[r], starts[r + 1]).
struct Missing {
    explicit Missing(const Incomplete& given) : starts(given.rows + 1) {
        const auto visit = [&](auto see) {
            for (std::size_t v = 0; v < given.arities.size(); ++v)
                for (std::size_t r = 0; r < given.rows; ++r) see(int(v), r, given.gone[v * given.rows + r]);
        };
        visit([&](int, std::size_t r, std::uint8_t gone) { starts[r + 1] += gone; });
        for (std::size_t r = 0; r < given.rows; ++r) starts[r + 1] += starts[r];
        columns.resize(starts.back());
        auto next = starts;
        visit([&](int v, std::size_t r, std::uint8_t gone) {
            if (gone) columns[next[r]++] = v;
        });
    }
    std::span<const int> of(std::size_t r) const {
        return std::span(columns).subspan(starts[r], starts[r + 1] - starts[r]);
    }

    std::vector<std::size_t> starts;
    std::vector<int> columns;
};

}  // namespace

std::vector<std::uint16_t> draw_missing(Incomplete given, double ess, int fits, int sweeps, std::uint64_t seed) {
    const Missing missing(given);
    SplitMix64 random{seed};
    for (int fit = 0; fit < fits; ++fit) {
        const Parameters parameters(given, ess);
        Row row(given, parameters);
        for (std::size_t r = 0; r < given.rows; ++r) {
            if (r % kRowsBetweenLooks == 0) notice_interrupt();
            if (missing.of(r).empty()) continue;
            row.read(r);
            for (int sweep = 0; sweep < sweeps; ++sweep)
                for (int v : missing.of(r)) row.draw(v, random);
            for (int v : missing.of(r)) given.codes[v * given.rows + r] = row[v];
        }
    }
    return std::move(given.codes);
}

}  // namespace fedbn
