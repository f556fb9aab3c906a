#include "graphs/dag.hpp"

namespace fedbn {

std::vector<int> topological_order(const Dag& dag) {
    std::vector<int> order, waiting(dag.n());
    order.reserve(dag.n());
    for (int v = 0; v < dag.n(); ++v) {
        waiting[v] = count(dag.pa[v]);
        if (!waiting[v]) order.push_back(v);
    }
    for (std::size_t head = 0; head < order.size(); ++head)
        for (int c : members(dag.ch[order[head]]))
            if (--waiting[c] == 0) order.push_back(c);
    return order;
}

void label_parents(const NodeSets& pa, NodeSets& compelled, std::span<const int> rank, int y) {
    NodeSet known(pa.size());
    const auto com = compelled[y];
    com.clear();
    while (true) {
        int x = -1;  // the last of the parents that are not labelled yet
        for (int p : members(pa[y] - known))
            if (x < 0 || rank[p] > rank[x]) x = p;
        if (x < 0) return;
        if (!is_subset(compelled[x], pa[y])) {
            com = pa[y];
            return;
        }
        com |= compelled[x];
        known |= compelled[x];
        if (any(pa[y] - pa[x] - x)) com |= pa[y] - known;
        known = pa[y];
    }
}

// Order-Edges and Label-Edges: edges x -> y are visited with y ascending and, for one y, x
// descending in a topological order. For the edge x -> y that is visited first and unlabelled: (a)
// if some w -> x is compelled and w is no parent of y, every edge into y is compelled, else w -> y
// is compelled; (b) if y has a parent z other than x that is no parent of x, x -> y and all
// unlabelled edges into y are compelled; else they all are reversible.
Pdag cpdag_of(const Dag& dag) {
    const int n = dag.n();
    const auto order = topological_order(dag);
    std::vector<int> rank(n);
    for (int i = 0; i < n; ++i) rank[order[i]] = i;
    NodeSets compelled(n, n);
    for (int y : order) label_parents(dag.pa, compelled, rank, y);
    NodeSets reversible(n, n);
    for (int v = 0; v < n; ++v) reversible[v] = dag.pa[v] - compelled[v];
    const auto back = reversible.transposed();
    for (int v = 0; v < n; ++v) reversible[v] |= back[v];
    auto children = compelled.transposed();
    return {std::move(compelled), std::move(children), std::move(reversible)};
}

namespace {

/// (a) x has no child left; (b) every undirected neighbour of x is adjacent to all other nodes
/// adjacent to x, inside the nodes that are left.
bool is_removable_sink(const Pdag& g, int x, const NodeSet& left) {
    if (any(g.ch[x] & left)) return false;
    for (int z : members(g.ne[x] & left))
        if (!is_subset(((g.pa[x] | g.ne[x]) & left) - z, g.adjacent(z))) return false;
    return true;
}

}  // namespace

// Takes the smallest removable sink, directs its undirected edges into it and removes it. Only
// neighbours of a removed node can become removable, so only they are looked at again.
std::optional<Dag> extension_of(const Pdag& g) {
    const int n = g.n();
    NodeSets pa = g.pa;
    NodeSet left = AllBelow{n}, look = AllBelow{n};
    for (int removed = 0; removed < n; ++removed) {
        int x = first(look);
        while (x >= 0 && !is_removable_sink(g, x, left)) {
            look.erase(x);
            x = first(look);
        }
        if (x < 0) return std::nullopt;
        look.erase(x);
        left.erase(x);
        pa[x] |= g.ne[x] & left;
        look |= (g.pa[x] | g.ne[x]) & left;
    }
    auto ch = pa.transposed();
    return Dag{std::move(pa), std::move(ch)};
}

std::vector<std::int32_t> moral_pairs(std::span<const std::int32_t> arcs, int n) {
    std::vector<std::vector<std::int32_t>> parents(n), joined(n);  // joined: to later nodes
    for (std::size_t k = 0; k < arcs.size(); k += 2) parents[arcs[k + 1]].push_back(arcs[k]);
    for (int y = 0; y < n; ++y)
        for (auto a : parents[y]) {
            joined[std::min(a, y)].push_back(std::max(a, y));
            for (auto b : parents[y])
                if (a < b) joined[a].push_back(b);
        }
    std::vector<std::int32_t> pairs;
    for (int a = 0; a < n; ++a) {
        std::ranges::sort(joined[a]);
        const auto twice = std::ranges::unique(joined[a]);
        joined[a].erase(twice.begin(), twice.end());
        for (auto b : joined[a]) pairs.insert(pairs.end(), {a, b});
    }
    return pairs;
}

NodeSets ancestors_of(const Dag& dag) {
    NodeSets ancestors(dag.n(), dag.n());
    for (int v : topological_order(dag)) {
        ancestors[v].insert(v);
        for (int p : members(dag.pa[v])) ancestors[v] |= ancestors[p];
    }
    return ancestors;
}

}  // namespace fedbn
