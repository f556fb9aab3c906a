#include "search/lookout.hpp"

#include <cmath>
#include <limits>
#include <memory>

#include "interrupt.hpp"
#include "search/class_search.hpp"
#include "search/totals.hpp"

namespace fedbn {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr Kind kInOrder[] = {Kind::remove, Kind::turn, Kind::insert};
constexpr auto kAnyNumber = std::numeric_limits<std::int64_t>::max();

struct Reached {
    Dag dag;
    double total;  // NaN where a family of the DAG is not known
    std::unique_ptr<ClassSearch> search{};
};

/// XGES-0 from where a search is; `start` is a DAG of that class.
Reached climb(std::unique_ptr<ClassSearch> search, KnownFamilies& families, Dag start, std::int64_t patience) {
    search->climb(kInOrder, patience);
    Dag dag = search->member().value_or(std::move(start));
    const double total = total_of(families, dag.pa);
    return {std::move(dag), total, std::move(search)};
}

Dag without(Dag dag, int y, int x) {
    dag.pa[y].erase(x), dag.ch[x].erase(y);
    return dag;
}

/// What the DAG without x -> y leads to: first while the pair stays apart. Of the operators on record only
/// those are looked at again that this changes.
Reached kick(const Reached& from, KnownFamilies& families, int y, int x, std::int64_t patience) {
    Dag start = without(from.dag, y, x);
    if (std::isnan(total_of(families, start.pa))) return {std::move(start), kUnknown};
    auto search = std::make_unique<ClassSearch>(*from.search);
    search->take_away(start, y, x);
    Reached reached = climb(std::move(search), families, std::move(start), patience);
    if (std::isnan(reached.total)) return reached;
    reached.search->allow(y, x);
    return climb(std::move(reached.search), families, std::move(reached.dag), patience);
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
    const auto search_from = [&](const Dag& dag) {
        return std::make_unique<ClassSearch>(families, dag, Rules{kAnyNumber, kAnyNumber, known, {}});
    };
    const auto is_better = [](double total, double than) { return total > than + tolerance_at(than); };
    const double total = total_of(families, start.pa);
    Reached best = climb(search_from(start), families, start, patience);
    if (!is_better(best.total, total)) {
        if (best.search->has_moved()) best.search = search_from(start), best.search->look(kInOrder);
        best.dag = std::move(start), best.total = total;
    }
    for (bool better = kicks; better;) {
        better = false;
        for (int y = 0; y < best.dag.n() && !better; ++y)
            for (int x : members(best.dag.pa[y] - known.required[y])) {
                notice_interrupt();
                Reached reached = kick(best, families, y, x, patience);
                if (better = is_better(reached.total, best.total); !better) continue;
                best = std::move(reached);
                break;
            }
    }
    return std::move(best.dag);
}

}  // namespace fedbn
