#include "fusion/minimal_imap.hpp"

#include "interrupt.hpp"

namespace fedbn {

MinimalImap::MinimalImap(const Dag& dag)
    : ancestors_(ancestors_of(dag)), before_(dag.n(), dag.n()), parents_(dag.n(), dag.n()) {
    for (int v = 0; v < dag.n(); ++v) before_[v].insert(v);
}

const NodeSets& MinimalImap::under(const Dag& dag, std::span<const int> order) {
    NodeSet before(dag.n()), inside(dag.n());
    for (int v : order) {
        inside |= ancestors_[v];
        if (!equal(before_[v], before)) {
            notice_interrupt();
            find_parents(dag, v, before, inside);
            before_[v] = before;
        }
        before.insert(v);
    }
    return parents_;
}

// w is a parent of v iff some path v..w in the moral graph of An(pred(v) + v), `inside`, has no inner
// node in pred(v), `before`: a flood from v through the others collects the predecessors that it
// touches.
void MinimalImap::find_parents(const Dag& dag, int v, const NodeSet& before, const NodeSet& inside) {
    NodeSet row(dag.n()), seen = Single{v, before.words()}, look = seen;
    parents_[v].clear();
    for (int u = v; u >= 0; u = first(look)) {
        look.erase(u);
        const auto children = dag.ch[u] & inside;
        row = dag.pa[u] | children;
        for (int c : members(children)) row |= dag.pa[c];
        parents_[v] |= row & before;
        row -= before | seen;
        look |= row;
        seen |= row;
    }
}

}  // namespace fedbn
