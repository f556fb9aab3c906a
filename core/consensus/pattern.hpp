// P, the CPDAG from which edges are deleted, and its operators Delete(x, y, H).
#pragma once

#include "graphs/dag.hpp"

namespace fedbn {

/// Chickering's Delete(x, y, H) in a CPDAG (2002): the edge between x and y goes; for every h in H
/// y - h becomes y -> h, and x - h, if undirected, x -> h. The CPDAG of a consistent extension, or
/// none where the operator is not valid.
std::optional<Pdag> after_delete(const Pdag& p, int x, int y, const NodeSet& h);

/// A CPDAG with a consistent extension at hand, while it loses edges.
class Pattern {
public:
    explicit Pattern(Dag extension);

    int n() const { return p_.n(); }
    const Pdag& pdag() const { return p_; }
    /// NA_yx: the neighbours of y that are adjacent to x.
    auto na(int y, int x) const { return p_.ne[y] & p_.adjacent(x); }
    /// Whether v is adjacent to every other one of the nodes.
    bool joins_all(int v, const NodeSet& nodes) const { return is_subset(nodes - v, p_.adjacent(v)); }
    bool is_clique(const NodeSet& nodes) const;

    /// Delete(x, y, H); the nodes whose parents or neighbours changed, or none if it is not valid.
    std::optional<NodeSet> remove(int x, int y, const NodeSet& h);

private:
    std::optional<NodeSet> label_anew(int x, int y, const NodeSet& h);
    NodeSet label_without(int x, int y);
    bool turn_edges_into(int v, const NodeSet& before, NodeSet& changed);
    void keep_order();

    Pdag p_;
    Dag dag_;
    std::vector<int> order_, place_;  // a topological order of the extension
};

/// A valid operator of P: NA_yx \ H is a clique; S = (NA_yx \ H) ∪ Pa(y) \ {x}.
struct Deletion {
    int x, y;
    NodeSet s, h;
};

/// All valid operators with |H| <= k_max, x < y for x - y, in the order (x, y); none where there are
/// more than `max_operators`, or too many cliques to look at.
std::optional<std::vector<Deletion>> valid_deletions(const Pdag& p, int k_max, std::size_t max_operators);

}  // namespace fedbn
