#include "search/lookout.hpp"

#include <cmath>
#include <limits>

#include "interrupt.hpp"
#include "search/class_search.hpp"
#include "search/totals.hpp"

namespace fedbn {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr auto kAnyNumber = std::numeric_limits<std::int64_t>::max();

struct Reached {
    Dag dag;
    double total;  // NaN where a family of the DAG is not known
};

/// XGES-0 from a DAG.
Reached climb_from(KnownFamilies& families, Dag start, const Knowledge& known, std::int64_t patience) {
    static constexpr Kind in_order[] = {Kind::remove, Kind::turn, Kind::insert};
    if (std::isnan(total_of(families, start.pa))) return {std::move(start), kUnknown};
    ClassSearch search(families, start, Rules{kAnyNumber, kAnyNumber, known, {}});
    search.climb(in_order, patience);
    Dag dag = search.member().value_or(std::move(start));
    const double total = total_of(families, dag.pa);
    return {std::move(dag), total};
}

Dag without(Dag dag, int y, int x) {
    dag.pa[y].erase(x), dag.ch[x].erase(y);
    return dag;
}

/// What the DAG without x -> y leads to: first while the pair stays apart.
Reached kick(KnownFamilies& families, const Dag& dag, int y, int x, const Knowledge& known, std::int64_t patience) {
    Knowledge apart = known;
    apart.forbidden[y].insert(x), apart.forbidden[x].insert(y);
    Reached reached = climb_from(families, without(dag, y, x), apart, patience);
    return std::isnan(reached.total) ? reached : climb_from(families, std::move(reached.dag), known, patience);
}

}  // namespace

KnownFamilies::KnownFamilies(int n) : nodes_(n), members_(n) {
    SplitMix64 random{0};
    for (auto* signs : {&nodes_, &members_})
        for (auto& sign : *signs) sign = {random.next(), random.next()};
}

Key KnownFamilies::key_of(int y, std::span<const int> parents) const {
    Key key = nodes_[y];
    for (int p : parents) key = key ^ members_[p];
    return key;
}

void KnownFamilies::learn(int y, std::span<const int> parents, double score) { known_[key_of(y, parents)] = score; }

double KnownFamilies::joint(std::span<const int>) { return kUnknown; }

double KnownFamilies::look_up(Key key, int y, std::span<const int> parents, int more) {
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    if (asked_.insert(key).second) {
        Family family{y, {parents.begin(), parents.end()}};
        if (more >= 0) family.parents.push_back(more);
        std::ranges::sort(family.parents);
        wanted_.push_back(std::move(family));
    }
    return kUnknown;
}

double KnownFamilies::local(int y, std::span<const int> parents) { return look_up(key_of(y, parents), y, parents); }

void KnownFamilies::local_with(int y, std::span<const int> parents, std::span<const int> xs,
                               std::span<double> scores) {
    const Key key = key_of(y, parents);
    for (std::size_t i = 0; i < xs.size(); ++i) scores[i] = look_up(key ^ members_[xs[i]], y, parents, xs[i]);
}

Dag look_around(KnownFamilies& families, Dag start, const Knowledge& known, bool kicks, std::int64_t patience) {
    Reached best{start, total_of(families, start.pa)};
    const auto improve = [&](Reached reached) {
        if (!(reached.total > best.total + tolerance_at(best.total))) return false;
        best = std::move(reached);
        return true;
    };
    improve(climb_from(families, std::move(start), known, patience));
    for (bool better = kicks; better;) {
        better = false;
        const Dag from = best.dag;
        for (int y = 0; y < from.n() && !better; ++y)
            for (int x : members(from.pa[y] - known.required[y])) {
                notice_interrupt();
                if (better = improve(kick(families, from, y, x, known, patience)); better) break;
            }
    }
    return std::move(best.dag);
}

}  // namespace fedbn
