// An equivalence class: its CPDAG, and a DAG of it that is carried along.
#pragma once

#include "graphs/dag.hpp"

namespace fedbn {

enum class Kind { insert, remove, turn };
inline constexpr int kKinds = 3;

/// Insert(x, y, T), Delete(x, y, H) or Turn(x, y, C) (Chickering 2002, Hauser & Bühlmann 2012).
struct Operator {
    Kind kind;
    int y, x;
    NodeSet set;  // T, H or C
    double gain = 0;
    std::int64_t number = 0;  // in the order in which operators were found
    bool barred = false;    // background knowledge forbids it in the present graph
    std::vector<int> path;  // one that made it invalid, if it is short
};

class ClassGraph {
public:
    explicit ClassGraph(Dag start);

    int n() const { return dag.n(); }
    /// NA_yx, the neighbours of y that are adjacent to x.
    auto na(int y, int x) const { return cpdag.ne[y] & adj[x]; }

    /// Move to the class that an operator leads to; false if it was not valid.
    bool apply(const Operator& op);
    /// Make the DAG the one that depends on the class alone; false for a bug.
    bool settle();

    Dag dag;
    Pdag cpdag;
    NodeSets adj;

private:
    std::vector<int> beginning_of_order(const Operator& op) const;
    bool put_component_in_order(std::span<const int> start);
    NodeSet undirect_component(int v);
    int most_preceded(const NodeSet& waiting) const;
    bool is_preceded_by_clique(int v) const;
    bool change_edge(const Operator& op);
    bool reaches(int source, int target) const;

    std::vector<int> preceding_, rank_;  // of the chain component that is put in order
};

}  // namespace fedbn
