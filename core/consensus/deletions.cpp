#include "consensus/deletions.hpp"

#include <algorithm>

namespace fedbn {

namespace {

/// By how much a bound may overtake the next best before the search turns to that; of no effect on
/// results.
Ratio with_slack(Ratio bound) { return {bound.sum + bound.weight / 128, bound.weight}; }

constexpr Ratio kEveryCut{1, 0};  // no bound is above it
constexpr int kSplitAtOnce = 2;  // families of so few undecided elements are split without computing their cuts
constexpr std::size_t kGuides = 160;  // about so many inputs say on which element a family is split

}  // namespace

Deletions::~Deletions() = default;

Deletions::Deletions(std::vector<Dag> inputs, std::vector<std::int64_t> weights, Dag fusion, int k_max,
                     Pooling pooling, std::size_t memory, Knowledge known, const Observers& observers)
    : n_(fusion.n()),
      weights_(std::move(weights)),
      k_max_(k_max),
      largest_cut_(pooling == Pooling::clip ? 1 : (1 << 15) - 1),
      pooling_(pooling),
      known_(std::move(known)),
      is_free_(known_.says_nothing()),
      memory_(memory),
      pattern_(std::move(fusion)),
      edge_of_(std::size_t(n_) * n_, -1),
      cut_(n_),
      score_(n_) {
    for (auto& dag : inputs) inputs_.emplace_back(std::move(dag));
    for (auto weight : weights_) total_ += weight;
    find_observers(observers);
    const auto& p = pattern_.pdag();
    for (int y = 0; y < n_; ++y) n_edges_ += count(p.pa[y]);
    for (int y = 0; y < n_; ++y) n_edges_ += count(p.ne[y] & AllBelow{y});
    capacity_ = std::max<std::size_t>(64, 4 * n_edges_);
    for (int y = 0; y < n_; ++y) n_edges_ -= count(known_.required[y]);
    slots_.resize(capacity_);
    for (std::size_t slot = capacity_; slot-- > 0;) free_.push_back(static_cast<int>(slot));
    for (int y = 0; y < n_; ++y)
        for (int x = 0; x < n_; ++x)
            if (p.pa[y].has(x) || (x < y && p.ne[y].has(x))) make_edge(x, y);
}

void Deletions::make_edge(int x, int y) {
    const int number = static_cast<int>(edges_.size());
    edge_between(x, y) = edge_between(y, x) = number;
    edges_.push_back({x, y, pattern_.na(y, x), pattern_.pdag().pa[y] - x, {}});
    make_root(number);
}

/// Slots by their order as it was when they came in. Bounds only grow, so one whose bound has grown
/// since then is put back.
class Deletions::Queue {
public:
    explicit Queue(const Deletions& search) : after_{search} { entries_.reserve(search.n_slots_); }
    /// To be followed by `sort`.
    void add(int slot, Ratio bound) { entries_.push_back({bound, slot}); }
    void leave_out(const auto& is_late) {
        std::erase_if(entries_, [&](const Entry& entry) { return is_late(entry.slot, entry.bound); });
    }
    void sort() { std::ranges::make_heap(entries_, after_); }
    void push(int slot, Ratio bound) {
        add(slot, bound);
        std::ranges::push_heap(entries_, after_);
    }
    bool empty() const { return entries_.empty(); }
    Ratio least() const { return entries_.front().bound; }
    int top() const { return entries_.front().slot; }
    int pop() {
        const int slot = top();
        std::ranges::pop_heap(entries_, after_);
        entries_.pop_back();
        return slot;
    }

private:
    struct Entry {
        Ratio bound;
        int slot;
    };
    struct After {
        const Deletions& search;
        bool operator()(const Entry& a, const Entry& b) const {
            const auto order = a.bound <=> b.bound;
            return order != 0 ? order > 0 : search.holds_later(a.slot, b.slot);
        }
    };
    After after_;
    std::vector<Entry> entries_;
};

bool Deletions::is_exact(const Slot& slot) const { return slot.kind == Slot::Kind::operation && !slot.unknown; }

/// Whether computing more of its cuts would not help a family, or hardly.
bool Deletions::is_to_be_split(const Slot& slot) const {
    if (slot.kind == Slot::Kind::operation) return false;
    return count(slot.u) <= kSplitAtOnce || !slot.unknown || count(slot.h) >= k_max_;
}

/// Cuts of the operator H of a rest in some inputs, which guide its splits; cuts made.
std::int64_t Deletions::guide(int number) {
    const int whole = slots_[number].whole;
    if (slots_[whole].is_dead() || !slots_[whole].unknown) return 0;
    return evaluate(whole, kEveryCut, std::max<std::size_t>(1, inputs_.size() / kGuides));
}

/// The best operator. The search ends at the first operator on top of the queue that is exact: no slot
/// that is left can hold one before it in the order (Ψ, x, y, |H|, H).
std::pair<Deletions::Outcome, int> Deletions::find_best(std::int64_t patience) {
    int first = -1;                              // of what is exact by now
    Ratio best{std::int64_t{1} << 62, total_};  // its Ψ; above every Ψ where there is none
    const auto is_late = [&](int slot, Ratio bound) {
        const auto order = bound <=> best;
        return order != 0 ? order > 0 : first >= 0 && holds_later(slot, first);
    };
    Queue queue(*this);
    for (int k = 0; k < n_slots_; ++k) {
        const Slot& slot = slots_[k];
        if (slot.is_dead() || is_late(k, slot.bound) || is_required(slot)) continue;
        if (is_free_ && is_exact(slot))
            first = k, best = slot.bound;
        else
            queue.add(k, slot.bound);
    }
    queue.leave_out(is_late);
    if (first >= 0) queue.add(first, best);
    queue.sort();
    while (!queue.empty() && queue.least() <= best) {
        const bool stale = slots_[queue.top()].bound != queue.least();
        const int top = queue.pop();
        if (stale) {
            queue.push(top, slots_[top].bound);
            continue;
        }
        if (is_exact(slots_[top])) {
            if (keeps_knowledge(slots_[top])) return {Outcome::done, top};
            continue;
        }
        if (patience <= 0) return {Outcome::paused, -1};
        if (is_to_be_split(slots_[top])) {
            if (free_.empty() && !make_room()) return {Outcome::out_of_memory, -1};
            if (slots_[top].kind == Slot::Kind::rest) patience -= guide(top);
            const int made = split(top);
            if (made >= 0 && !slots_[made].is_dead()) queue.push(made, slots_[made].bound);
        } else {
            const Ratio limit = queue.empty() ? best : std::min(best, with_slack(queue.least()));
            patience -= evaluate(top, limit, 1);
            if (is_free_ && is_exact(slots_[top])) best = std::min(best, slots_[top].bound);
        }
        if (!slots_[top].is_dead()) queue.push(top, slots_[top].bound);
    }
    return {is_free_ ? Outcome::broken : Outcome::barred, -1};
}

bool Deletions::is_required(const Slot& slot) const {
    if (is_free_) return false;
    const Edge& edge = edges_[slot.edge];
    return known_.required[edge.y].has(edge.x) || known_.required[edge.x].has(edge.y);
}

/// Whether some DAG of the class that an operator leads to keeps the knowledge.
bool Deletions::keeps_knowledge(const Slot& slot) const {
    if (is_free_) return true;
    const Edge& edge = edges_[slot.edge];
    const auto after = after_delete(pattern_.pdag(), edge.x, edge.y, slot.h);
    return after && constrained_extension(*after, known_);
}

Deletions::Outcome Deletions::advance(int steps, std::int64_t patience, Ratio largest) {
    for (int k = 0; k < steps && steps_.size() < n_edges_; ++k) {
        const auto [outcome, slot] = find_best(patience);
        if (outcome == Outcome::out_of_memory && collapsed_at_ != std::int64_t(steps_.size())) {
            collapsed_at_ = std::int64_t(steps_.size());  // one slot per edge; results stay the same
            for (std::size_t number = 0; number < edges_.size(); ++number)
                if (!edges_[number].slots.empty()) make_root(static_cast<int>(number));
            return Outcome::paused;
        }
        if (outcome != Outcome::done) return outcome;
        if (slots_[slot].bound > largest) return Outcome::limit;
        if (!apply(slot)) return Outcome::broken;
    }
    return steps_.size() == n_edges_ ? Outcome::done : Outcome::limit;
}

/// The deletion that a slot holds: prune the inputs, and delete the edge in P.
bool Deletions::apply(int number) {
    const Slot slot = slots_[number];
    const int step = static_cast<int>(steps_.size()), edge = slot.edge;
    const auto [x, y] = std::pair(edges_[edge].x, edges_[edge].y);
    std::vector<std::pair<int, NodeSet>> lost;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (slot.cut[i] == 0) continue;
        if (cut_.find(inputs_[i], x, y, slot.f, slot.u) == 0) continue;
        const auto arcs = cut_.arcs(inputs_[i]);
        if (arcs.empty()) continue;
        lost.emplace_back(static_cast<int>(i), inputs_[i].remove(arcs));
        for (const auto& [a, b] : arcs) lost_arcs_.push_back({step, static_cast<int>(i), a, b});
    }
    invalidate(lost);
    auto look = pattern_.remove(x, y, slot.h);
    if (!look) return false;
    free_slots(edges_[edge]);
    edge_between(x, y) = edge_between(y, x) = -1;
    *look |= pattern_.pdag().adjacent(x) | pattern_.pdag().adjacent(y);
    for (int v : members(*look)) refresh_edges_into(v, x, y);
    steps_.push_back({x, y, slot.bound, slot.h, slot.f});
    return true;
}

/// Repair the slots of all edges u -> v and u - v after x and y were parted.
void Deletions::refresh_edges_into(int v, int x, int y) {
    const auto& p = pattern_.pdag();
    for (int u : members(p.pa[v] | p.ne[v])) {
        if (p.ne[v].has(u) && v < u)
            refresh(v, u, x, y);
        else
            refresh(u, v, x, y);
    }
}

/// Repair the slots of a -> b: new ones if NA or parents changed; otherwise only operators with both x
/// and y in NA \ H are valid no more.
void Deletions::refresh(int a, int b, int x, int y) {
    const int number = edge_between(a, b);
    Edge& edge = edges_[number];
    const auto na = pattern_.na(b, a);
    const auto other_parents = pattern_.pdag().pa[b] - a;
    if (edge.x != a || !equal(na, edge.na) || !equal(other_parents, edge.other_parents)) {
        edge.x = a, edge.y = b;
        edge.na = na, edge.other_parents = other_parents;
        make_root(number);
    } else if (edge.na.has(x) && edge.na.has(y)) {
        for (int slot : edge.slots)
            if (slots_[slot].f.has(x) && slots_[slot].f.has(y)) slots_[slot].die();
    }
}

}  // namespace fedbn
