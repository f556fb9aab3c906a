#include "consensus/pattern.hpp"

namespace fedbn {

namespace {

constexpr std::size_t kVisitsPerOperator = 32;  // cliques that are looked at for each that may be found

/// A DAG of the class that Delete(x, y, H) leads to.
std::optional<Dag> extension_without(Pdag g, int x, int y, const NodeSet& h) {
    g.pa[y].erase(x), g.ch[x].erase(y);
    g.ne[y].erase(x), g.ne[x].erase(y);
    for (int c : members(h))
        for (int p : {x, y})
            if (g.ne[p].has(c)) {
                g.ne[p].erase(c), g.ne[c].erase(p);
                g.ch[p].insert(c), g.pa[c].insert(p);
            }
    return extension_of(g);
}

}  // namespace

std::optional<Pdag> after_delete(const Pdag& p, int x, int y, const NodeSet& h) {
    const auto dag = extension_without(p, x, y, h);
    if (!dag) return std::nullopt;
    return cpdag_of(*dag);
}

Pattern::Pattern(Dag extension) : p_(cpdag_of(extension)), dag_(std::move(extension)), place_(dag_.n()) {
    keep_order();
}

void Pattern::keep_order() {
    order_ = topological_order(dag_);
    for (int i = 0; i < n(); ++i) place_[order_[i]] = i;
}

bool Pattern::is_clique(const NodeSet& nodes) const {
    for (int v : members(nodes))
        if (!joins_all(v, nodes)) return false;
    return true;
}

std::optional<NodeSet> Pattern::remove(int x, int y, const NodeSet& h) {
    if (any(na(y, x))) return label_anew(x, y, h);
    return label_without(x, y);
}

/// From a new extension.
std::optional<NodeSet> Pattern::label_anew(int x, int y, const NodeSet& h) {
    auto dag = extension_without(p_, x, y, h);
    if (!dag) return std::nullopt;
    Pdag after = cpdag_of(*dag);
    NodeSet changed(n());
    for (int v = 0; v < n(); ++v)
        if (!equal(after.pa[v], p_.pa[v]) || !equal(after.ne[v], p_.ne[v])) changed.insert(v);
    p_ = std::move(after);
    dag_ = std::move(*dag);
    keep_order();
    return changed;
}

/// With NA_yx empty every common child of x and y in the extension is one in P, so the extension
/// without the edge extends P without it. Labels change only where those of parents do, in
/// topological order.
NodeSet Pattern::label_without(int x, int y) {
    const auto [tail, head] = dag_.pa[y].has(x) ? std::pair(x, y) : std::pair(y, x);
    dag_.pa[head].erase(tail), dag_.ch[tail].erase(head);
    for (auto* part : {&p_.pa, &p_.ch, &p_.ne}) (*part)[x].erase(y), (*part)[y].erase(x);
    NodeSet changed(n()), dirty = dag_.ch[head];
    changed.insert(x), changed.insert(y);
    dirty.insert(head);
    for (int place = place_[head]; place < n(); ++place) {
        const int v = order_[place];
        if (!dirty.has(v)) continue;
        const NodeSet before = p_.pa[v];
        label_parents(dag_.pa, p_.pa, place_, v);
        if (turn_edges_into(v, before, changed)) dirty |= dag_.ch[v];
    }
    return changed;
}

/// Children and neighbours in P where the compelled parents of v are not those `before`.
bool Pattern::turn_edges_into(int v, const NodeSet& before, NodeSet& changed) {
    const NodeSet compelled = p_.pa[v] - before, opened = before - p_.pa[v];
    for (int u : members(compelled)) {
        p_.ch[u].insert(v);
        p_.ne[u].erase(v), p_.ne[v].erase(u);
    }
    for (int u : members(opened)) {
        p_.ch[u].erase(v);
        p_.ne[u].insert(v), p_.ne[v].insert(u);
    }
    if (!any(compelled | opened)) return false;
    changed |= compelled | opened;
    changed.insert(v);
    return true;
}

namespace {

/// Cliques of NA_yx of at least so many elements: each grows by elements larger than all that it
/// has, so it is met once; one that cannot become large enough is not followed.
class CliquesOf {
public:
    CliquesOf(const Pdag& p, const NodeSet& na, int least) : p_(p), least_(least) {
        stack_.push_back({NodeSet(p.n()), na});
    }
    /// The next one, of whatever size; nullptr after the last. Every call is a visit.
    const NodeSet* next() {
        if (begun_) grow();
        begun_ = true;
        return stack_.empty() ? nullptr : &stack_.back().has;
    }

private:
    struct Clique {
        NodeSet has, may;  // its elements, and those that it may still get
    };

    /// Replace the clique on top by those with one more element.
    void grow() {
        Clique top = std::move(stack_.back());
        stack_.pop_back();
        for (int v = first(top.may); v >= 0; v = first(top.may)) {
            top.may.erase(v);
            Clique larger{top.has, top.may & p_.adjacent(v)};
            larger.has.insert(v);
            if (count(larger.has | larger.may) >= least_) stack_.push_back(std::move(larger));
        }
    }

    const Pdag& p_;
    int least_;
    bool begun_ = false;
    std::vector<Clique> stack_;
};

}  // namespace

std::optional<std::vector<Deletion>> valid_deletions(const Pdag& p, int k_max, std::size_t max_operators) {
    std::vector<Deletion> found;
    std::size_t visits = 0;
    for (int x = 0; x < p.n(); ++x)
        for (int y = 0; y < p.n(); ++y) {
            if (!p.pa[y].has(x) && !(x < y && p.ne[y].has(x))) continue;
            const NodeSet na = p.ne[y] & p.adjacent(x);
            const int least = count(na) - k_max;
            CliquesOf cliques(p, na, least);
            while (const NodeSet* clique = cliques.next()) {
                ++visits;
                if (count(*clique) >= least) {
                    if (found.size() == max_operators) return std::nullopt;
                    NodeSet s = *clique | p.pa[y];
                    s.erase(x);
                    found.push_back({x, y, std::move(s), na - *clique});
                }
                if (visits > kVisitsPerOperator * max_operators) return std::nullopt;
            }
        }
    return found;
}

}  // namespace fedbn
