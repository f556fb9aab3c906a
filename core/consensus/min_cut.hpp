// The criticality of one edge in one input: a minimum cut in a moral ancestral graph.
//
// ψ(x, y, S) is the least number of edges whose removal parts x from y in moral(An({x, y} + S)) - S
// (unit capacities). Among the minimum cuts the one nearest to y is taken: the edges that leave the
// set which y reaches in the residual graph of a maximum flow; it is unique.
#pragma once

#include "consensus/input.hpp"

namespace fedbn {

class MinCut {
public:
    explicit MinCut(int n);

    /// The minimum cut between x and y in moral(An({x, y} + low)) - (low + free).
    int find(const Input& g, int x, int y, const Set auto& low, const Set auto& free) {
        fill_inside(g, x, y, low);
        return find_inside(g, x, y, low, free);
    }
    /// The same for a family, of which at most `more` of the undecided elements `free` are left out of
    /// S: with the nodes that are in An({x, y} + S) for every S (bounds 1 and 4 of `deletions.hpp`).
    int find_least(const Input& g, int x, int y, const Set auto& low, const Set auto& free, int more) {
        fill_inside(g, x, y, low);
        if (count(free) > more)
            for (int v = 0; v < g.n(); ++v)
                if (count(g.descendants(v) & free) > more) inside_.insert(v);
        return find_inside(g, x, y, low, free);
    }
    /// Nodes of a path from y to x in the graph of `find`, x first; empty where there is none.
    std::vector<int> path(const Input& g, int x, int y, const Set auto& low, const Set auto& free) {
        if (find(g, x, y, low, free) == 0) return {};
        return any_path(g, x, y);
    }

    // What `find` leaves, for a value above 0.
    /// Arcs of the input across the cut.
    std::vector<Arc> arcs(const Input& g) const;

private:
    void fill_inside(const Input& g, int x, int y, const Set auto& low) {
        inside_ = g.ancestors(x) | g.ancestors(y);
        for (int v : members(low)) inside_ |= g.ancestors(v);
    }
    int find_inside(const Input& g, int x, int y, const Set auto& low, const Set auto& free) {
        allowed_ = inside_ - low - free;
        return max_flow(g, x, y);
    }
    int max_flow(const Input& g, int x, int y);
    void fetch_row(const Input& g, int v);
    int send_along_short_paths(const Input& g, int x, int y);
    bool augment(const Input& g, int y, int x);
    void use_path(int y, int x);
    std::vector<int> any_path(const Input& g, int x, int y);
    void forget_rows();

    NodeSet inside_, allowed_, reach_, fresh_;
    NodeSets rows_;  // of the graph, where they were fetched
    NodeSets used_;  // where an edge carries flow away from the node
    std::vector<char> have_;
    std::vector<int> origin_, queue_, touched_;
};

}  // namespace fedbn
