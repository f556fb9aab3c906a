// fedbn._core.consensus: what Python calls.
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>

#include <memory>

#include "border.hpp"
#include "consensus/states.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<std::int64_t, 1>;
using Matrix = Array<std::int64_t, 2>;

std::vector<Dag> inputs_of(const ManyBits& parents, const Numbers& weights) {
    require(parents.shape(0) > 0 && weights.shape(0) == parents.shape(0), "one weight for each of the inputs");
    require_weights(span_of(weights), parents.shape(1));
    return dags_of(parents);
}

void require_ascending(const Numbers& cuts, std::size_t most) {
    std::int64_t before = 0;
    for (auto cut : span_of(cuts)) {
        require(before <= cut && cut <= std::int64_t(most), "numbers of deletions ascend");
        before = cut;
    }
}

using Pairs = Array<std::int32_t, 2>;

/// Pairs a < b, ascending, with `kinds` numbers of each.
void require_pairs(const Pairs& pairs, const Matrix& numbers, std::size_t kinds, std::int64_t n) {
    require(pairs.shape(1) == 2, "a pair has two nodes");
    require(numbers.shape(0) == kinds && numbers.shape(1) == pairs.shape(0), kinds, " numbers of each pair");
    std::int64_t before = -1;
    for (std::size_t k = 0; k < pairs.shape(0); ++k) {
        const std::int64_t a = pairs(k, 0), b = pairs(k, 1);
        require(0 <= a && a < b && b < n && a * n + b > before, "pairs are of two nodes, the smaller first, and ascend");
        before = a * n + b;
    }
}

/// Votes, and how many are possible on each pair: sums over pairs of nodes are exact.
VotesOnPairs votes_on(const Pairs& pairs, const Matrix& votes, std::size_t kinds, std::int64_t total,
                      const std::optional<Matrix>& seen, std::int64_t nodes) {
    require_number_of_nodes(nodes);
    const std::size_t n = nodes;
    require_pairs(pairs, votes, kinds, nodes);
    require_summable({votes.data(), votes.size()}, n * n, "votes");
    require_summable({&total, 1}, n * n, "the weight of all");
    if (!seen) return {int(n), {pairs.data(), pairs.size()}, {votes.data(), votes.size()}, total, {}};
    require(seen->shape(0) == n && seen->shape(1) == n, "the weights of those who see a pair are [n, n]");
    require_summable({seen->data(), seen->size()}, n * n, "the weights of those who see a pair");
    return {int(n), {pairs.data(), pairs.size()}, {votes.data(), votes.size()}, total, {seen->data(), seen->size()}};
}

using State = std::variant<Pairs, Bits>;

/// A DAG over n nodes from its arcs (parent, child), or from its parents as bits.
Dag dag_of_state(const State& state, std::int64_t n) {
    if (const auto* bits = std::get_if<Bits>(&state)) {
        require(std::int64_t(bits->shape(0)) == n, "a state is over ", n, " nodes");
        return dag_of(*bits);
    }
    const Pairs& arcs = std::get<Pairs>(state);
    require_arcs(arcs, n);
    NodeSets parents{static_cast<int>(n), static_cast<int>(n)};
    for (std::size_t k = 0; k < arcs.shape(0); ++k) parents[arcs(k, 1)].insert(arcs(k, 0));
    return acyclic(std::move(parents));
}

void require_nodes(std::initializer_list<std::int64_t> nodes, std::int64_t n) {
    for (auto v : nodes) require(0 <= v && v < n, "nodes are numbers below ", n);
}

/// Arcs int32 [m, 2], or the parents of every node as bits [n, W].
nb::list states_to_numpy(std::vector<SmallDag> states) {
    nb::list arrays;
    for (auto& state : states) {
        if (auto* arcs = std::get_if<std::vector<std::int32_t>>(&state)) {
            const std::size_t m = arcs->size() / 2;
            arrays.append(to_numpy(std::move(*arcs), {m, std::size_t{2}}));
        } else {
            arrays.append(to_numpy(std::get<NodeSets>(state)));
        }
        state = {};
    }
    return arrays;
}

std::unique_ptr<Deletions> make_deletions(const ManyBits& inputs, const Numbers& weights, const Bits& fusion, int k_max,
                                          Pooling pooling, std::size_t memory, const std::optional<Bits>& forbidden,
                                          const std::optional<Bits>& required, const std::optional<Bits>& observed,
                                          const std::optional<Numbers>& members, std::int64_t min_judges) {
    require(inputs.shape(1) == fusion.shape(0), "inputs and fusion are over the same nodes");
    require_at_least(0, k_max, "k_max");
    auto dags = inputs_of(inputs, weights);
    auto union_of_all = dag_of(fusion);
    auto known = knowledge_of(union_of_all.n(), forbidden, required);
    require(keeps(union_of_all.pa, known), "the fusion must keep the knowledge");
    require_at_least(1, min_judges, "min_judges");
    Deletions::Observers observers{observed_of(inputs, observed), std::vector<std::int64_t>(dags.size(), 1), min_judges};
    if (members) {
        require(members->shape(0) == dags.size(), "one number of members for each of the inputs");
        require_summable(span_of(*members), members->size(), "numbers of members");
        observers.members.assign(members->data(), members->data() + members->size());
    }
    nb::gil_scoped_release released;
    return std::make_unique<Deletions>(std::move(dags), std::vector(weights.data(), weights.data() + weights.size()),
                                       std::move(union_of_all), k_max, pooling, memory, std::move(known), observers);
}

nb::tuple known_of(const Deletions::Known& slot) {
    const auto members_of = [](const NodeSet& set) {
        std::vector<int> nodes;
        list(set, nodes);
        return nodes;
    };
    return nb::make_tuple(slot.x, slot.y, members_of(slot.h), members_of(slot.f), members_of(slot.u), slot.dead,
                          to_numpy(slot.cuts));
}

void bind_deletions(nb::module_& m) {
    nb::enum_<Pooling>(m, "Pooling")
        .value("mean", Pooling::mean)
        .value("clip", Pooling::clip)
        .value("median", Pooling::median);
    nb::enum_<Deletions::Outcome>(m, "Outcome")
        .value("done", Deletions::Outcome::done)
        .value("limit", Deletions::Outcome::limit)
        .value("paused", Deletions::Outcome::paused)
        .value("out_of_memory", Deletions::Outcome::out_of_memory)
        .value("broken", Deletions::Outcome::broken)
        .value("barred", Deletions::Outcome::barred);
    nb::class_<Deletions>(m, "Deletions")
        .def(nb::new_(&make_deletions), "inputs"_a.noconvert(), "weights"_a.noconvert(), "fusion"_a.noconvert(),
             "k_max"_a, "pooling"_a, "memory"_a, "forbidden"_a.noconvert() = nb::none(),
             "required"_a.noconvert() = nb::none(), "observed"_a.noconvert() = nb::none(),
             "members"_a.noconvert() = nb::none(), "min_judges"_a = 1)
        .def(
            "advance",
            [](Deletions& d, int steps, std::int64_t patience, std::int64_t largest, std::int64_t of) {
                require_at_least(0, of, "the weight that the largest sum is of");
                return d.advance(steps, patience, {largest, of ? of : d.total()});
            },
            nb::call_guard<nb::gil_scoped_release>(), "steps"_a, "patience"_a, "largest"_a, "of"_a = 0,
            "Up to so many deletions, of a Ψ of at most largest / of; by default of the sum of the weights.")
        .def_prop_ro("n_edges", &Deletions::n_edges, "Edges of the fusion that are not required: deletions until none is left.")
        .def_prop_ro("done", [](const Deletions& d) { return d.steps().size(); }, "Deletions so far.")
        .def(
            "steps",
            [](const Deletions& d) {
                std::vector<nb::tuple> steps;
                for (const Step& step : d.steps())
                    steps.push_back(nb::make_tuple(step.x, step.y, step.h, std::pair(step.psi.sum, step.psi.weight)));
                return steps;
            },
            "(x, y, members of H, Ψ as sum and weight of the judges) of every deletion.")
        .def(
            "given",
            [](const Deletions& d) {
                std::vector<std::vector<int>> given;
                for (const Step& step : d.steps()) given.push_back(step.s);
                return given;
            },
            "The members of S of every deletion; none where every input observes every node.")
        .def(
            "lost_arcs",
            [](const Deletions& d) {
                std::vector<std::int32_t> rows;
                for (const auto& arc : d.lost_arcs()) rows.insert(rows.end(), {arc.step, arc.input, arc.tail, arc.head});
                return to_numpy(std::move(rows), {d.lost_arcs().size(), std::size_t{4}});
            },
            "int32 [m, 4]: (step, input, a, b), a -> b removed in that step.")
        .def_prop_ro("entries", &Deletions::entries, "Entries of the queue of edges and of the lists of edges at nodes, for tests.")
        .def(
            "known",
            [](const Deletions& d) {
                std::vector<nb::tuple> slots;
                for (const auto& slot : d.known()) slots.push_back(known_of(slot));
                return slots;
            },
            "(x, y, H, F, U, dead, cuts) of every slot in use, for tests.");
}

void bind_states(nb::module_& m) {
    m.def(
        "search_states",
        [](const Bits& fusion, const Pairs& xy, const std::vector<std::vector<int>>& h, const Numbers& cuts,
           const std::optional<Bits>& forbidden, const std::optional<Bits>& required) {
            const std::size_t n = fusion.shape(0), count = xy.shape(0);
            require(xy.shape(1) == 2 && h.size() == count, "x, y and H for each deletion");
            require_ascending(cuts, count);
            std::vector<Step> steps;
            for (std::size_t k = 0; k < count; ++k) {
                require_nodes({xy(k, 0), xy(k, 1)}, n);
                for (int v : h[k]) require_nodes({v}, n);
                steps.push_back({xy(k, 0), xy(k, 1), Ratio{}, h[k], {}});
            }
            auto dag = dag_of(fusion);
            const Knowledge known = knowledge_of(dag.n(), forbidden, required);
            return states_to_numpy(unlocked([&] { return search_states(std::move(dag), steps, span_of(cuts), known); }));
        },
        "fusion"_a.noconvert(), "xy"_a.noconvert(), "h"_a.noconvert(), "cuts"_a.noconvert(),
        "forbidden"_a.noconvert() = nb::none(), "required"_a.noconvert() = nb::none());
    m.def(
        "refusion_states",
        [](const ManyBits& inputs, const Numbers& weights, const Array<std::int32_t, 2>& arcs, const Numbers& cuts,
           const Numbers& members, std::int64_t quorum, const Precedence* precedence,
           const std::optional<Bits>& observed) {
            auto dags = inputs_of(inputs, weights);
            const NodeSets about = observed_of(inputs, observed);
            const std::size_t n = inputs.shape(1);
            const int count = static_cast<int>(n);
            const Precedence start = precedence ? *precedence : Precedence(nothing_known(count), NodeSets(count, count));
            require(start.after().size() == count, "the knowledge must be of the same variables");
            require(arcs.shape(1) == 4, "arcs are (step, input, a, b)");
            require(members.shape(0) == dags.size(), "one number of members for each of the inputs");
            require_ascending(cuts, n * n);
            require_summable(span_of(members), members.size(), "numbers of members");
            std::vector<LostArc> lost;
            for (std::size_t k = 0; k < arcs.shape(0); ++k) {
                const auto* arc = arcs.data() + 4 * k;
                require_nodes({arc[1]}, std::int64_t(dags.size()));
                require_nodes({arc[2], arc[3]}, n);
                lost.push_back({arc[0], arc[1], arc[2], arc[3]});
            }
            return states_to_numpy(unlocked([&] {
                return refusion_states(std::move(dags), span_of(weights), about, lost, span_of(cuts), span_of(members),
                                       quorum, start);
            }));
        },
        "inputs"_a.noconvert(), "weights"_a.noconvert(), "arcs"_a.noconvert(), "cuts"_a.noconvert(),
        "members"_a.noconvert(), "quorum"_a, "precedence"_a = nb::none(), "observed"_a.noconvert() = nb::none());
    m.def(
        "reverse_covered",
        [](const Bits& parents, const Pairs& pairs, const Matrix& margins) {
            NodeSets pa = dag_of(parents).pa;
            require_pairs(pairs, margins, 1, pa.size());
            require_summable({margins.data(), margins.size()}, 1, "margins");
            reverse_covered(pa, {pa.size(), {pairs.data(), pairs.size()}, {margins.data(), margins.size()}, 0, {}});
            return to_numpy(pa);
        },
        "parents"_a.noconvert(), "pairs"_a.noconvert(), "margins"_a.noconvert(),
        "margins [1, m]: of pairs a < b the weight of a -> b less that of b -> a.");
}

void bind_votes(nb::module_& m) {
    m.def(
        "pair_votes",
        [](const ManyBits& inputs, const Numbers& weights) {
            auto [pairs, numbers] = pair_votes(inputs_of(inputs, weights), span_of(weights));
            const std::size_t size = pairs.size() / 2;
            return std::pair(to_numpy(std::move(pairs), {size, std::size_t{2}}),
                             to_numpy(std::move(numbers), {std::size_t(PairVotes::kinds), size}));
        },
        "inputs"_a.noconvert(), "weights"_a.noconvert(),
        "Pairs a < b [m, 2], and the votes on each: moral; a -> b, b -> a, a - b in CPDAGs; arcs a -> b, b -> a.");
    m.def(
        "smhd_sums",
        [](const std::vector<State>& states, std::int64_t n, const Pairs& pairs, const Matrix& votes, std::int64_t total,
           const std::optional<Matrix>& seen) {
            const auto on = votes_on(pairs, votes, 1, total, seen, n);
            std::vector<std::int64_t> sums;
            for (const auto& state : states) sums.push_back(smhd_sum(dag_of_state(state, n), on));
            return to_numpy(std::move(sums));
        },
        "states"_a.noconvert(), "n"_a, "pairs"_a.noconvert(), "votes"_a.noconvert(), "total"_a,
        "seen"_a.noconvert() = nb::none(), "states: the arcs [m, 2] of each, or its parents as bits. votes [1, m]: moral.");
    m.def(
        "shd_sums",
        [](const std::vector<State>& states, std::int64_t n, const Pairs& pairs, const Matrix& votes, std::int64_t total,
           const std::optional<Matrix>& seen) {
            const auto on = votes_on(pairs, votes, 3, total, seen, n);
            std::vector<std::int64_t> sums;
            for (const auto& state : states) sums.push_back(shd_sum(dag_of_state(state, n), on));
            return to_numpy(std::move(sums));
        },
        "states"_a.noconvert(), "n"_a, "pairs"_a.noconvert(), "votes"_a.noconvert(), "total"_a,
        "seen"_a.noconvert() = nb::none(), "states: the arcs [m, 2] of each, or its parents as bits. votes [3, m]: a -> b, b -> a, a - b in CPDAGs.");
}

}  // namespace

void consensus(nb::module_& m) {
    bind_deletions(m);
    bind_states(m);
    bind_votes(m);
    m.def(
        "min_cut",
        [](const Bits& parents, int x, int y, const Bits& given) {
            const Input input(dag_of(parents));
            const NodeSets s = sets_of(given, input.n());
            require(given.shape(0) == 1, "one set is given");
            require_nodes({x, y}, input.n());
            require(x != y && !s[0].has(x) && !s[0].has(y), "x, y and S are disjoint");
            MinCut cut(input.n());
            cut.ask(x, y, s[0], NodeSet(input.n()));
            const int size = cut.find(input);
            std::vector<std::pair<int, int>> arcs;
            if (size > 0)
                for (const auto& [a, b] : cut.arcs(input)) arcs.emplace_back(a, b);
            return std::pair(size, arcs);
        },
        "parents"_a.noconvert(), "x"_a, "y"_a, "given"_a.noconvert(),
        "The size of the minimum cut of one DAG given S, and the arcs on the one nearest to y.");
}

}  // namespace fedbn::bindings
