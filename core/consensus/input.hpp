// An input while it loses arcs: what follows from its arcs, and its minimum cuts.
#pragma once

#include <span>
#include <vector>

#include "graphs/dag.hpp"

namespace fedbn {

struct Arc {
    int tail, head;
    bool operator==(const Arc&) const = default;
};

class Input {
public:
    explicit Input(Dag dag);

    int n() const { return dag_.n(); }
    const Dag& dag() const { return dag_; }
    SetView ancestors(int v) const { return ancestors_[v]; }    // itself included
    SetView descendants(int v) const { return descendants_[v]; }  // itself included
    SetView moral(int v) const { return moral_[v]; }            // neighbours in the moral graph
    bool joins(int x, int y) const { return dag_.pa[x].has(y) || dag_.pa[y].has(x); }

    /// Whether v is in An({x, y} + given).
    bool is_inside(int v, int x, int y, const Set auto& given) const {
        const SetView below = descendants_[v];
        return below.has(x) || below.has(y) || any(below & given);
    }

    /// Take arcs out; returns the descendants, before, of their heads.
    NodeSet remove(std::span<const Arc> arcs);

private:
    void renew_ancestors(int v);

    Dag dag_;
    NodeSets ancestors_, descendants_, moral_;
    std::vector<int> topological_;
};

/// Neighbours of v in the moral graph of a DAG.
void moral_row(const Dag& dag, int v, SetRef row);

}  // namespace fedbn
