#include "credible/diagram.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "infinity.hpp"

namespace fedbn {

namespace {

/// Distinct rows of words, found by a hash.
class Rows {
public:
    explicit Rows(int width) : width_(width), table_(4096, -1) {}

    int size() const { return static_cast<int>(words_.size() / width_); }
    Word* operator[](int k) { return &words_[std::size_t(k) * width_]; }

    /// The place of a row in the table, which holds its number, or -1 if it is not there.
    std::int32_t& find(const Word* row) {
        std::size_t slot = hash(row) & (table_.size() - 1);
        while (table_[slot] >= 0 && !std::equal(row, row + width_, (*this)[table_[slot]]))
            slot = (slot + 1) & (table_.size() - 1);
        return table_[slot];
    }
    void insert(const Word* row, std::int32_t& place) {
        place = size();
        words_.insert(words_.end(), row, row + width_);
        if (2 * std::size_t(size()) > table_.size()) grow();
    }
    /// Keep the rows marked, in their order.
    void select(const std::vector<char>& keep) {
        int kept = 0;
        for (int k = 0; k < size(); ++k)
            if (keep[k]) std::copy_n((*this)[k], width_, (*this)[kept++]);
        words_.resize(std::size_t(kept) * width_);
    }
    /// Sort the rows and make equal ones one; returns the new number of each.
    std::vector<std::int32_t> merge() {
        std::vector<std::int32_t> order(size()), number(size());
        std::iota(order.begin(), order.end(), 0);
        const auto less = [&](int a, int b) {
            return std::lexicographical_compare((*this)[a], (*this)[a] + width_, (*this)[b],
                (*this)[b] + width_);
        };
        std::sort(order.begin(), order.end(), less);
        std::vector<Word> merged;
        int distinct = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            if (k == 0 || less(order[k - 1], order[k])) {
                merged.insert(merged.end(), (*this)[order[k]], (*this)[order[k]] + width_);
                ++distinct;
            }
            number[order[k]] = distinct - 1;
        }
        words_ = std::move(merged);
        return number;
    }

private:
    std::size_t hash(const Word* row) const {
        Word value = 0x9E3779B97F4A7C15;
        for (int w = 0; w < width_; ++w) {
            value = (value ^ row[w]) * 0xBF58476D1CE4E5B9;
            value ^= value >> 29;
        }
        return value;
    }
    void grow() {
        table_.assign(2 * table_.size(), -1);
        for (int k = 0; k < size(); ++k) find((*this)[k]) = k;
    }

    int width_;
    std::vector<Word> words_;
    std::vector<std::int32_t> table_;
};

/// The layers from the top, pruned by the bound. `rest` is left to be found.
class Descent {
public:
    Descent(const Problem& problem, const Limits& limits)
        : problem_(problem), limits_(limits), completion_(problem), rows_(problem.state_words()) {
        const auto root = problem.root();
        rows_.insert(root.data(), rows_.find(root.data()));
        layers_.push_back({{0.0}, {}, {}});
    }

    std::vector<Layer> layers() && {
        for (int placed = 0; placed < problem_.n(); ++placed) {
            limits_.require_time();
            expand();
            merge();
            used_ += 12 * layers_[placed].arcs.size() + 24 * rows_.size();
        }
        return std::move(layers_);
    }

private:
    void expand();
    void place(int v, int source, const State& s, Rows& below);
    std::int32_t state_below(const Word* key, double reach, double least, Rows& below);
    void merge();

    const Problem& problem_;
    const Limits& limits_;
    Completion completion_;
    Rows rows_;  // the states of the last layer
    std::vector<Layer> layers_;
    std::vector<double> reach_, ahead_;  // of the layer in the making; `ahead_` bounds what is to come
    std::size_t used_ = 0;               // bytes
    std::vector<int> fitting_;
    std::vector<Word> key_;
};

/// All states one step below the last layer, and the arcs to them.
///
/// A node v may be placed next iff no smaller unplaced node w would be placed by its smallest label first,
/// whatever family w still may take: every such w keeps only the families that do not fit yet. Each DAG so
/// has one path, its topological order with the smallest labels first.
void Descent::expand() {
    Rows below(problem_.state_words());
    reach_.clear();
    ahead_.clear();
    std::vector<Word> row(problem_.state_words());
    const State s = problem_.state(row.data());
    for (int source = 0; source < rows_.size(); ++source) {
        limits_.require_time();
        std::copy_n(rows_[source], row.size(), row.begin());
        for (int v = 0; v < problem_.n(); ++v) {
            if (s.placed.has(v)) continue;
            fitting_.clear();
            for (int f : problem_.may_take(v, s))
                if (problem_.fits(f, s)) fitting_.push_back(f);
            if (!fitting_.empty()) {
                key_ = row;
                place(v, source, problem_.state(key_.data()), below);
            }
            for (int f : fitting_) s.families.erase(f);
            const auto others = problem_.may_take(v, s);
            if (!(others.begin() != others.end())) break;
        }
    }
    rows_ = std::move(below);
}

/// Place v after the state `source`, by each of the families in `fitting_`.
void Descent::place(int v, int source, const State& s, Rows& below) {
    const double reach = layers_.back().reach[source], limit = problem_.limit;
    problem_.place(v, s);
    const auto target = state_below(key_.data(), reach, problem_.cost[fitting_[0]], below);
    if (target < 0) return;
    const double room = limit - reach - ahead_[target];
    for (int f : fitting_)
        if (problem_.cost[f] <= room && reach + problem_.cost[f] + ahead_[target] <= limit)
            layers_.back().arcs.push_back({source, f, target});
}

/// The number of a state that is reached by at least the cost reach + least; -1 if the limit excludes it.
std::int32_t Descent::state_below(const Word* key, double reach, double least, Rows& below) {
    std::int32_t& place = below.find(key);
    std::int32_t target = place;
    if (target < 0) {
        const State s = problem_.state(const_cast<Word*>(key));
        const double ahead = completion_.bound(s), room = problem_.limit - reach - ahead;
        if (least > room || !completion_.can_end(s, room - least)) return -1;
        const std::size_t most =
            (limits_.memory - std::min(used_, limits_.memory)) / (8 * problem_.state_words() + 60);
        if (std::size_t(below.size()) == most)
            throw DiagramLimit("the credible graphs need more than " + std::to_string(limits_.memory >> 20) +
                               " MiB: a layer has over " + std::to_string(most) + " states after " +
                               std::to_string(layers_.size() - 1) + " of " + std::to_string(problem_.n()) +
                               " variables");
        target = below.size();
        below.insert(key, place);
        reach_.push_back(kInfinity);
        ahead_.push_back(ahead);
    }
    reach_[target] = std::min(reach_[target], reach + least);
    return target;
}

/// Forget states without an arc and families that are too dear, and merge states that became equal.
void Descent::merge() {
    auto& arcs = layers_.back().arcs;
    std::vector<char> used(rows_.size());
    for (const DiagramArc& arc : arcs) used[arc.target] = true;
    std::vector<std::int32_t> kept(rows_.size());
    std::exclusive_scan(used.begin(), used.end(), kept.begin(), 0);
    for (std::size_t k = 0; k < used.size(); ++k)
        if (used[k]) reach_[kept[k]] = reach_[k];
    rows_.select(used);
    for (int k = 0; k < rows_.size(); ++k) {
        limits_.require_time();
        completion_.drop_unaffordable(problem_.state(rows_[k]), reach_[k]);
    }
    const auto number = rows_.merge();
    std::vector<double> reach(rows_.size(), kInfinity);
    for (std::size_t k = 0; k < number.size(); ++k) reach[number[k]] = std::min(reach[number[k]], reach_[k]);
    for (DiagramArc& arc : arcs) arc.target = number[kept[arc.target]];
    layers_.push_back({std::move(reach), {}, {}});
}

/// The exact least cost from each state to the end.
void complete(const Problem& problem, std::vector<Layer>& layers) {
    layers.back().rest.assign(layers.back().states(), 0.0);
    for (std::size_t depth = layers.size() - 1; depth-- > 0;) {
        Layer& layer = layers[depth];
        layer.rest.assign(layer.states(), kInfinity);
        for (const DiagramArc& arc : layer.arcs)
            layer.rest[arc.source] =
                std::min(layer.rest[arc.source],
                    problem.cost[arc.family] + layers[depth + 1].rest[arc.target]);
    }
}

/// Keep what has a number, which is its new place.
void select(std::vector<double>& values, const std::vector<std::int32_t>& number) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < number.size(); ++k)
        if (number[k] >= 0) values[kept++] = values[k];
    values.resize(kept);
}

/// Delete arcs and states through which no path is within the diagram's limit.
void trim(Diagram& diagram) {
    std::vector<std::int32_t> number{0};  // of the states that are kept, or -1
    for (int depth = 0; depth <= diagram.n(); ++depth) {
        Layer& layer = diagram.layers[depth];
        std::vector<std::int32_t> below;
        if (depth < diagram.n()) {
            const Layer& next = diagram.layers[depth + 1];
            std::erase_if(layer.arcs, [&](const DiagramArc& arc) {
                const double through = layer.reach[arc.source] + diagram.cost[arc.family] + next.rest[arc.target];
                return number[arc.source] < 0 || !(through <= diagram.limit);
            });
            below.assign(next.states(), -1);
            for (const DiagramArc& arc : layer.arcs) below[arc.target] = 0;
            for (std::int32_t kept = 0; auto& k : below)
                if (k >= 0) k = kept++;
            for (DiagramArc& arc : layer.arcs) arc = {number[arc.source], arc.family, below[arc.target]};
            layer.arcs.shrink_to_fit();
        }
        select(layer.reach, number);
        select(layer.rest, number);
        number = std::move(below);
    }
}

}  // namespace

std::vector<std::size_t> Layer::first_arcs() const {
    std::vector<std::size_t> first(states() + 1);
    for (const DiagramArc& arc : arcs) ++first[arc.source + 1];
    std::partial_sum(first.begin(), first.end(), first.begin());
    return first;
}

std::optional<Diagram> build_diagram(const Problem& problem, double budget, const Limits& limits) {
    Diagram diagram{problem.node, problem.cost, Descent(problem, limits).layers(), 0};
    complete(problem, diagram.layers);
    if (!(diagram.shift() < kInfinity)) return std::nullopt;
    diagram.limit = diagram.shift() + budget;
    trim(diagram);
    return diagram;
}

}  // namespace fedbn
