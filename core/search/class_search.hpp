// Greedy search over equivalence classes (GES, XGES-0).
//
// What makes it fast, and exact:
// - For one y, every clique S of Ne(y) is met once; it serves all x with NA_yx ⊆ S at one time
//   (T = S \ NA_yx), so S ∪ Pa(y) is counted once for all of them.
// - Operators with a positive gain stay on record. A step makes those of a pair void exactly if it
//   changed something that they depend on. Where it only added to the cliques of Ne(y), the Inserts
//   of the new cliques are added to the record.
// - Condition (2), the paths from y to x, depends on the whole graph. It is tested when an operator
//   is about to be chosen; one open path is kept and looked at first the next time. An open path
//   stays open while no edge is removed or directed, so what a row can offer at most is kept too.
#pragma once

#include <array>
#include <limits>
#include <optional>

#include "random.hpp"
#include "scores/score.hpp"
#include "search/class_graph.hpp"
#include "graphs/knowledge.hpp"
#include "search/totals.hpp"

namespace fedbn {

struct Rules {
    std::int64_t max_parents, max_t;
    std::optional<Knowledge> knowledge;
    std::optional<SplitMix64> random_ties;
    double floor = 0;  // a gain at most this is not kept: -inf to see all operators
};

/// An operator, and the class that it leads to; none for a bug.
struct Lead {
    Operator by;
    std::optional<Pdag> to;
};

/// The operators of one kind that concern one y.
struct Row {
    std::vector<Operator> operators;  // those that gain, the greatest gain first
    double ceiling = -kInfinity;      // no valid one gains more
    NodeSet stale;                    // the x that must be looked at again
    std::vector<int> grown;           // of the other x only the cliques with these nodes are new

    double best() const { return operators.empty() ? -kInfinity : operators[0].gain; }
};

/// The cliques of a graph that grow from one of them, in lexicographic order.
class Cliques {
public:
    explicit Cliques(int n) : clique_(n), choices_(n + 2, n) {}
    /// Begin with a clique of a graph that lives on, to which nodes of `choice` may be added.
    void begin(const NodeSets& adj, std::span<const int> clique, const Set auto& choice);
    /// The next clique; false after the last. Without `deeper` the present one is not extended.
    bool next(bool deeper = true);
    const NodeSet& present() const { return clique_; }
    int added() const { return static_cast<int>(added_.size()); }

private:
    const NodeSets* adj_ = nullptr;
    NodeSet clique_;
    NodeSets choices_;  // by depth: greater than those tried before, and adjacent to all chosen ones
    std::vector<int> added_;
};

enum class Outcome { done, paused, broken };

class ClassSearch {
public:
    ClassSearch(Score& score, Dag start, Rules rules);

    /// Take the best operator of the first kind that has one, until no kind has one. With a budget,
    /// pause once so many sets were counted or rows looked at.
    Outcome climb(std::span<const Kind> kinds, std::optional<std::int64_t> budget);
    /// Look at the operators of one kind after the other, as far as a climb does before its first step.
    void look(std::span<const Kind> kinds);
    /// Move to the class of a member of the present one without its edge x -> y. The pair stays apart
    /// until it is allowed again.
    void take_away(Dag without, int y, int x);
    void allow(int y, int x);
    /// A member of the class that satisfies the knowledge, if there is one. Without knowledge the DAG
    /// becomes the one that depends on the class alone; none for a bug.
    std::optional<Dag> member();
    /// Every valid operator of one kind on record, for tests of the search.
    std::vector<Lead> leads(Kind kind);

    double total() { return total_of(score_, graph_.dag.pa); }
    const ClassGraph& graph() const { return graph_; }
    const std::array<std::int64_t, kKinds>& steps() const { return steps_; }
    bool has_moved() const { return steps_ != std::array<std::int64_t, kKinds>{}; }
    bool met_max_parents() const { return met_max_parents_; }
    bool met_max_t() const { return met_max_t_; }

private:
    Row& row(Kind kind, int y) { return rows_[int(kind) * graph_.n() + y]; }

    // Enumeration, in operator_record.cpp.
    void refresh(Kind kind, int y);
    void refresh_inserts(Row& row, int y);
    void insert_candidates(Row& row, int y);
    void refresh_deletes(Row& row, int y);
    void refresh_turns(Row& row, int y);
    bool turn_fits(int y, int x, const NodeSet& clique);
    bool separates(int y, int x, const NodeSet& clique) const;
    double turn_gain(int y, int x, const NodeSet& clique);
    bool within_max_t(int size);
    void keep(Row& row, Kind kind, int y, int x, double gain, const Set auto& set);

    // Choice.
    Operator* choose(Kind kind, double tolerance);
    double greatest_gain(Kind kind, double tolerance);

    // Validity, in operator_validity.cpp.
    bool is_valid(Operator& op) const;
    bool is_path_open(const std::vector<int>& path) const;
    std::vector<int> find_path(const Operator& op) const;
    bool is_permitted(const Operator& op) const;

    bool step(Operator op);

    // What a step makes void, in operator_record.cpp.
    void void_changed(const Pdag& before, const Operator& by);
    void void_row(Row& row);
    void grow(Row& row, std::vector<int> nodes);
    void mark_stale(Kind kind, const NodeSet& changed, const Operator& by);

    Score& score_;
    ClassGraph graph_;
    Rules rules_;
    bool is_constrained_;   // whether knowledge may forbid an operator
    NodeSets apart_, together_;  // pairs that are never, or always, adjacent
    std::vector<Row> rows_;
    std::array<std::int64_t, kKinds> steps_{};
    std::int64_t found_ = 0;  // operators so far
    double present_score_;
    bool met_max_parents_ = false, met_max_t_ = false;

    Cliques cliques_;
    std::vector<int> candidates_, ends_, parents_;
    std::vector<double> scores_;
};

}  // namespace fedbn
