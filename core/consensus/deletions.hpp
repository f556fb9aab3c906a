// The Greedy Delete of MCBNC (Torrijos et al., Algorithm 1): from G+ down, always the operator of
// smallest pooled criticality Ψ, ties by (x, y, |H|, H). Why few minimum cuts suffice:
//
// For every edge x -> y of the CPDAG P (undirected ones with x < y: both orientations have the same
// NA and the same parents of y, hence the same cuts) the search keeps *slots* that together stand for
// all subsets H of NA_yx with at most k_max elements. A slot (H, F, U): H is left out of S, S contains
// F, and the elements of U are undecided. An operator has an empty U; a family is all H ∪ T with T in
// U; a rest is the same without H itself. A slot never needs more than its bound to be known not to
// be the best:
//
// 1. Sub-families. Let low = F and high = F ∪ U. For every S with low <= S <= high the graph
//    moral(An({x, y} ∪ low)) - high is a subgraph of moral(An({x, y} ∪ S)) - S: ancestors grow with
//    the set, arcs and marriages grow with the ancestors, and more is removed. Minimum cuts are
//    monotone in the graph, so mincut(low, high) bounds the whole family from below; U empty: equality.
// 2. Adjacency. x and y joined by an arc of an input: its cut is at least 1.
// 3. Arcs of an input only ever disappear, so its ancestral moral graphs only shrink: a cached value
//    is an upper bound for ever. Hence a cached 0 stays 0, and a cached 1 stays 1 while x and y are
//    joined. Any other value is kept if no removed arc a -> b had b in An({x, y} ∪ high), else what it
//    was computed from may have changed and it falls back to bound 2.
// 4. Certain ancestors. A node with more descendants in U than H may still grow by is in
//    An({x, y} ∪ S) of every member, for one of those is in S; so are its ancestors. Bound 1 holds with
//    these nodes added to An({x, y} ∪ low), too.
// 5. What is known of (low', high') says something of (low, high): the first graph is a subgraph of the
//    second if low' is in An({x, y} ∪ low) and high - high' has nothing in An({x, y} ∪ low'); if the
//    same holds the other way, the graphs and the cuts are equal (`carry`).
//
// Bound 1 is attained in each input by S = high ∩ An({x, y} ∪ low); only because inputs disagree on
// that S, and H is limited, must families be split: on an element of disagreement. So the best operator
// is found by best-first search over slots in the order (bound, x, y, |H|, H): the edges wait in a queue of
// their own, in the order (least bound of their slots, x, y), and bring their slots when it is their turn,
// so that a step looks at few of them. With knowledge an operator
// that comes out of it is passed over, in this step, where no DAG of the class that it leads to keeps
// what is known; such an operator may come to keep it later.
//
// Inputs may be about different nodes. A node that an input does not observe is isolated in it, so its
// cuts are those given what it observes of S, and bounds 1 to 5 hold as they are. But Ψ(x, y, S) is then
// pooled over the judges of S alone: the inputs that observe x, y and most of S, as many groups of them
// (by how much of S they observe, all of it first) as it takes to reach `min_judges`. In
// the operators of a family the last judge lacks between `from` and `to` members of S, and every group a
// number between two bounds of its own. For each number in between some groups must judge and others may:
// the bound of the family is the least, over these numbers, that any choice among those others could make
// of what is known of the cuts. Of a group all inputs judge or none.
#pragma once

#include <cstdint>
#include <queue>
#include <unordered_map>

#include "consensus/min_cut.hpp"
#include "consensus/pattern.hpp"
#include "graphs/knowledge.hpp"
#include "ratio.hpp"

namespace fedbn {

enum class Pooling { mean, clip, median };

struct Step {
    int x, y;
    Ratio psi;  // over the weight of the judges
    std::vector<int> h, s;  // S where inputs observe different nodes, who judged it
};
struct LostArc {
    std::int32_t step, input, tail, head;
};

class Deletions {
public:
    enum class Outcome { done, limit, paused, out_of_memory, broken, barred };

    /// What is known of who observes what.
    struct Observers {
        NodeSets observed;                  // of every input
        std::vector<std::int64_t> members;  // how many judges every input stands for
        std::int64_t min_judges = 1;
    };

    /// memory: bytes that cached cuts may take beside the graphs of the inputs. The fusion keeps the
    /// knowledge, and so does some DAG of the class after every deletion.
    Deletions(std::vector<Dag> inputs, std::vector<std::int64_t> weights, Dag fusion, int k_max, Pooling pooling,
              std::size_t memory, Knowledge known, const Observers& observers);

    /// Up to so many deletions. `done`: no edge is left but required ones; `barred`: every other deletion
    /// breaks the knowledge, or redirects more than k_max; `limit`: steps made, or the next Ψ is above
    /// `largest`; `paused`: call again (a step takes more than `patience` minimum cuts).
    Outcome advance(int steps, std::int64_t patience, Ratio largest);

    std::int64_t total() const { return total_; }

    const std::vector<Step>& steps() const { return steps_; }
    const std::vector<LostArc>& lost_arcs() const { return lost_arcs_; }
    std::size_t n_edges() const { return n_edges_; }

    /// For tests: of every slot that is in use its edge, sets, bound and cuts.
    struct Slot;
    struct Known {
        int x, y;
        NodeSet h, f, u;
        bool dead;
        std::vector<std::int16_t> cuts;  // v >= 0 exact; -1 - b: at least b
    };
    std::vector<Known> known() const;

    /// For tests: entries of the queue of edges, and of the lists of edges at the nodes.
    std::pair<std::size_t, std::size_t> entries() const { return {waiting_.size(), noted_}; }

    ~Deletions();
    Deletions(const Deletions&) = delete;

private:
    struct Edge {
        int x, y;
        NodeSet na, other_parents;  // NA_yx, and Pa(y) - x
        std::vector<int> slots;
        NodeSet joined;           // the inputs with an arc between x and y
        bool is_waiting = false;  // in the queue of edges, with `bound`
        Ratio bound;              // at most that of each of its slots that is not dead
        Ratio least_exact;        // the least Ψ that was known of its operators when it was put there
    };
    struct Waiting {
        Ratio bound;
        int x, y, edge;
        bool operator>(const Waiting& other) const {
            const auto order = bound <=> other.bound;
            return order != 0 ? order > 0 : std::tie(x, y) > std::tie(other.x, other.y);
        }
    };

    // Slots, in deletions_slots.cpp.
    int take_slot(int edge);
    void free_slots(Edge& edge);
    bool make_room();
    void make_root(int edge);
    int copy(int slot);
    void forget(Slot& slot);
    Ratio bound_of(const Slot& slot) const;
    Ratio median_of(const Slot& slot) const;
    void change(Slot& slot, std::size_t input, int cut);
    bool holds_later(int a, int b) const;
    void carry(int source, int target);
    void invalidate(std::span<const std::pair<int, NodeSet>> lost);
    bool invalidate(Slot& slot, std::span<const std::pair<int, NodeSet>> lost);
    std::int64_t evaluate(int slot, Ratio limit);

    // Who judges, in deletions_judges.cpp.
    static constexpr std::int16_t kLacksAll = (1 << 15) - 1;
    /// How many members of S a group lacks, in all operators of a slot; one that does not observe both x
    /// and y lacks all.
    struct Lacking {
        std::int16_t least = kLacksAll, most = kLacksAll;
    };
    struct Say {  // of an input or of a group that perhaps judges
        Ratio mean;
        Lacking lacking;
    };
    void find_observers(const Observers& observers);
    bool is_heard(const Slot& slot, std::size_t input) const;
    void appoint(Slot& slot);
    void count_lacking(Slot& slot) const;
    bool is_anyone_divided(const Slot& slot) const;
    int level_of(const Slot& slot, std::int16_t Lacking::*bound);
    Ratio least_of(const Slot& slot);
    void gather_inputs(const Slot& slot);
    void gather_groups(const Slot& slot);
    Ratio least_at(int level) const;
    Ratio least_mean(int level) const;
    Ratio least_median(int level) const;

    // Splitting of families, in deletions_split.cpp.
    int split(int slot);
    int split_rest(int slot);
    void close(Slot& slot);
    void keep_with(int slot, int whole, int u);
    int dividing_element(int slot, int whole);
    void blame(const Input& g, const Slot& slot, std::int64_t weight);
    bool blame_below(const Input& g, const Slot& slot, int c, std::int64_t weight);
    bool blame_path(const Input& g, const Slot& slot, std::int64_t weight);

    // The search, in deletions.cpp.
    class Queue;
    void make_edge(int x, int y);
    void note_nodes(int edge, const NodeSet& nodes);
    NodeSet nodes_of(const Edge& edge) const;
    void forget_stale_entries();
    void wait(int edge);
    const Waiting* next_edge();
    bool is_exact(const Slot& slot) const;
    bool is_to_be_split(const Slot& slot) const;
    std::pair<Outcome, int> find_best(std::int64_t patience);
    std::pair<Outcome, int> search_slots(std::int64_t patience);
    void bring_slots(Queue& queue);
    bool is_required(const Edge& edge) const;
    bool keeps_knowledge(const Slot& slot) const;
    bool apply(int slot);
    void refresh_edges_into(int v, int x, int y);
    void refresh(int a, int b, int x, int y);
    std::int64_t pair(int x, int y) const { return std::int64_t(std::min(x, y)) * n_ + std::max(x, y); }

    int n_;
    std::vector<Input> inputs_;
    std::vector<std::int64_t> weights_;
    std::int64_t total_ = 0;
    bool is_whole_ = true;              // every input observes every node
    NodeSets observed_;                 // the distinct sets of observed nodes, unless that is so
    std::vector<int> group_;            // of every input, which of them it has
    std::vector<std::int64_t> judges_;  // in each of these groups
    std::int64_t min_judges_ = 1;
    bool is_one_enough_ = true;  // every group is as many as `min_judges`
    std::vector<Say> says_;      // of the slot that is looked at
    std::vector<std::pair<int, std::int64_t>> levels_;  // so many members of S lacked by so many judges
    int k_max_, largest_cut_;
    Pooling pooling_;
    Knowledge known_;
    bool is_free_;  // nothing is known
    std::size_t memory_;
    Pattern pattern_;
    std::size_t n_edges_ = 0;
    std::vector<Edge> edges_;
    std::unordered_map<std::int64_t, int> edge_of_;  // the edge of P that joins a pair
    std::vector<std::vector<int>> edges_at_;         // of a node: all edges of which it is an end, or in a set
    std::size_t noted_ = 0, needed_ = 0;             // entries of these lists; those that are not stale
    std::vector<int> looked_at_;                     // of an edge: the step whose lost arcs it was last looked at for
    std::priority_queue<Waiting, std::vector<Waiting>, std::greater<Waiting>> waiting_;
    std::vector<int> brought_;                       // edges whose slots this step has looked at
    std::vector<Slot> slots_;
    std::vector<int> free_;
    std::size_t capacity_ = 0;
    std::int64_t collapsed_at_ = -1;
    std::vector<Step> steps_;
    std::vector<LostArc> lost_arcs_;
    MinCut cut_;
    std::vector<std::int64_t> score_;
};

struct Deletions::Slot {  // what every step looks at comes first
    enum class Kind { operation, family, rest };
    static constexpr std::int64_t kDeadSum = std::int64_t{1} << 62;

    int edge = -1;  // -1: free
    Kind kind = Kind::operation;
    int whole = -1;  // of a rest: the slot of its operator H, valid or not
    std::size_t first = 0;          // of the inputs before it that may judge every cut is exact
    std::size_t unknown = 0;        // inputs that may judge, of which the cut is not exact
    Ratio bound{kDeadSum, 1};       // of Ψ
    std::vector<std::int16_t> cut;  // of every input: v >= 0 exact; -1 - b: at least b
    NodeSet h, f, u;
    bool is_divided = false;  // some group judges some of the operators
    int from = 0, to = 0;  // the last judge of an operator lacks between so many members of S
    std::vector<Lacking> lacking;  // of every group; empty where every input observes every node

    auto high() const { return f | u; }
    /// A slot that is free or holds no valid operator: its bound is above every Ψ, for ever.
    bool is_dead() const { return bound.sum == kDeadSum; }
    void die() { bound.sum = kDeadSum; }
};

/// Whether an input judges some operator that a slot holds, or perhaps does.
inline bool Deletions::is_heard(const Slot& slot, std::size_t input) const {
    return is_whole_ || slot.lacking[group_[input]].least <= slot.to;
}

/// What is known of a cut, exact or not.
inline int at_least(int cut) { return cut >= 0 ? cut : -1 - cut; }

}  // namespace fedbn
