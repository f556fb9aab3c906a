// Orders of the nodes and the best families that they allow.
//
// Teyssier & Koller (2005), with the insertion by swaps of neighbours of Scanagatta et al. (2015). A
// swap changes what two nodes may have by one parent, so their families are looked up only where these
// have that parent, or may have it.
#pragma once

#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

class Ordering {
public:
    /// `first` [n + 1] has the families of v at first[v] ... first[v + 1] - 1, those of least cost first.
    Ordering(std::vector<int> first, std::vector<double> cost, NodeSets parents);

    int n() const { return static_cast<int>(first_.size()) - 1; }

    struct Fit {
        double cost;              // infinite if some node has no family
        std::vector<int> chosen;  // [node]: its family; -1 for that node and all after it
    };
    /// The best family of each node with parents before it.
    Fit fit(const std::vector<int>& order) const;

    /// Move single nodes to their best places until no move helps; returns the cost.
    double descend(std::vector<int>& order) const;

private:
    int none(int v) const { return first_[v + 1]; }  // stands for no family of v
    int next_fit(int family, int v, const NodeSet& placed) const;
    int better_with(int parent, int family, int v, const NodeSet& placed) const;
    int without(int parent, int family, int v, const NodeSet& placed) const;
    double cost_of(int family, int v) const;
    void fit_between(int from, int to, const std::vector<int>& order, std::vector<int>& chosen) const;
    double total(const std::vector<int>& order, const std::vector<int>& chosen) const;
    int best_place(int place, const std::vector<int>& order, const std::vector<int>& chosen) const;

    std::vector<int> first_;
    std::vector<double> cost_;
    NodeSets parents_;
    std::vector<int> first_with_, with_;  // the families that have a parent, ascending
};

}  // namespace fedbn
