#include "consensus/deletions.hpp"

#include <algorithm>

namespace fedbn {

namespace {

constexpr Ratio kEveryCut{1, 0};  // no bound is above it
constexpr std::size_t kStale = 64;  // entries that may be stale whatever the number of edges

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
      edges_at_(n_),
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
        for (int x : members(p.pa[y] | (p.ne[y] & AllBelow{y}))) make_edge(x, y);
}

void Deletions::make_edge(int x, int y) {
    const int number = static_cast<int>(edges_.size());
    edge_of_[pair(x, y)] = number;
    edges_.push_back({x, y, pattern_.na(y, x), pattern_.pdag().pa[y] - x, {}, NodeSet(int(inputs_.size())), false, {}});
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (inputs_[i].joins(x, y)) edges_.back().joined.insert(int(i));
    looked_at_.push_back(-1);
    needed_ += count(nodes_of(edges_.back()));
    note_nodes(number, nodes_of(edges_.back()));
    make_root(number);
}

/// Let lost arcs that touch one of these nodes find the edge.
void Deletions::note_nodes(int edge, const NodeSet& nodes) {
    for (int v : members(nodes)) edges_at_[v].push_back(edge);
    noted_ += count(nodes);
}

/// The ends of an edge and what its sets are made of.
NodeSet Deletions::nodes_of(const Edge& edge) const {
    NodeSet nodes = edge.na | edge.other_parents;
    nodes.insert(edge.x), nodes.insert(edge.y);
    return nodes;
}

/// Where most entries are of edges that have left, or of what edges were before, keep the others alone.
void Deletions::forget_stale_entries() {
    if (noted_ > 2 * needed_ + kStale) {
        for (auto& at : edges_at_) at.clear();
        noted_ = 0;
        for (std::size_t number = 0; number < edges_.size(); ++number)
            if (!edges_[number].slots.empty()) note_nodes(int(number), nodes_of(edges_[number]));
    }
    if (waiting_.size() > 2 * (n_edges_ - steps_.size()) + kStale) {
        std::vector<Waiting> entries;
        for (std::size_t number = 0; number < edges_.size(); ++number)
            if (const Edge& edge = edges_[number]; edge.is_waiting)
                entries.push_back({edge.bound, edge.x, edge.y, int(number)});
        waiting_ = decltype(waiting_)(std::greater<Waiting>(), std::move(entries));
    }
}

/// Put an edge into its queue again, with the bound that it has now.
void Deletions::wait(int number) {
    Edge& edge = edges_[number];
    edge.is_waiting = false;
    edge.least_exact = kEveryCut;
    if (is_required(edge)) return;
    for (int number : edge.slots) {
        const Slot& slot = slots_[number];
        if (slot.is_dead()) continue;
        if (is_exact(slot)) edge.least_exact = std::min(edge.least_exact, slot.bound);
        if (edge.is_waiting && slot.bound >= edge.bound) continue;
        edge.bound = slot.bound;
        edge.is_waiting = true;
    }
    if (edge.is_waiting) waiting_.push({edge.bound, edge.x, edge.y, number});
}

/// The first of the edges that wait, or null. Entries of edges that have left, turned or got another
/// bound are dropped.
const Deletions::Waiting* Deletions::next_edge() {
    while (!waiting_.empty()) {
        const Waiting& top = waiting_.top();
        const Edge& edge = edges_[top.edge];
        if (edge.is_waiting && edge.bound == top.bound && edge.x == top.x && edge.y == top.y) return &top;
        waiting_.pop();
    }
    return nullptr;
}

/// Slots by their order as it was when they came in. Bounds only grow, so one whose bound has grown
/// since then is put back.
class Deletions::Queue {
public:
    explicit Queue(const Deletions& search) : entries_(After{search}) {}
    void push(int slot, Ratio bound) { entries_.push({bound, slot}); }
    bool empty() const { return entries_.empty(); }
    Ratio least() const { return entries_.top().bound; }
    int top() const { return entries_.top().slot; }
    int pop() {
        const int slot = top();
        entries_.pop();
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
    std::priority_queue<Entry, std::vector<Entry>, After> entries_;
};

bool Deletions::is_exact(const Slot& slot) const { return slot.kind == Slot::Kind::operation && !slot.unknown; }

/// Whether computing more of its cuts would not help a family.
bool Deletions::is_to_be_split(const Slot& slot) const {
    if (slot.kind == Slot::Kind::operation) return false;
    return !slot.unknown || count(slot.h) >= k_max_;
}

/// The best operator. Edges whose slots were looked at wait again afterwards.
std::pair<Deletions::Outcome, int> Deletions::find_best(std::int64_t patience) {
    brought_.clear();
    const auto found = search_slots(patience);
    for (int edge : brought_) wait(edge);
    return found;
}

/// Let the slots of all edges in that come before what is on top of the queue.
void Deletions::bring_slots(Queue& queue) {
    while (const Waiting* next = next_edge()) {
        if (!queue.empty()) {
            const Edge& edge = edges_[slots_[queue.top()].edge];
            if (!(Waiting{queue.least(), edge.x, edge.y, -1} > *next)) return;
        }
        const int number = next->edge;
        waiting_.pop();
        edges_[number].is_waiting = false;
        brought_.push_back(number);
        for (int slot : edges_[number].slots)
            if (!slots_[slot].is_dead()) queue.push(slot, slots_[slot].bound);
    }
}

/// The search ends at the first operator on top of the queue that is exact: no slot that is left, and no
/// edge that waits, can hold one before it in the order (Ψ, x, y, |H|, H). A slot on top gets cuts until
/// its bound is above the least Ψ that is known of an operator: few will be below it in the end.
std::pair<Deletions::Outcome, int> Deletions::search_slots(std::int64_t patience) {
    Queue queue(*this);
    Ratio least_exact = kEveryCut;
    for (const Edge& edge : edges_)
        if (edge.is_waiting) least_exact = std::min(least_exact, edge.least_exact);
    for (bring_slots(queue); !queue.empty(); bring_slots(queue)) {
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
            const int made = split(top);
            if (made >= 0 && !slots_[made].is_dead()) queue.push(made, slots_[made].bound);
        } else {
            Ratio limit = kEveryCut;
            if (!queue.empty()) limit = queue.least();
            if (const Waiting* next = next_edge(); next && next->bound < limit) limit = next->bound;
            if (least_exact < kEveryCut) limit = std::max(limit, least_exact);
            patience -= evaluate(top, limit);
            if (is_exact(slots_[top])) least_exact = std::min(least_exact, slots_[top].bound);
        }
        if (!slots_[top].is_dead()) queue.push(top, slots_[top].bound);
    }
    return {is_free_ ? Outcome::broken : Outcome::barred, -1};
}

bool Deletions::is_required(const Edge& edge) const {
    if (is_free_) return false;
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
    cut_.ask(x, y, slot.f, slot.u);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        if (slot.cut[i] == 0) continue;
        if (cut_.find(inputs_[i]) == 0) continue;
        const auto arcs = cut_.arcs(inputs_[i]);
        if (arcs.empty()) continue;
        lost.emplace_back(static_cast<int>(i), inputs_[i].remove(arcs));
        for (const auto& [a, b] : arcs) {
            lost_arcs_.push_back({step, static_cast<int>(i), a, b});
            if (const auto of = edge_of_.find(pair(a, b)); of != edge_of_.end()) edges_[of->second].joined.erase(int(i));
        }
    }
    invalidate(lost);
    auto look = pattern_.remove(x, y, slot.h);
    if (!look) return false;
    free_slots(edges_[edge]);
    needed_ -= count(nodes_of(edges_[edge]));
    edges_[edge].is_waiting = false;
    edge_of_.erase(pair(x, y));
    *look |= pattern_.pdag().adjacent(x) | pattern_.pdag().adjacent(y);
    for (int v : members(*look)) refresh_edges_into(v, x, y);
    steps_.push_back({x, y, slot.bound, {}, {}});
    list(slot.h, steps_.back().h);
    if (!is_whole_) list(slot.f, steps_.back().s);
    forget_stale_entries();
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
    const int number = edge_of_.at(pair(a, b));
    Edge& edge = edges_[number];
    const auto na = pattern_.na(b, a);
    const auto other_parents = pattern_.pdag().pa[b] - a;
    if (edge.x != a || !equal(na, edge.na) || !equal(other_parents, edge.other_parents)) {
        const NodeSet before = nodes_of(edge);
        edge.x = a, edge.y = b;
        edge.na = na, edge.other_parents = other_parents;
        const NodeSet now = nodes_of(edge);
        note_nodes(number, now - before);
        needed_ += count(now) - count(before);
        make_root(number);
    } else if (edge.na.has(x) && edge.na.has(y)) {
        for (int slot : edge.slots)
            if (slots_[slot].f.has(x) && slots_[slot].f.has(y)) slots_[slot].die();
    }
}

}  // namespace fedbn
