// What a path means: the DAGs of its states in two readings, and their distances to the inputs.
#pragma once

#include <variant>

#include "consensus/deletions.hpp"
#include "fusion/precedence.hpp"

namespace fedbn {

/// The pairs a < b that some moral graph of the inputs joins, ascending, and what is said of each: the
/// weight of the inputs whose moral graph joins it; of those whose CPDAG has a -> b, b -> a, a - b; of those
/// with the arc a -> b, and b -> a.
struct PairVotes {
    enum Of { moral, compelled, compelled_back, open, arc, arc_back, kinds };
    std::vector<std::int32_t> pairs;    // [m, 2]
    std::vector<std::int64_t> numbers;  // [kinds, m]
};
PairVotes pair_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights);

/// Votes on pairs a < b, which ascend, to be looked up; and how many are possible, r_e: the weight of the
/// inputs that observe both ends.
class VotesOnPairs {
public:
    /// votes [k, m]: k numbers of each of the pairs [m, 2]. seen [n, n]; empty: `total` everywhere.
    VotesOnPairs(int n, std::span<const std::int32_t> pairs, std::span<const std::int64_t> votes, std::int64_t total,
                 std::span<const std::int64_t> seen);
    int n() const { return int(starts_.size()) - 1; }
    /// The place of a pair among all, or -1.
    std::int64_t place(int a, int b) const;
    std::int64_t vote(int kind, std::int64_t place) const { return place < 0 ? 0 : votes_[kind * size_ + place]; }
    std::int64_t seen(int a, int b) const { return seen_.empty() ? total_ : seen_[std::size_t(a) * n() + b]; }
    /// Σ over all pairs.
    std::int64_t sum() const;

private:
    std::span<const std::int32_t> pairs_;
    std::span<const std::int64_t> votes_, seen_;
    std::int64_t size_, total_;
    std::vector<std::int64_t> starts_;  // of the pairs of every a
};

/// Σ of the weighted SMHD of a DAG to the inputs, each over the pairs that it observes: Σ_e c_e +
/// Σ_{e in its moral graph} (r_e - 2 c_e). votes: c_e.
std::int64_t smhd_sum(const Dag& dag, const VotesOnPairs& votes);

/// Σ of the weighted SHD of a DAG's CPDAG to those of the inputs, each over the pairs that it observes. A
/// pair that it does not join costs the weight of the inputs that join it; one that it joins costs the
/// weight of the inputs that do not join it in the same way. votes: a -> b, b -> a, a - b.
std::int64_t shd_sum(const Dag& dag, const VotesOnPairs& votes);

/// A DAG in the fewest bytes: its arcs (parent, child), ascending, or the parents of every node.
using SmallDag = std::variant<std::vector<std::int32_t>, NodeSets>;
SmallDag small(NodeSets parents);

/// Reading "search": an extension of P that keeps the knowledge, after so many deletions, for each of them.
std::vector<SmallDag> search_states(Dag fusion, std::span<const Step> steps, std::span<const std::int64_t> cuts,
                                    const Knowledge& known);

/// Reading "refusion": the fusion of the inputs as pruned by so many deletions. observed: the nodes that
/// each input is about. members: how many of the given DAGs each input is; quorum: how many of them must
/// have an arc in their I-map. Every fusion is bound by what the knowledge puts in order, `start`.
std::vector<SmallDag> refusion_states(std::vector<Dag> inputs, std::span<const std::int64_t> weights,
                                      const NodeSets& observed, std::span<const LostArc> arcs,
                                      std::span<const std::int64_t> cuts, std::span<const std::int64_t> members,
                                      std::int64_t quorum, const Precedence& start);

/// Reverse covered edges x -> y of negative margin until there is none: the most negative one first,
/// then the first (x, y). margins: of pairs a < b the weight of a -> b less that of b -> a.
void reverse_covered(NodeSets& parents, const VotesOnPairs& margins);

}  // namespace fedbn
