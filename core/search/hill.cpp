#include "search/hill.hpp"

#include "interrupt.hpp"
#include "search/totals.hpp"

namespace fedbn {

namespace {

constexpr Change kOfAbsent[] = {Change::add}, kOfPresent[] = {Change::remove, Change::reverse};

}  // namespace

Hill::Hill(Score& score, Dag start, HillRules rules)
    : score(score), rules(std::move(rules)), tabu_(std::size_t(start.n()) * start.n()) {
    const int n = start.n();
    place = {std::move(start), NodeSets(n, n), std::vector<double>(std::size_t(n) * n),
             std::vector<double>(n, kInfinity), 0};
    candidates = NodeSets(n, n);
    for (int v = 0; v < n; ++v) candidates[v] = AllBelow{n} - v;
    best_parents = place.dag.pa;
    best_score = place.score = total_of(score, best_parents);
}

void Hill::prepare() {
    if (ready_) return;
    find_descendants();
    for (int y = 0; y < n(); ++y) refresh(y);
    ready_ = true;
}

/// change(y, ·) for the present parents; moves on the children of y depend on it, too.
void Hill::refresh(int y) {
    notice_interrupt();
    const auto& parents = place.dag.pa;
    double* const change = &place.change[std::size_t(y) * n()];
    list(parents[y], parents_);
    list(candidates[y] - parents[y], others_);
    const double here = score.local(y, parents_);
    scores_.resize(others_.size());
    if (!others_.empty()) score.local_with(y, parents_, others_, scores_);
    for (std::size_t i = 0; i < others_.size(); ++i) change[others_[i]] = scores_[i] - here;
    for (int x : parents_) {
        list(parents[y] - x, others_);
        change[x] = score.local(y, others_) - here;
    }
    place.bound[y] = kInfinity;
    forget_bounds(place.dag.ch[y]);
}

/// These rows must be looked at again.
void Hill::forget_bounds(SetView rows) {
    for (int y : members(rows)) place.bound[y] = kInfinity;
}

void Hill::find_descendants() {
    const auto order = topological_order(place.dag);
    for (auto v = order.rbegin(); v != order.rend(); ++v) {
        const auto below = place.below[*v];
        below = place.dag.ch[*v];
        for (int c : members(place.dag.ch[*v])) below |= place.below[c];
    }
}

/// After edges were taken away: in rows where new paths matter, bounds are forgotten.
void Hill::find_descendants_again() {
    const NodeSets before = place.below;
    find_descendants();
    for (int v = 0; v < n(); ++v) {
        if (equal(before[v], place.below[v])) continue;
        place.bound[v] = kInfinity;
        for (int p : members(place.dag.pa[v])) forget_bounds(place.dag.ch[p]);
    }
}

/// After x -> y was added.
void Hill::add_descendants(int y, int x) {
    for (int v = 0; v < n(); ++v) {
        if (v != x && !place.below[v].has(x)) continue;
        place.below[v] |= place.below[y];
        place.below[v].insert(y);
    }
}

/// Whether x reaches y by a path other than the edge x -> y.
bool Hill::reaches_otherwise(int x, int y) const {
    for (int c : members(place.dag.ch[x] - y))
        if (place.below[c].has(y)) return true;
    return false;
}

/// Whether a change of x -> y keeps the knowledge and closes no cycle.
bool Hill::is_permitted(Change kind, int y, int x) const {
    const auto& [forbidden, required] = rules.knowledge;
    if (kind == Change::add) return !forbidden[y].has(x) && !place.below[y].has(x);
    if (required[y].has(x)) return false;
    return kind == Change::remove || !(forbidden[x].has(y) || reaches_otherwise(x, y));
}

double Hill::gain(Change kind, int y, int x) const {
    return kind == Change::reverse ? change(y, x) + change(x, y) : change(y, x);
}

/// The best permitted move that gains more than `floor`; with `first_of` the first of them by
/// (kind, y, x). A pair that is tabu is left alone, unless its move gains more than `aspired`.
std::optional<Move> Hill::best_move(double aspired, double floor, std::optional<Change> only, bool first_of) {
    const auto& [pa, ch] = place.dag;
    auto& bound = place.bound;
    std::optional<Move> best;
    double bar = floor, lost = 0;
    for (int y = 0; y < n(); ++y) {
        if (bound[y] <= bar) continue;
        bound[y] = -kInfinity;
        for (int x : members(candidates[y] - ch[y]))
            for (const Change kind : pa[y].has(x) ? std::span<const Change>(kOfPresent) : kOfAbsent) {
                const double gain = this->gain(kind, y, x);
                if (gain <= bar && gain <= bound[y]) continue;
                if (!is_permitted(kind, y, x)) continue;
                bound[y] = std::max(bound[y], gain);
                if (gain <= bar || (first_of && best && best->kind <= kind)) continue;
                if (only && kind != *only) continue;
                if (tabu(x, y) > steps && gain <= aspired) continue;
                if (kind != Change::remove && count(pa[kind == Change::add ? y : x]) >= rules.max_parents) {
                    lost = std::max(lost, gain);
                    continue;
                }
                best = {kind, y, x, gain};
                if (!first_of) bar = gain;
            }
    }
    if (!first_of && lost > std::max(best ? best->gain : floor, 0.0)) met_max_parents = true;
    return best;
}

/// The move to make, of equals the first by (kind, y, x).
std::optional<Move> Hill::choose(double aspired, double floor, bool in_order) {
    static constexpr std::optional<Change> any_kind[] = {std::nullopt};
    static constexpr std::optional<Change> ordered[] = {Change::remove, Change::reverse, Change::add};
    const double tolerance = tolerance_at(place.score);
    for (const auto only : in_order ? std::span<const std::optional<Change>>(ordered) : any_kind)
        if (const auto best = best_move(aspired, floor, only, false))
            return best_move(aspired, std::max(floor, best->gain - tolerance), only, true);
    return std::nullopt;
}

void Hill::make(const Move& move) {
    const auto [kind, y, x, gain] = move;
    auto& [pa, ch] = place.dag;
    if (kind == Change::add) {
        pa[y].insert(x), ch[x].insert(y);
        add_descendants(y, x);
    } else {
        pa[y].erase(x), ch[x].erase(y);
        place.bound[x] = kInfinity;  // y -> x was no move before
    }
    refresh(y);
    if (kind == Change::reverse) {
        pa[x].insert(y), ch[y].insert(x);
        refresh(x);
    }
    if (kind != Change::add) {
        forget_bounds(ch[x]);
        find_descendants_again();
    }
    place.score += gain;
    ++steps, ++since_best_;
    tabu(x, y) = tabu(y, x) = steps + rules.tabu_length;
}

bool Hill::climb(std::int64_t budget, bool in_order) {
    for (; budget > 0; --budget) {
        const double tolerance = tolerance_at(place.score);
        const double aspired = best_score - place.score + tolerance;
        const double floor = since_best_ >= rules.patience ? tolerance : -kInfinity;
        const auto move = choose(aspired, floor, in_order);
        if (!move) return true;
        make(*move);
        if (place.score > best_score + tolerance) {
            best_score = place.score;
            best_parents = place.dag.pa;
            since_best_ = 0;
        }
    }
    return false;
}

}  // namespace fedbn
