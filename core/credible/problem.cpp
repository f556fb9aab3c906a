#include "credible/problem.hpp"

#include <utility>

#include "infinity.hpp"

namespace fedbn {

namespace {

}  // namespace

Problem::Problem(std::vector<int> first, std::vector<double> cost, NodeSets parents, double limit)
    : first(std::move(first)), cost(std::move(cost)), parents(std::move(parents)), limit(limit) {
    for (int v = 0; v < n(); ++v) node.insert(node.end(), this->first[v + 1] - this->first[v], v);
}

void Problem::bound_by(std::span<const double> completion, std::span<const double> lowest) {
    std::vector<double> inside{0.0};  // Σ lowest of each placed set
    inside.reserve(completion.size());
    for (double least : lowest)
        for (std::size_t k = 0, size = inside.size(); k < size; ++k) inside.push_back(inside[k] + least);
    rest.assign(completion.begin(), completion.end());
    for (std::size_t set = 0; set < rest.size(); ++set) rest[set] -= inside.back() - inside[set];
}

void Problem::bound_by(ClusterDuals found) {
    duals = std::move(found);
    covers.resize(families());
    const NodeSets& clusters = duals.clusters;
    for (int f = 0; f < families(); ++f)
        for (int c = 0; c < clusters.size(); ++c)
            if (clusters[c].has(node[f])
                && !any(clusters[c] & std::as_const(parents)[f])) covers[f].push_back(c);
}

std::vector<Word> Problem::root() const {
    std::vector<Word> row(state_words());
    state(row.data()).families = AllBelow{families()};
    return row;
}

void Problem::place(int v, const State& s) const {
    s.placed.insert(v);
    for (int f : may_take(v, s)) s.families.erase(f);
}

bool Problem::keep_misfits(int v, const State& s) const {
    if (s.placed.has(v)) return true;
    bool others = false;
    for (int f : may_take(v, s)) {
        if (fits(f, s))
            s.families.erase(f);
        else
            others = true;
    }
    return others;
}

Completion::Completion(const Problem& problem)
    : problem_(problem), met_(problem.duals.duals.size()), best_(problem.n()) {}

double Completion::cheapest(int v, const State& s) const {
    for (int f : problem_.may_take(v, s)) return problem_.cost[f];
    return kInfinity;
}

/// By the table of completion costs. A node w that may no longer take its cheap families costs at least
/// a(w), the cheapest of the others; were it placed already, the rest would cost no more than now. Hence
/// for each set K of unplaced nodes Σ_K a(w) + rest(placed and K) is a bound. K grows as long as it does.
Completion::Demand Completion::demand(const State& s) const {
    const std::size_t placed = s.placed.word(0);
    Demand found{placed, 0, problem_.rest[placed]};
    for (bool grown = true; grown;) {
        grown = false;
        for (int v = 0; v < problem_.n(); ++v) {
            const std::size_t with_v = found.set | std::size_t{1} << v;
            if (with_v == found.set) continue;
            const double least = cheapest(v, s), total = found.paid + least + problem_.rest[with_v];
            if (total > found.total) {
                found = {with_v, found.paid + least, total};
                grown = true;
            }
        }
    }
    return found;
}

/// The reduced cost of a family and the duals of the clusters met that it covers.
double Completion::price(int f) const {
    double value = problem_.duals.reduced[f];
    for (int c : problem_.covers[f])
        if (met_[c]) value += problem_.duals.duals[c];
    return value;
}

/// A cluster of which a node is placed has had its node; only the others still bind.
double Completion::duals_bound(const State& s) {
    const auto& [clusters, duals, lowest, least, reduced] = problem_.duals;
    double total = 0;
    for (int v = 0; v < problem_.n(); ++v)
        if (!s.placed.has(v)) total -= lowest[v];
    for (std::size_t c = 0; c < duals.size(); ++c) {
        met_[c] = any(clusters[static_cast<int>(c)] & s.placed);
        if (!met_[c]) total += duals[c];
    }
    for (int v = 0; v < problem_.n(); ++v) {
        if (s.placed.has(v)) continue;
        best_[v] = kInfinity;
        for (int f : problem_.may_take(v, s))
            if (reduced[f] < best_[v]) best_[v] = std::min(best_[v], price(f));
        total += least[v] + best_[v];
    }
    return total;
}

double Completion::bound(const State& s) { return problem_.rest.empty() ? duals_bound(s) : demand(s).total; }

bool Completion::can_end(const State& s, double slack) {
    const bool by_table = !problem_.rest.empty();
    const auto affordable = [&](int v, int f) {
        return by_table || !(problem_.duals.reduced[f] > best_[v] + slack || price(f) > best_[v] + slack);
    };
    placed_ = s.placed;
    int left = problem_.n() - count(s.placed);
    for (bool grown = true; left && grown;) {
        grown = false;
        for (int v = 0; v < problem_.n(); ++v) {
            if (placed_.has(v)) continue;
            for (int f : problem_.may_take(v, s))
                if (is_subset(problem_.parents[f], placed_) && affordable(v, f)) {
                    placed_.insert(v);
                    --left;
                    grown = true;
                    break;
                }
        }
    }
    return left == 0;
}

void Completion::drop_unaffordable(const State& s, double reach) {
    const bool by_table = !problem_.rest.empty();
    const Demand k = by_table ? demand(s) : Demand{0, 0, duals_bound(s)};
    for (int v = 0; v < problem_.n(); ++v) {
        if (s.placed.has(v)) continue;
        double others;  // the bound without what v costs
        if (!by_table)
            others = k.total - best_[v];
        else if (k.set >> v & 1)
            others = k.total - cheapest(v, s);
        else
            others = k.paid + problem_.rest[k.set | std::size_t{1} << v];
        const double room = problem_.limit - reach - others;
        for (int f : problem_.may_take(v, s)) {
            const bool dear = by_table ? problem_.cost[f] > room
                                       : problem_.duals.reduced[f] > room || price(f) > room;
            if (dear) s.families.erase(f);
        }
    }
}

}  // namespace fedbn
