#include "search/boss.hpp"

#include "interrupt.hpp"

namespace fedbn {

Boss::Boss(Score& score, std::vector<int> order, BossRules rules)
    : score_(score), rules_(std::move(rules)), rank_(order.size()), trial_{0, NodeSet(int(order.size()))} {
    go_to(std::move(order));
}

void Boss::go_to(std::vector<int> order) {
    order_ = std::move(order);
    for (int place = 0; place < n(); ++place) rank_[order_[place]] = place;
    begun_ = moved_ = false;
}

/// For each node those that gain most as its only neighbour, of equal ones the first; a gain is the same for both.
std::vector<std::vector<int>> Boss::candidates_of_all(const NodeSets& barred) {
    using Gain = std::pair<double, int>;
    const auto is_better = [](const Gain& l, const Gain& r) {
        return l.first != r.first ? l.first > r.first : l.second < r.second;
    };
    std::vector<std::vector<Gain>> best(n());  // heaps, the worst on top
    const auto offer = [&](int v, Gain gain) {
        auto& heap = best[v];
        if (std::ssize(heap) == rules_.candidates) {
            met_candidates_ = true;
            if (heap.empty() || !is_better(gain, heap[0])) return;
            std::ranges::pop_heap(heap, is_better);
            heap.pop_back();
        }
        heap.push_back(gain);
        std::ranges::push_heap(heap, is_better);
    };
    std::vector<int> others;
    std::vector<double> scores;
    for (int y = 0; y < n(); ++y) {
        notice_interrupt();
        list(AllBelow{n()} - barred[y] - AllBelow{y + 1}, others);
        scores.resize(others.size());
        if (!others.empty()) score_.local_with(y, {}, others, scores);
        const double here = score_.local(y, {});
        for (std::size_t i = 0; i < others.size(); ++i) {
            offer(y, {scores[i] - here, others[i]});
            offer(others[i], {scores[i] - here, y});
        }
    }
    std::vector<std::vector<int>> chosen(n());
    for (int y = 0; y < n(); ++y)
        for (auto [gain, x] : best[y]) chosen[y].push_back(x);
    return chosen;
}

/// Two nodes are neighbours where one is a candidate of the other, or a required parent.
void Boss::choose_neighbours() {
    const auto& [forbidden, required] = rules_.knowledge;
    NodeSets barred = forbidden.transposed();
    for (int y = 0; y < n(); ++y) barred[y] &= forbidden[y];
    if (rules_.candidates < n() - 1) {
        neighbours_ = candidates_of_all(barred);
    } else {
        neighbours_.resize(n());
        for (int y = 0; y < n(); ++y) list(AllBelow{n()} - barred[y] - y, neighbours_[y]);
    }
    const auto chosen = neighbours_;
    for (int y = 0; y < n(); ++y) {
        for (int x : chosen[y]) neighbours_[x].push_back(y);
        for (int x : members(required[y])) neighbours_[y].push_back(x), neighbours_[x].push_back(y);
    }
    for (auto& of_y : neighbours_) {
        std::ranges::sort(of_y);
        of_y.erase(std::ranges::unique(of_y).begin(), of_y.end());
    }
}

/// A tree for each node.
void Boss::plant() {
    choose_neighbours();
    const auto& [forbidden, required] = rules_.knowledge;
    std::vector<int> candidates, of_y;
    for (int y = 0; y < n(); ++y) {
        candidates.clear();
        for (int x : neighbours_[y])
            if (!forbidden[y].has(x)) candidates.push_back(x);
        list(required[y], of_y);
        trees_.emplace_back(y, candidates, of_y, rules_.max_parents);
        traces_.push_back({0, NodeSet(n())});
    }
}

void Boss::begin() {
    if (trees_.empty()) plant();
    total_ = 0;
    for (int y = 0; y < n(); ++y) {
        follow(y);
        total_ += trees_[y].shrunk(score_, traces_[y].end);
    }
    waiting_.assign(order_.rbegin(), order_.rend());
    begun_ = true;
}

/// The trace of y in the present order.
void Boss::follow(int y) {
    trees_[y].trace(score_, [&](int x) { return rank_[x] < rank_[y]; }, traces_[y]);
}

void Boss::begin_anew_when_full() {
    std::size_t bytes = 0;
    for (const auto& tree : trees_) bytes += tree.bytes();
    if (bytes <= rules_.memory) return;
    ++emptied_;
    for (auto& tree : trees_) tree.forget();
    for (int y = 0; y < n(); ++y) follow(y);
}

/// What the score of u gains if v is among its predecessors.
double Boss::change_by(int u, int v) {
    const bool before = rank_[v] < rank_[u];
    if (before ? !trees_[u].grew_by(traces_[u].end, v) : !traces_[u].passed.has(v)) return 0;
    trees_[u].trace(
        score_, [&](int x) { return x == v ? !before : rank_[x] < rank_[u]; }, trial_);
    const double here = trees_[u].shrunk(score_, traces_[u].end), there = trees_[u].shrunk(score_, trial_.end);
    return before ? here - there : there - here;
}

/// The slots of v at which the score of the order may change, ascending, where required edges allow v to be.
std::vector<Boss::Place> Boss::places(int v) {
    const auto& required = rules_.knowledge.required;
    std::vector<int> around = neighbours_[v];
    std::ranges::sort(around, {}, [&](int u) { return rank_[u]; });
    std::vector<double> behind(around.size() + 1);  // what those gain that v precedes
    int least = 0, most = n() - 1;
    for (std::size_t i = around.size(); i-- > 0;) {
        const int u = around[i];
        behind[i] = behind[i + 1] + change_by(u, v);
        if (required[u].has(v)) most = rest_rank(u, v);
        if (required[v].has(u)) least = std::max(least, rest_rank(u, v) + 1);
    }
    std::vector<Place> found;
    for (std::size_t i = 0; i <= around.size(); ++i) {
        const int slot = i == 0 ? 0 : rest_rank(around[i - 1], v) + 1;
        if (i == 0 || trial_.passed.has(around[i - 1]))
            trees_[v].trace(score_, [&](int x) { return rest_rank(x, v) < slot; }, trial_);
        if (least <= slot && slot <= most)
            found.push_back({slot, trees_[v].shrunk(score_, trial_.end) + behind[i]});
    }
    return found;
}

/// Of the places within the tolerance of the best the first; v stays if none is better than its own.
bool Boss::improve_place_of(int v) {
    const double tolerance = tolerance_at(total_);
    double best = -kInfinity, here = -kInfinity;
    const auto found = places(v);
    for (const auto& [slot, change] : found) {
        if (slot <= rank_[v]) here = change;
        best = std::max(best, change);
    }
    if (best <= here + tolerance) return false;
    for (const auto& [slot, change] : found) {
        if (change <= here + tolerance || change < best - tolerance) continue;
        total_ += change - here;
        put(v, slot);
        return true;
    }
    return false;
}

void Boss::put(int v, int slot) {
    std::vector<int> touched{v};
    for (int u : neighbours_[v]) {
        const bool before = rank_[v] < rank_[u], after = slot <= rest_rank(u, v);
        if (before != after) touched.push_back(u);
    }
    const auto [first, last] = std::minmax({rank_[v], slot});
    const auto part = std::span(order_).subspan(first, last - first + 1);
    std::ranges::rotate(part, slot < rank_[v] ? part.end() - 1 : part.begin() + 1);
    for (int place = first; place <= last; ++place) rank_[order_[place]] = place;
    for (int u : touched) follow(u);
    ++moves_;
}

bool Boss::improve(std::int64_t budget) {
    if (!begun_) begin();
    for (; budget > 0; --budget) {
        notice_interrupt();
        if (waiting_.empty()) {
            if (!moved_) return true;
            moved_ = false;
            waiting_.assign(order_.rbegin(), order_.rend());
        }
        begin_anew_when_full();
        const int v = waiting_.back();
        waiting_.pop_back();
        moved_ |= improve_place_of(v);
    }
    return waiting_.empty() && !moved_;
}

double Boss::total() {
    if (!begun_) begin();
    return total_;
}

NodeSets Boss::parents() {
    if (!begun_) begin();
    NodeSets found(n(), n());
    for (int y = 0; y < n(); ++y)
        for (int x : trees_[y].parents(score_, traces_[y].end)) found[y].insert(x);
    return found;
}

bool Boss::met_max_parents() const { return std::ranges::any_of(trees_, &GrowShrinkTree::met_max_parents); }

}  // namespace fedbn
