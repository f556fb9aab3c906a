#include "scores/completion.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "interrupt.hpp"
#include "random.hpp"

namespace fedbn {

namespace {

/// P(x | p) of one column: probability [configuration * arity + x].
struct Family {
    int node;
    std::vector<int> parents;
    std::vector<std::int64_t> strides;  // of each parent in the configuration's number
    std::vector<double> probability;
};

class Row {
public:
    Row(std::vector<std::uint16_t>& codes, std::size_t rows) : codes_(codes), rows_(rows) {}
    void move_to(std::size_t row) { row_ = row; }
    std::uint16_t& operator[](int v) { return codes_[v * rows_ + row_]; }

private:
    std::vector<std::uint16_t>& codes_;
    std::size_t rows_, row_ = 0;
};

std::int64_t configuration(const Family& family, Row& row) {
    std::int64_t found = 0;
    for (std::size_t k = 0; k < family.parents.size(); ++k) found += family.strides[k] * row[family.parents[k]];
    return found;
}

Family family_of(const Incomplete& given, int node, Row& row, double ess) {
    Family family{node, given.parents[node], {}, {}};
    const std::int64_t arity = given.arities[node];
    std::int64_t configurations = 1;
    for (int parent : family.parents) {
        family.strides.push_back(configurations);
        configurations *= given.arities[parent];
        require(configurations <= largest_family / arity, "a column with its parents must have at most ",
                largest_family, " cells");
    }
    std::vector<std::int64_t> counts(configurations * arity);
    for (std::size_t r = 0; r < given.rows; ++r) {
        row.move_to(r);
        ++counts[configuration(family, row) * arity + row[node]];
    }
    family.probability.resize(counts.size());
    const double cell = ess / double(configurations * arity), margin = ess / double(configurations);
    for (std::int64_t q = 0; q < configurations; ++q) {
        std::int64_t total = 0;
        for (std::int64_t x = 0; x < arity; ++x) total += counts[q * arity + x];
        for (std::int64_t x = 0; x < arity; ++x)
            family.probability[q * arity + x] = (double(counts[q * arity + x]) + cell) / (double(total) + margin);
    }
    return family;
}

/// The weights of all states of a column given its blanket, the largest scaled to 1 after each factor.
void weigh(const std::vector<Family>& families, const std::vector<std::vector<int>>& children, int node, Row& row,
           const std::vector<int>& arities, std::vector<double>& weights) {
    const int arity = arities[node];
    const double* own = &families[node].probability[configuration(families[node], row) * arity];
    weights.assign(own, own + arity);
    const std::uint16_t before = row[node];
    for (int child : children[node]) {
        const Family& family = families[child];
        const std::size_t place = std::ranges::find(family.parents, node) - family.parents.begin();
        row[node] = 0;
        const std::int64_t base = configuration(family, row);
        for (int x = 0; x < arity; ++x)
            weights[x] *= family.probability[(base + x * family.strides[place]) * arities[child] + row[child]];
        const double largest = *std::ranges::max_element(weights);
        for (double& weight : weights) weight /= largest;
    }
    row[node] = before;
}

int draw(const std::vector<double>& weights, SplitMix64& random) {
    double total = 0;
    for (double weight : weights) total += weight;
    double left = double(random.next() >> 11) * 0x1p-53 * total;
    for (std::size_t x = 0; x + 1 < weights.size(); ++x)
        if ((left -= weights[x]) < 0) return int(x);
    return int(weights.size()) - 1;
}

}  // namespace

std::vector<std::uint16_t> draw_missing(const Incomplete& given, double ess, int sweeps, std::uint64_t seed) {
    const int n = int(given.arities.size());
    auto codes = given.codes;
    Row row(codes, given.rows);
    std::vector<Family> families;
    std::vector<std::vector<int>> children(n);
    for (int v = 0; v < n; ++v) {
        families.push_back(family_of(given, v, row, ess));
        for (int parent : given.parents[v]) children[parent].push_back(v);
    }
    SplitMix64 random{seed};
    std::vector<double> weights;
    std::vector<int> missing;
    for (std::size_t r = 0; r < given.rows; ++r) {
        notice_interrupt();
        missing.clear();
        for (int v = 0; v < n; ++v)
            if (given.gone[v * given.rows + r]) missing.push_back(v);
        row.move_to(r);
        for (int sweep = 0; sweep < sweeps; ++sweep)
            for (int v : missing) {
                weigh(families, children, v, row, given.arities, weights);
                row[v] = std::uint16_t(draw(weights, random));
            }
    }
    return codes;
}

}  // namespace fedbn
