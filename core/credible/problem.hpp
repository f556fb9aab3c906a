// The DAGs of one component that cost at most a limit: the problem, its states, and their bounds.
//
// A search places the nodes one by one, each with a family whose parents are all placed (Liao et
// al. 2019, section 4). Costs are excesses over the least cost of each node's families.
#pragma once

#include <span>
#include <vector>

#include "graphs/node_set.hpp"

namespace fedbn {

/// Where a search stands: the nodes that are placed, and the families that the others may still take.
struct State {
    SetRef placed, families;
};

/// The members of a set from `low` to below `high`, ascending; the one at hand may be taken out.
class Slice {
public:
    struct End {};
    class Iterator {
    public:
        Iterator(const SetView& set, int low, int high) : set_(set), at_(low), high_(high) { skip(); }
        int operator*() const { return at_; }
        void operator++() { ++at_, skip(); }
        bool operator!=(End) const { return at_ < high_; }

    private:
        void skip() {
            while (at_ < high_) {
                if (const Word rest = set_.word(at_ >> 6) >> (at_ & 63)) {
                    at_ += std::countr_zero(rest);
                    return;
                }
                at_ = (at_ | 63) + 1;
            }
        }
        SetView set_;
        int at_, high_;
    };
    Slice(const SetView& set, int low, int high) : set_(set), low_(low), high_(high) {}
    Iterator begin() const { return {set_, low_, high_}; }
    End end() const { return {}; }

private:
    SetView set_;
    int low_, high_;
};

/// Duals of a cluster relaxation: some DAG's cost is at least Σ least + Σ duals.
struct ClusterDuals {
    NodeSets clusters;
    std::vector<double> duals;
    std::vector<double> lowest;   // [node]: least cost of its families, which excesses leave out
    std::vector<double> least;    // [node]: least price of its families
    std::vector<double> reduced;  // [family]: price - least of its node
};

class Problem {
public:
    /// `first` [n + 1] has the families of v at first[v] ... first[v + 1] - 1, those of least cost first.
    Problem(std::vector<int> first, std::vector<double> cost, NodeSets parents, double limit);

    /// The bound: the least cost to complete each placed set, by the set's bits, as total costs of the
    /// remaining nodes; or the duals of clusters.
    void bound_by(std::span<const double> completion, std::span<const double> lowest);
    void bound_by(ClusterDuals duals);

    int n() const { return static_cast<int>(first.size()) - 1; }
    int families() const { return static_cast<int>(cost.size()); }
    int state_words() const { return parents.words() + words_for(families()); }
    State state(Word* row) const {
        return {{row, parents.words()}, {row + parents.words(), words_for(families())}};
    }
    /// The state where nothing is placed and every family may be taken.
    std::vector<Word> root() const;

    /// The families that v may still take, those of least cost first.
    Slice may_take(int v, const State& s) const { return {s.families, first[v], first[v + 1]}; }
    bool fits(int f, const State& s) const { return is_subset(parents[f], s.placed); }
    /// Place v, which then takes no further family.
    void place(int v, const State& s) const;
    /// Take from v, if it is not placed, the families that fit; whether it has another, or is placed.
    bool keep_misfits(int v, const State& s) const;

    std::vector<int> first, node;  // `node` is that of each family
    std::vector<double> cost;
    NodeSets parents;
    double limit;

    // Either the least excess to complete each placed set, or duals with the clusters of each family.
    std::vector<double> rest;
    ClusterDuals duals;
    std::vector<std::vector<int>> covers;
};

/// Bounds from below on what completes a state.
class Completion {
public:
    explicit Completion(const Problem& problem);

    /// A lower bound on the excess to complete the state; infinite if it cannot be completed.
    double bound(const State& s);
    /// For the state of the last `bound`: whether its nodes can be placed one by one, each with a family
    /// that is dearer by at most `slack` than the best of its node.
    bool can_end(const State& s, double slack);
    /// Take from the state the families that no DAG within the limit has after `reach` was spent.
    void drop_unaffordable(const State& s, double reach);

private:
    struct Demand {  // see `demand`
        std::size_t set;
        double paid, total;
    };
    Demand demand(const State& s) const;
    double duals_bound(const State& s);
    double cheapest(int v, const State& s) const;
    double price(int f) const;

    const Problem& problem_;
    std::vector<char> met_;     // [cluster]: whether a node of it is placed
    std::vector<double> best_;  // [node]: its least price
    NodeSet placed_;
};

}  // namespace fedbn
