// Splitting the slots of families, on an element about which the inputs disagree.
#include "consensus/deletions.hpp"

namespace fedbn {

namespace {
constexpr int kMostBlamed = 160;  // inputs that say on which element a family is split
}

/// Make the slot the one operator that leaves out just H; dead if NA \ H is no clique.
void Deletions::close(Slot& slot) {
    slot.f |= slot.u;
    slot.u.clear();
    slot.kind = Slot::Kind::operation;
    if (pattern_.is_clique(slot.f & edges_[slot.edge].na))
        appoint(slot);
    else
        slot.die();
}

/// Split a family into its operator H and its rest; a rest into S with and without one u. The part
/// that stays is in `slot`; the other is in a new slot, the result, or -1. Parts that hold no valid
/// operator are dead (Chickering: NA \ H is a clique).
int Deletions::split(int number) {
    if (slots_[number].kind == Slot::Kind::rest) return split_rest(number);
    if (count(slots_[number].h) >= k_max_) {
        forget(slots_[number]);
        close(slots_[number]);
        return -1;
    }
    const int made = copy(number);
    close(slots_[made]);
    if (!slots_[made].is_dead()) carry(number, made);
    slots_[number].kind = Slot::Kind::rest;
    slots_[number].whole = made;
    return made;
}

/// Put u into S in `slot`, and leave it out in the new slot that is returned.
int Deletions::split_rest(int number) {
    const int whole = slots_[number].whole, u = dividing_element(number, whole), made = copy(number);
    Slot &slot = slots_[number], &without = slots_[made];
    without.u.erase(u), without.h.insert(u);
    without.kind = Slot::Kind::family;
    if (!any(without.u) || count(without.h) >= k_max_)
        close(without);
    else
        appoint(without);
    if (!without.is_dead()) carry(number, made);
    keep_with(number, whole, u);
    slot.u.erase(u), slot.f.insert(u);
    if (!any(slot.u) || !pattern_.joins_all(u, slot.f & edges_[slot.edge].na))
        slot.die();
    else
        appoint(slot);
    return made;
}

/// Which values of a rest stay exact when u enters S, before it does: those of inputs in which u was
/// an ancestor already, and those that equal the cut of the operator H (`whole`), whose S is the
/// largest in the family.
void Deletions::keep_with(int number, int whole, int u) {
    Slot& slot = slots_[number];
    const auto [x, y] = std::pair(edges_[slot.edge].x, edges_[slot.edge].y);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const int value = slot.cut[i];
        if (value >= 0 && !inputs_[i].is_inside(u, x, y, slot.f)) change(slot, i, -1 - value);
        if (slot.cut[i] < 0 && slots_[whole].cut[i] == at_least(slot.cut[i]))
            change(slot, i, slots_[whole].cut[i]);
    }
}

/// The undecided element on which to split a rest.
///
/// If NA \ H is no clique: the one with most non-neighbours there. Otherwise the one that stands in the
/// way of most weight: over the inputs in which the operator H is known to cost more than the bound,
/// descendants of common children of x and y, which marry them when in S; if none, any element that is
/// no ancestor. `whole` is the slot of that operator.
int Deletions::dividing_element(int number, int whole) {
    const Slot& slot = slots_[number];
    score_.assign(n_, 0);
    const NodeSet in_s = slot.high() & edges_[slot.edge].na;
    if (!pattern_.is_clique(in_s)) {
        for (int u : members(slot.u)) score_[u] = count(in_s - pattern_.pdag().adjacent(u));
    } else {
        int blamed = 0;
        for (std::size_t i = 0; i < inputs_.size() && blamed < kMostBlamed; ++i) {
            const int cost = slots_[whole].cut[i], extra = cost - at_least(slot.cut[i]);
            if (cost < 0 || extra <= 0) continue;
            blame(inputs_[i], slot, weights_[i] * extra);
            ++blamed;
        }
    }
    int best = -1;
    for (int u : members(slot.u))
        if (best < 0 || score_[u] > score_[best]) best = u;
    return best;
}

/// Add `weight` to the undecided elements that make an input disagree with its bound: descendants of
/// common children of x and y; else what opens a path that F alone leaves closed; else any that is no
/// ancestor.
void Deletions::blame(const Input& g, const Slot& slot, std::int64_t weight) {
    const auto [x, y] = std::pair(edges_[slot.edge].x, edges_[slot.edge].y);
    bool found = false;
    for (int c : members(g.dag().ch[x] & g.dag().ch[y])) found = blame_below(g, slot, c, weight) || found;
    if (found || blame_path(g, slot, weight)) return;
    for (int u : members(slot.u - (g.ancestors(x) | g.ancestors(y)))) score_[u] += weight;
}

/// Add `weight` to the undecided descendants of c; whether there are any.
bool Deletions::blame_below(const Input& g, const Slot& slot, int c, std::int64_t weight) {
    const auto undecided = g.descendants(c) & slot.u;
    for (int u : members(undecided)) score_[u] += weight;
    return any(undecided);
}

/// Blame what opens a shortest path from x to y given F ∪ U; whether there is such a thing. An edge of
/// the path that is not there given F: an end or a common child of its ends enters the ancestral set
/// with its undecided descendants.
bool Deletions::blame_path(const Input& g, const Slot& slot, std::int64_t weight) {
    const auto [x, y] = std::pair(edges_[slot.edge].x, edges_[slot.edge].y);
    cut_.ask(x, y, slot.high(), NodeSet(n_));
    const auto path = cut_.path(g);
    bool found = false;
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
        const int c = path[k], v = path[k + 1];
        const NodeSet below_both = (g.dag().ch[v] | Single{v, words_for(n_)}) & (g.dag().ch[c] | Single{c, words_for(n_)});
        for (int child : members(below_both))
            if (!g.is_inside(child, x, y, slot.f)) found = blame_below(g, slot, child, weight) || found;
    }
    return found;
}

}  // namespace fedbn
