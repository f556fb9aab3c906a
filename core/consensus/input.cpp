#include "consensus/input.hpp"

#include <utility>

namespace fedbn {

void moral_row(const Dag& dag, int v, SetRef row) {
    row = dag.pa[v] | dag.ch[v];
    for (int c : members(dag.ch[v])) row |= dag.pa[c];
    row.erase(v);
}

Input::Input(Dag dag)
    : dag_(std::move(dag)),
      ancestors_(ancestors_of(dag_)),
      descendants_(ancestors_.transposed()),
      moral_(n(), n()),
      topological_(topological_order(dag_)) {
    for (int v = 0; v < n(); ++v) moral_row(dag_, v, moral_[v]);
}

NodeSet Input::remove(std::span<const Arc> arcs) {
    NodeSet below(n()), stale(n());
    for (const auto& [a, b] : arcs) below |= std::as_const(descendants_)[b];
    for (const auto& [a, b] : arcs) {
        stale |= dag_.pa[b];
        stale.insert(b);
        dag_.pa[b].erase(a), dag_.ch[a].erase(b);
    }
    for (int v : members(stale)) moral_row(dag_, v, moral_[v]);
    for (int v : topological_)
        if (below.has(v)) renew_ancestors(v);
    return below;
}

/// Ancestors of v from those of its parents; v is no descendant of what is no ancestor any more.
void Input::renew_ancestors(int v) {
    const NodeSet before = std::as_const(ancestors_)[v];
    ancestors_[v].clear();
    ancestors_[v].insert(v);
    for (int p : members(dag_.pa[v])) ancestors_[v] |= ancestors_[p];
    for (int u : members(before - ancestors_[v])) descendants_[u].erase(v);
}

}  // namespace fedbn
