// Best order score search (Andrews et al. 2023, section 4): every node in turn goes where the order scores most.
//
// The score of an order is Σ_y of what growing and shrinking gives y among its predecessors. For the move of one node v
// only traces are followed anew that v can change: those that it is a parent in, or passed it by. So between two
// candidates of v that follow one another all places have the same score.
#pragma once

#include "graphs/knowledge.hpp"
#include "search/grow_shrink.hpp"

namespace fedbn {

struct BossRules {
    Knowledge knowledge;
    std::int64_t max_parents;
    std::size_t memory;       // bytes of the trees, after which they are begun anew
    std::int64_t candidates;  // per node: those that gain most as its only neighbour
};

class Boss {
public:
    /// order: one that the required edges follow.
    Boss(Score& score, std::vector<int> order, BossRules rules);

    /// To another such order; the trees stay, for they depend on no order.
    void go_to(std::vector<int> order);
    /// Try `budget` nodes; pass after pass until one changes nothing. True when finished.
    bool improve(std::int64_t budget);
    /// Of the present order.
    NodeSets parents();
    const std::vector<int>& order() const { return order_; }
    const BossRules& rules() const { return rules_; }
    /// Of the present order.
    double total();
    std::int64_t moves() const { return moves_; }
    std::int64_t emptied() const { return emptied_; }
    bool met_max_parents() const;
    bool met_candidates() const { return met_candidates_; }

private:
    struct Place {
        int slot;       // of v in the order without v
        double change;  // of the score, up to a constant
    };

    int n() const { return int(order_.size()); }
    void choose_neighbours();
    std::vector<std::vector<int>> candidates_of_all(const NodeSets& barred);
    void plant();
    void begin();
    void follow(int y);
    void begin_anew_when_full();
    int rest_rank(int u, int v) const { return rank_[u] - (rank_[u] > rank_[v]); }
    double change_by(int u, int v);
    std::vector<Place> places(int v);
    bool improve_place_of(int v);
    void put(int v, int slot);

    Score& score_;
    BossRules rules_;
    std::vector<int> order_, rank_;
    std::vector<std::vector<int>> neighbours_;  // symmetric: who may become adjacent to whom
    std::vector<GrowShrinkTree> trees_;
    std::vector<Trace> traces_;  // in the present order
    Trace trial_;
    double total_ = 0;
    bool begun_ = false, moved_ = false, met_candidates_ = false;
    std::vector<int> waiting_;  // of the present pass, the last comes first
    std::int64_t moves_ = 0, emptied_ = 0;
};

}  // namespace fedbn
