// Grow-shrink trees (Andrews et al. 2023, "Fast scalable and accurate discovery of DAGs using the best order score
// search and grow-shrink trees", section 3): what growing and shrinking gives a node for any set of predecessors.
//
// A vertex of the tree of y stands for the parents that were added so far. Its branches are the candidates whose
// addition gains, the greatest gain first, of equal ones the smallest index; a trace follows the first branch that is
// among the predecessors until there is none. Shrinking then takes the parent away whose loss gains most (of gains
// within the tolerance of the greatest the smallest index) until none does.
#pragma once

#include <functional>
#include <limits>

#include "search/totals.hpp"

namespace fedbn {

/// Where a trace ends, and which candidates it passed by because they are no predecessors: it ends there for every set
/// of predecessors that has the parents of the end and none of those.
struct Trace {
    int end = 0;
    NodeSet passed;
};

class GrowShrinkTree {
public:
    /// candidates: ascending; required: parents of every vertex; max_parents: of a vertex.
    GrowShrinkTree(int y, std::vector<int> candidates, std::vector<int> required, std::int64_t max_parents);

    /// The score of the parents at a vertex after shrinking.
    double shrunk(Score& score, int vertex);
    /// These parents, ascending.
    std::vector<int> parents(Score& score, int vertex) const;
    bool grew_by(int vertex, int x) const;
    bool met_max_parents() const { return met_max_parents_; }
    const std::vector<int>& candidates() const { return candidates_; }
    std::size_t bytes() const { return bytes_; }
    /// Everything but the root, which can be computed again.
    void forget();

    /// To the end for the predecessors x with `precedes(x)`.
    void trace(Score& score, auto precedes, Trace& found) {
        found.end = 0;
        found.passed.clear();
        while (true) {
            if (!vertices_[found.end].is_grown) grow(score, found.end);
            const int branch = first_branch(found, precedes);
            if (branch < 0) return;
            if (vertices_[found.end].size >= max_parents_) {
                met_max_parents_ = true;
                return;
            }
            if (vertices_[found.end].branches[branch].to < 0) add_vertex(found.end, branch);
            found.end = vertices_[found.end].branches[branch].to;
        }
    }

private:
    struct Branch {
        int x, to;  // the vertex, or -1
    };
    struct Vertex {
        int above, added;  // the vertex that it grew from and by what, or -1
        std::int64_t size;
        bool is_grown = false;
        double shrunk = std::numeric_limits<double>::quiet_NaN();
        std::vector<Branch> branches = {};
    };

    int first_branch(Trace& found, auto precedes) const {
        const auto& branches = vertices_[found.end].branches;
        for (std::size_t i = 0; i < branches.size(); ++i) {
            if (precedes(branches[i].x)) return int(i);
            found.passed.insert(branches[i].x);
        }
        return -1;
    }
    void grow(Score& score, int vertex);
    void add_vertex(int above, int branch);
    std::vector<int> grown(int vertex) const;
    double shrink(Score& score, std::vector<int>& parents) const;

    int y_;
    std::vector<int> candidates_, required_;
    std::int64_t max_parents_;
    bool met_max_parents_ = false;
    std::size_t bytes_ = 0;
    std::vector<Vertex> vertices_;
};

}  // namespace fedbn
