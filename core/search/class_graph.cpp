#include "search/class_graph.hpp"

namespace fedbn {

ClassGraph::ClassGraph(Dag start)
    : dag(std::move(start)),
      cpdag(cpdag_of(dag)),
      adj(dag.n(), dag.n()),
      preceding_(dag.n()),
      rank_(dag.n()) {
    for (int v = 0; v < n(); ++v) adj[v] = cpdag.adjacent(v);
}

bool ClassGraph::apply(const Operator& op) {
    const bool turned_back = op.kind == Kind::turn && !cpdag.ne[op.y].has(op.x);  // y -> x becomes x -> y
    if (!put_component_in_order(beginning_of_order(op))) return false;
    if (turned_back && !put_component_in_order({&op.x, 1})) return false;
    if (!change_edge(op)) return false;
    cpdag = cpdag_of(dag);
    return true;
}

/// First the clique C of neighbours of y that become its parents: NA_yx ∪ T of Insert, NA_yx \ H of
/// Delete, C of Turn. Then y, with an undirected neighbour x before it in a Delete and after it in
/// a Turn.
std::vector<int> ClassGraph::beginning_of_order(const Operator& op) const {
    NodeSet clique = op.set;
    if (op.kind == Kind::insert) clique |= na(op.y, op.x);
    if (op.kind == Kind::remove) clique = na(op.y, op.x) - op.set;
    std::vector<int> start;
    list(clique, start);
    const bool undirected = cpdag.ne[op.y].has(op.x);
    if (op.kind == Kind::remove && undirected) start.push_back(op.x);
    start.push_back(op.y);
    if (op.kind == Kind::turn && undirected) start.push_back(op.x);
    return start;
}

/// Insert, delete or turn the edge in the DAG; false if a cycle would close.
bool ClassGraph::change_edge(const Operator& op) {
    const auto [x, y] = std::pair(op.x, op.y);
    if (op.kind == Kind::remove) {
        dag.pa[y].erase(x), dag.ch[x].erase(y);
        adj[y].erase(x), adj[x].erase(y);
        return true;
    }
    if (op.kind == Kind::turn) dag.pa[x].erase(y), dag.ch[y].erase(x);
    if (reaches(y, x)) return false;
    dag.pa[y].insert(x), dag.ch[x].insert(y);
    adj[y].insert(x), adj[x].insert(y);
    return true;
}

bool ClassGraph::reaches(int source, int target) const {
    NodeSet seen(n());
    seen.insert(source);
    std::vector<int> queue{source};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const int u = queue[head];
        if (u == target) return true;
        for (int v : members(dag.ch[u] - seen)) queue.push_back(v);
        seen |= dag.ch[u];
    }
    return false;
}

/// Direct a chain component in the DAG by an order that begins with `start`; the rest follows by
/// maximum cardinality (smallest index first). False unless the earlier neighbours of every node
/// are a clique, that is, unless the order is perfect.
bool ClassGraph::put_component_in_order(std::span<const int> start) {
    NodeSet waiting = undirect_component(start[0]);
    const int size = count(waiting);
    for (int position = 0; position < size; ++position) {
        const int v = position < int(start.size()) ? start[position] : most_preceded(waiting);
        waiting.erase(v);
        rank_[v] = position;
        if (!is_preceded_by_clique(v)) return false;
        for (int u : members(cpdag.ne[v] & waiting)) {
            dag.ch[v].insert(u), dag.pa[u].insert(v);
            ++preceding_[u];
        }
    }
    return true;
}

/// The chain component of v; its edges are taken out of the DAG.
NodeSet ClassGraph::undirect_component(int v) {
    NodeSet component(n());
    component.insert(v);
    std::vector<int> queue{v};
    for (std::size_t head = 0; head < queue.size(); ++head) {
        const int u = queue[head];
        preceding_[u] = 0;
        for (int w : members(cpdag.ne[u] - component)) queue.push_back(w);
        component |= cpdag.ne[u];
        dag.pa[u] -= cpdag.ne[u];
        dag.ch[u] -= cpdag.ne[u];
    }
    return component;
}

/// The node that waits with most neighbours in front of it, the smallest of them.
int ClassGraph::most_preceded(const NodeSet& waiting) const {
    int best = -1;
    for (int u : members(waiting))
        if (best < 0 || preceding_[u] > preceding_[best]) best = u;
    return best;
}

/// Whether the neighbours in front of v are adjacent to the last of them; as this holds for every
/// node, they are a clique.
bool ClassGraph::is_preceded_by_clique(int v) const {
    const auto preceding = cpdag.ne[v] & dag.pa[v];
    int last = -1;
    for (int u : members(preceding))
        if (last < 0 || rank_[u] > rank_[last]) last = u;
    return last < 0 || is_subset(preceding - last, adj[last]);
}

bool ClassGraph::settle() {
    NodeSet done(n());
    for (int v = 0; v < n(); ++v) {
        if (done.has(v)) continue;
        done |= undirect_component(v);
        if (!put_component_in_order({&v, 1})) return false;
    }
    return true;
}

}  // namespace fedbn
