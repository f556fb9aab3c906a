#include "graphs/knowledge.hpp"

#include <algorithm>

namespace fedbn {

bool Knowledge::says_nothing() const {
    const auto none = [](const NodeSets& sets) {
        return std::ranges::all_of(sets.bits(), [](Word word) { return word == 0; });
    };
    return none(forbidden) && none(required);
}

Knowledge nothing_known(int n) { return {NodeSets(n, n), NodeSets(n, n)}; }

bool keeps(const NodeSets& pa, const Knowledge& known) {
    for (int v = 0; v < pa.size(); ++v)
        if (any(pa[v] & known.forbidden[v]) || !is_subset(known.required[v], pa[v])) return false;
    return true;
}

namespace {

/// Direct what knowledge directs; nothing if an edge contradicts it.
std::optional<Pdag> direct_known(const Pdag& g, const Knowledge& known) {
    Pdag out = g;
    const auto wanted = [&](int u, int v) { return known.required[v].has(u) || known.forbidden[u].has(v); };
    for (int v = 0; v < g.n(); ++v) {
        if (any(g.pa[v] & known.forbidden[v])) return std::nullopt;
        if (!is_subset(known.required[v], g.pa[v] | g.ne[v])) return std::nullopt;
        for (int u : members(g.ne[v])) {
            if (!wanted(u, v)) continue;
            if (wanted(v, u)) return std::nullopt;
            out.pa[v].insert(u);
            out.ne[v].erase(u), out.ne[u].erase(v);
        }
    }
    out.ch = out.pa.transposed();
    return out;
}

/// Whether a new parent of some node is not adjacent to another of its parents.
bool has_new_collider(const Pdag& g, const NodeSets& pa) {
    for (int v = 0; v < g.n(); ++v)
        for (int u : members(pa[v] - g.pa[v]))
            if (!is_subset(pa[v] - u, g.adjacent(u))) return true;
    return false;
}

/// Whether a rule of Meek directs a - b as a -> b: 1. c -> a, c not adjacent to b. 2. a -> c -> b.
/// 3. a - c -> b and a - d -> b, c not adjacent to d. 4. a - d -> c -> b, a adjacent to c, d not to b.
bool is_directed_by_rules(const Pdag& g, int a, int b) {
    if (any(g.pa[a] - g.adjacent(b) - b) || any(g.ch[a] & g.pa[b])) return true;
    const NodeSet between = g.ne[a] & g.pa[b];
    for (int c : members(between))
        if (!is_subset(between - c, g.adjacent(c))) return true;
    for (int c : members(g.pa[b] & g.adjacent(a)))
        if (any((g.pa[c] & g.ne[a]) - g.adjacent(b) - b)) return true;
    return false;
}

}  // namespace

std::optional<Pdag> maximally_oriented(const Pdag& cpdag, const Knowledge& known) {
    if (!constrained_extension(cpdag, known)) return std::nullopt;
    Pdag g = *direct_known(cpdag, known);
    for (bool changed = true; changed;) {
        changed = false;
        for (int a = 0; a < g.n(); ++a) {
            const NodeSet open = g.ne[a];
            for (int b : members(open)) {
                if (!is_directed_by_rules(g, a, b)) continue;
                g.ne[a].erase(b), g.ne[b].erase(a);
                g.ch[a].insert(b), g.pa[b].insert(a);
                changed = true;
            }
        }
    }
    return g;
}

std::optional<Dag> constrained_extension(const Pdag& g, const Knowledge& known) {
    const auto directed = direct_known(g, known);
    if (!directed || has_new_collider(g, directed->pa)) return std::nullopt;
    return extension_of(*directed);
}

}  // namespace fedbn
