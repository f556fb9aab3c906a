// The slots of the Greedy Delete: what is cached of their cuts, and how it stays right.
#include "consensus/deletions.hpp"

namespace fedbn {

int Deletions::take_slot(int edge) {
    if (free_.empty()) return -1;
    const int slot = free_.back();
    free_.pop_back();
    slots_[slot].edge = edge;
    edges_[edge].slots.push_back(slot);
    return slot;
}

void Deletions::free_slots(Edge& edge) {
    for (int slot : edge.slots) {
        slots_[slot].edge = -1;
        slots_[slot].die();
        free_.push_back(slot);
    }
    edge.slots.clear();
}

/// Twice the slots; false where these and the lists of edges would exceed the memory.
bool Deletions::make_room() {
    const std::size_t bytes_of_a_slot = 2 * inputs_.size() + 4 * judges_.size() + 24 * words_for(n_) + 48;
    const std::size_t bytes_of_entries = waiting_.size() * sizeof(Waiting) + noted_ * sizeof(int);
    if (2 * capacity_ * bytes_of_a_slot + bytes_of_entries > memory_) return false;
    for (std::size_t slot = 2 * capacity_; slot-- > capacity_;) free_.push_back(static_cast<int>(slot));
    capacity_ *= 2;
    slots_.resize(capacity_);
    return true;
}

/// Replace the slots of an edge by the one slot that stands for all H. Its bounds are those of
/// adjacency, and what the operator that left nothing out, if known, says.
void Deletions::make_root(int number) {
    Edge& edge = edges_[number];
    int source = -1;
    for (int slot : edge.slots) {
        const Slot& s = slots_[slot];
        if (s.kind == Slot::Kind::operation && !s.is_dead() && !any(s.h)) source = slot;
    }
    int root = source >= 0 ? take_slot(number) : -1;
    if (root < 0) {
        source = -1;
        free_slots(edge);
        root = take_slot(number);
    }
    Slot& slot = slots_[root];
    slot.kind = any(edge.na) ? Slot::Kind::family : Slot::Kind::operation;
    slot.h = NodeSet(n_);
    slot.f = edge.other_parents;
    slot.u = edge.na;
    slot.unknown = inputs_.size();
    slot.first = 0;
    slot.cut.resize(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) slot.cut[i] = edge.joined.has(int(i)) ? -2 : -1;
    is_whole_ ? void(slot.bound = bound_of(slot)) : appoint(slot);
    if (source >= 0) {
        carry(source, root);
        std::erase(edge.slots, root);
        free_slots(edge);
        edge.slots.push_back(root);
    }
    wait(number);
}

/// A new slot of the same edge with the bounds of `slot`, none of them exact.
int Deletions::copy(int slot) {
    const int made = take_slot(slots_[slot].edge);
    slots_[made] = slots_[slot];
    forget(slots_[made]);
    return made;
}

/// Exact values of a family are only bounds for its parts.
void Deletions::forget(Slot& slot) {
    for (auto& cut : slot.cut) cut = static_cast<std::int16_t>(-1 - at_least(cut));
    slot.unknown = inputs_.size();
    slot.first = 0;
}

/// Ψ of what is known of the cuts, where all inputs judge: their weighted mean, or their lower weighted
/// median.
Ratio Deletions::bound_of(const Slot& slot) const {
    if (pooling_ == Pooling::median) return median_of(slot);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) sum += weights_[i] * at_least(slot.cut[i]);
    return {sum, total_};
}

Ratio Deletions::median_of(const Slot& slot) const {
    for (std::int64_t value = 0;; ++value) {
        std::int64_t below = 0;
        for (std::size_t i = 0; i < inputs_.size(); ++i)
            if (at_least(slot.cut[i]) <= value) below += weights_[i];
        if (2 * below >= total_) return {value * total_, total_};
    }
}

/// Write a cut, and keep bound and number of unknown ones.
void Deletions::change(Slot& slot, std::size_t i, int cut) {
    const int before = slot.cut[i], gain = at_least(cut) - at_least(before);
    slot.cut[i] = static_cast<std::int16_t>(cut);
    if (cut < 0) slot.first = std::min(slot.first, i);
    if (!is_heard(slot, i)) return;
    slot.unknown += (cut < 0) - (before < 0);
    if (pooling_ != Pooling::median && !slot.is_divided)
        slot.bound.sum += weights_[i] * gain;
    else if (gain)
        slot.bound = is_whole_ ? median_of(slot) : least_of(slot);
}

/// Whether the first (x, y, |H|, H) that `earlier` holds comes before that of `later`.
bool Deletions::holds_later(int later, int earlier) const {
    const Slot &left = slots_[earlier], &right = slots_[later];
    const Edge &p = edges_[left.edge], &q = edges_[right.edge];
    if (left.edge != right.edge) return std::pair(p.x, p.y) < std::pair(q.x, q.y);
    const auto size = [](const Slot& slot) { return count(slot.h) + (slot.kind == Slot::Kind::rest); };
    if (const int a = size(left), b = size(right); a != b) return a < b;
    const auto first_h = [](const Slot& slot) {
        NodeSet h = slot.h;
        if (slot.kind == Slot::Kind::rest) h.insert(first(slot.u));
        return h;
    };
    const NodeSet h = first_h(left), other = first_h(right);
    const int differ = first((h - other) | (other - h));
    return differ >= 0 && h.has(differ);
}

/// Bound 5: what is known of the cuts of `source`, for another slot of the same edge. A cut of 0 in
/// the larger graph is one in the smaller, too. Where bound 4 may say more of the target than of the
/// source, it is asked again.
void Deletions::carry(int from, int to) {
    const Slot& source = slots_[from];
    Slot& target = slots_[to];
    const int x = edges_[source.edge].x, y = edges_[source.edge].y;
    const NodeSet old_only = source.f - target.f, new_only = target.f - source.f;
    const NodeSet new_high = target.high() - source.high(), old_high = source.high() - target.high();
    const bool certain = count(target.u) > k_max_ - count(target.h);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const int cut = source.cut[i], known = target.cut[i];
        if (known >= 0 || (cut < 0 && cut >= known)) continue;
        const Input& g = inputs_[i];
        const auto one_is = [&](bool inside, const NodeSet& nodes, const NodeSet& given) {
            for (int v : members(nodes))
                if (g.is_inside(v, x, y, given) == inside) return true;
            return false;
        };
        if (cut != 0 && (one_is(false, old_only, target.f) || one_is(true, new_high, source.f))) continue;
        const bool exact = cut >= 0 && !one_is(false, new_only, source.f) && !one_is(true, old_high, target.f);
        const int bound = std::max(at_least(cut), at_least(known));
        change(target, i, exact && !certain ? bound : -1 - bound);
    }
}

/// Bound 3: cached values that the lost arcs of an input touch become bounds. lost: the inputs, and
/// the descendants, before, of the heads of their arcs.
void Deletions::invalidate(std::span<const std::pair<int, NodeSet>> lost) {
    const int step = int(steps_.size());
    NodeSet all(n_);
    for (const auto& [i, below] : lost) all |= below;
    for (int v : members(all))
        for (int number : edges_at_[v]) {
            if (looked_at_[number] == step) continue;
            looked_at_[number] = step;
            bool is_less = false;
            for (int slot : edges_[number].slots) is_less = invalidate(slots_[slot], lost) || is_less;
            if (is_less) wait(number);
        }
}

/// The same for one slot; whether its bound is another now.
bool Deletions::invalidate(Slot& slot, std::span<const std::pair<int, NodeSet>> lost) {
    if (slot.is_dead()) return false;
    const int x = edges_[slot.edge].x, y = edges_[slot.edge].y;
    const Ratio before = slot.bound;
    for (const auto& [i, below] : lost) {
        const int value = slot.cut[i];
        if (value == 0 || value == -1) continue;
        const int joined = edges_[slot.edge].joined.has(i);
        if ((value == 1 && joined) || !(below.has(x) || below.has(y) || any(below & slot.high()))) continue;
        change(slot, i, -1 - joined);
    }
    return slot.bound != before;
}

/// Replace bounds by minimum cuts, input by input, until the bound exceeds `limit`; cuts made.
std::int64_t Deletions::evaluate(int number, Ratio limit) {
    Slot& slot = slots_[number];
    const auto [x, y] = std::pair(edges_[slot.edge].x, edges_[slot.edge].y);
    cut_.ask_family(x, y, slot.f, slot.u, k_max_ - count(slot.h));
    std::int64_t made = 0;
    for (std::size_t& i = slot.first; i < inputs_.size(); ++i) {
        if (slot.cut[i] >= 0 || !is_heard(slot, i)) continue;
        if (slot.bound > limit) break;
        change(slot, i, cut_.find_size(inputs_[i], at_least(slot.cut[i]), largest_cut_));
        ++made;
    }
    return made;
}

std::vector<Deletions::Known> Deletions::known() const {
    std::vector<Known> found;
    for (const Slot& slot : slots_)
        if (slot.edge >= 0)
            found.push_back({edges_[slot.edge].x, edges_[slot.edge].y, slot.h, slot.f, slot.u, slot.is_dead(),
                             slot.cut});
    return found;
}

}  // namespace fedbn
