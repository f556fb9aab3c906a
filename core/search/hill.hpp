// Hill climbing over DAGs by single edges, with a tabu list (Bouckaert 1995).
//
// Each node y keeps change(y, x) = s(y, Pa(y) ∪ {x}) - s(y, Pa(y)) for candidates x outside Pa(y),
// and s(y, Pa(y) \ {x}) - s(y, Pa(y)) for x in Pa(y). A move changes one row, or two for a reversal.
#pragma once

#include <optional>

#include "graphs/dag.hpp"
#include "scores/score.hpp"
#include "graphs/knowledge.hpp"

namespace fedbn {

enum class Change { add, remove, reverse };

/// A change of the edge x -> y.
struct Move {
    Change kind;
    int y, x;
    double gain;
};

struct HillRules {
    Knowledge knowledge;
    std::int64_t max_parents, tabu_length = 0, patience = 0;
};

/// A DAG, and what its moves gain.
struct Place {
    Dag dag;
    NodeSets below;              // descendants
    std::vector<double> change;  // n x n
    std::vector<double> bound;   // no permitted move on an edge into y gains more
    double score;
};

class Hill {
public:
    Hill(Score& score, Dag start, HillRules rules);

    int n() const { return place.dag.n(); }
    bool is_ready() const { return ready_; }
    /// Bring all rows up to date, once.
    void prepare();
    /// Take the best move while it gains, and with a tabu list the least bad one up to `patience`
    /// times in a row without a new best. With `in_order` a removal is taken if any gains, else a
    /// reversal, else an addition, as XGES-0 takes its operators. At most `budget` steps; true when
    /// finished.
    bool climb(std::int64_t budget, bool in_order = false);
    void make(const Move& move);
    double change(int y, int x) const { return place.change[std::size_t(y) * n() + x]; }
    double gain(Change kind, int y, int x) const;
    void forbid_moves_on(int y, int x) { tabu(x, y) = tabu(y, x) = kNever; }
    void lift_tabus() { std::ranges::fill(tabu_, 0); }

    static constexpr std::int64_t kNever = std::int64_t{1} << 60;  // a step that does not come

    Score& score;
    const HillRules rules;
    Place place;
    NodeSets candidates;    // symmetric, with all adjacent pairs: who may become adjacent to whom
    NodeSets best_parents;  // of the best DAG met
    double best_score;
    std::int64_t steps = 0;
    bool met_max_parents = false;  // it left a better move out

private:
    void refresh(int y);
    void forget_bounds(SetView rows);
    void find_descendants();
    void find_descendants_again();
    void add_descendants(int y, int x);
    bool reaches_otherwise(int x, int y) const;
    bool is_permitted(Change kind, int y, int x) const;
    std::optional<Move> choose(double aspired, double floor, bool in_order);
    std::optional<Move> best_move(double aspired, double floor, std::optional<Change> only, bool first_of);
    std::int64_t& tabu(int y, int x) { return tabu_[std::size_t(y) * n() + x]; }

    std::vector<std::int64_t> tabu_;  // n x n: the step until which a pair is left alone
    std::int64_t since_best_ = 0;     // steps
    bool ready_ = false;
    std::vector<int> parents_, others_;
    std::vector<double> scores_;
};

}  // namespace fedbn
