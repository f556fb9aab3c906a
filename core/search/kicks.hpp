// Kicks between climbs over DAGs (Lourenço, Martin & Stützle 2003, "Iterated local search").
#pragma once

#include "random.hpp"
#include "search/hill.hpp"

namespace fedbn {

struct KickRules {
    std::int64_t patience;    // kicks in vain before the search ends
    std::int64_t reversals;   // edges that a walk draws
    std::int64_t candidates;  // further parents that are looked at, per node
    std::int64_t strongest;   // edges that a kick takes away at most
};

class Kicks {
public:
    Kicks(Score& score, Dag start, HillRules rules, KickRules kick_rules, std::uint64_t seed);

    /// Kick, and go back unless the score is at least the best, until `patience` kicks were in vain.
    /// A better DAG halves the number of those in vain. When all edges were tried without one, a
    /// kick takes one edge more away from then on, at most `strongest`. At most `budget` kicks; true
    /// when finished.
    bool iterate(std::int64_t budget);
    const Hill& hill() const { return hill_; }
    std::int64_t kicks() const { return kicks_; }

private:
    struct Edge {  // x -> y
        int y, x;
    };

    NodeSets markov_blankets() const;
    void choose_candidates();
    std::optional<Edge> cheapest_edge() const;
    std::vector<int> nodes_near(Edge edge, int distance) const;
    std::optional<Edge> draw_edge(const std::vector<int>& nodes);
    void walk(const std::vector<int>& nodes);
    void take_away(Edge edge);
    void kick(Edge edge);
    void settle_for_better(double best_before);

    Hill hill_;
    Place before_;    // the kick
    NodeSets tried_;  // symmetric: pairs that were kicked in this round
    KickRules rules_;
    SplitMix64 random_;
    std::int64_t kicks_ = 0, idle_ = 0, strength_ = 1;  // idle: in vain, halved by a better DAG
};

}  // namespace fedbn
