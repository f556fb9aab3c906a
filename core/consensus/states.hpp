// What a path means: the DAGs of its states in two readings, and their distances to the inputs.
#pragma once

#include "consensus/deletions.hpp"
#include "fusion/precedence.hpp"

namespace fedbn {

using Votes = std::vector<std::int64_t>;

/// c_e: the weight of the inputs whose moral graph has the edge e, [n, n], symmetric.
Votes moral_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights);

/// The weight of the inputs whose CPDAG has a -> b, and then of those with a - b: [2, n, n].
Votes class_votes(std::span<const Dag> inputs, std::span<const std::int64_t> weights);

/// Σ of the weighted SMHD of a DAG to the inputs, each over the pairs that it observes: Σ_e c_e +
/// Σ_{e in its moral graph} (r_e - 2 c_e). `seen` [n, n]: r_e, the weight of the inputs that observe
/// both ends.
std::int64_t smhd_sum(const Dag& dag, std::span<const std::int64_t> votes, std::span<const std::int64_t> seen);

/// Σ of the weighted SHD of a DAG's CPDAG to those of the inputs, each over the pairs that it observes. A
/// pair that it does not join costs the weight of the inputs that join it; one that it joins costs the
/// weight of the inputs that do not join it in the same way.
std::int64_t shd_sum(const Dag& dag, std::span<const std::int64_t> votes, std::span<const std::int64_t> seen);

/// Reading "search": an extension of P that keeps the knowledge, after so many deletions, ascending,
/// for each of them.
std::vector<NodeSets> search_states(Dag fusion, std::span<const Step> steps, std::span<const std::int64_t> cuts,
                                    const Knowledge& known);

/// Reading "refusion": the fusion of the inputs as pruned by so many deletions. observed: the nodes that
/// each input is about. members: how many of the given DAGs each input is; quorum: how many of them must
/// have an arc in their I-map. Every fusion is bound by what the knowledge puts in order, `start`.
std::vector<NodeSets> refusion_states(std::vector<Dag> inputs, std::span<const std::int64_t> weights,
                                      const NodeSets& observed, std::span<const LostArc> arcs,
                                      std::span<const std::int64_t> cuts,
                                      std::span<const std::int64_t> members, std::int64_t quorum,
                                      const Precedence& start);

/// Reverse covered edges x -> y of negative margin until there is none: the most negative one first,
/// then the first (x, y). margins [n, n]: the weight of x -> y less that of y -> x.
void reverse_covered(NodeSets& parents, std::span<const std::int64_t> margins);

}  // namespace fedbn
