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

    /// Which cuts are asked for next: between x and y in moral(An({x, y} + low)) - (low + free).
    void ask(int x, int y, const Set auto& low, const Set auto& free) { ask_family(x, y, low, free, n_); }
    /// The same for a family, of which at most `more` of the undecided elements `free` are left out of
    /// S: with the nodes that are in An({x, y} + S) for every S (bounds 1 and 4 of `deletions.hpp`).
    void ask_family(int x, int y, const Set auto& low, const Set auto& free, int more) {
        x_ = x, y_ = y, more_ = more;
        is_limited_ = count(free) > more;
        free_ = free, given_ = low;
        given_.insert(x), given_.insert(y);
        left_ = AllBelow{n_} - low - free;
    }

    /// The minimum cut in an input, of which is known that it is at least `least`; at most `most`.
    int find_size(const Input& g, int least, int most);
    /// The minimum cut, and if it is above 0 the side of y for `arcs`.
    int find(const Input& g);
    /// Arcs of the input across the cut that `find` found.
    std::vector<Arc> arcs(const Input& g) const;
    /// Nodes of a path from y to x in the graph that is asked for, x first; empty where there is none.
    std::vector<int> path(const Input& g);

private:
    void look_at(const Input& g, SetView nodes);
    bool fetch_ends(const Input& g);
    void fetch_row(const Input& g, int v);
    int send_along_short_paths(const Input& g);
    bool augment(const Input& g);
    void use_path();
    void forget_rows();

    int n_, x_ = 0, y_ = 0, more_ = 0;
    bool is_limited_ = false;  // some of `free` are in every S
    NodeSet given_, free_, left_;  // {x, y} + low; free; the nodes outside of S
    NodeSet inside_, looked_at_;   // of those that were looked at, the nodes in the ancestral set
    NodeSet reach_, fresh_;
    NodeSets rows_;  // of the graph, where they were fetched
    NodeSets used_;  // where an edge carries flow away from the node
    std::vector<char> have_;
    std::vector<int> origin_, queue_, touched_;
};

}  // namespace fedbn
