// DAGs, PDAGs and equivalence classes over sets of nodes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

struct Dag {
    NodeSets pa, ch;
    int n() const { return pa.size(); }
};

struct Pdag {
    NodeSets pa, ch, ne;
    int n() const { return pa.size(); }
    auto adjacent(int v) const { return pa[v] | ch[v] | ne[v]; }
};

/// First in, first out from the smallest indices.
std::vector<int> topological_order(const Dag& dag);

/// The CPDAG of a DAG (Chickering 1995).
Pdag cpdag_of(const Dag& dag);

/// compelled[y] := the compelled parents of y, from those of its parents; see `cpdag_of`.
/// rank: the place of every node in a topological order.
void label_parents(const NodeSets& pa, NodeSets& compelled, std::span<const int> rank, int y);

/// A consistent extension (Dor and Tarsi 1992), if there is one.
std::optional<Dag> extension_of(const Pdag& pdag);

/// The pairs a < b that the moral graph of a DAG joins, ascending. arcs: (parent, child).
std::vector<std::int32_t> moral_pairs(std::span<const std::int32_t> arcs, int n);

/// Ancestors of every node, itself included.
NodeSets ancestors_of(const Dag& dag);

}  // namespace fedbn
