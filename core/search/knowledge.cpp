#include "search/knowledge.hpp"

namespace fedbn {

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

}  // namespace

std::optional<Dag> constrained_extension(const Pdag& g, const Knowledge& known) {
    const auto directed = direct_known(g, known);
    if (!directed || has_new_collider(g, directed->pa)) return std::nullopt;
    return extension_of(*directed);
}

}  // namespace fedbn
