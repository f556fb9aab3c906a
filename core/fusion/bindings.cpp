// fedbn._core.fusion: what Python calls.
#include "border.hpp"
#include "fusion/median.hpp"
#include "fusion/minimal_imap.hpp"
#include "fusion/order_heuristic.hpp"
#include "fusion/precedence.hpp"
#include "fusion/union.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<std::int64_t, 1>;
using Draws = Array<double, 1>;

std::vector<NodeSets> many_sets_of(const ManyBits& bits) {
    std::vector<NodeSets> all;
    for (const Dag& dag : dags_of(bits)) all.push_back(dag.pa);
    return all;
}

/// Row v has what must come after v.
NodeSets precedence_of(int n, const Bits& after) {
    require(int(after.shape(0)) == n, "what must come after a node is known of every node");
    return dag_of(after).pa;
}

NodeSets union_of(const Precedence& precedence, const Bits& parents) {
    require(int(parents.shape(0)) == precedence.after().size(), "the union must be of the same variables");
    return dag_of(parents).pa;
}

nb::ndarray<nb::numpy, Word> to_numpy_all(const std::vector<NodeSets>& all, std::size_t n, std::size_t words) {
    std::vector<Word> bits;
    bits.reserve(all.size() * n * words);
    for (const auto& sets : all) bits.insert(bits.end(), sets.bits().begin(), sets.bits().end());
    return to_numpy(std::move(bits), {all.size(), n, words});
}

}  // namespace

void fusion(nb::module_& m) {
    nb::class_<OrderHeuristic>(m, "OrderHeuristic")
        .def(
            "__init__",
            [](OrderHeuristic* self, const ManyBits& parents, const Numbers& weights, const Draws& draws,
               const std::optional<Bits>& after, const std::optional<Bits>& observed) {
                require(parents.shape(0) > 0 && weights.shape(0) == parents.shape(0), "one weight for each DAG");
                require_weights(span_of(weights), parents.shape(1));
                require(draws.size() == 0 || draws.size() == parents.shape(1), "one draw for each node, or none");
                for (double draw : span_of(draws)) require(0 <= draw && draw < 1, "draws are in [0, 1)");
                std::vector<std::shared_ptr<SinkRemovals>> inputs;
                for (auto& dag : dags_of(parents))
                    inputs.push_back(std::make_shared<SinkRemovals>(std::make_shared<const Dag>(std::move(dag))));
                const int n = int(parents.shape(1));
                new (self) OrderHeuristic(std::move(inputs), {weights.data(), weights.data() + weights.size()},
                                          {draws.data(), draws.data() + draws.size()},
                                          after ? precedence_of(n, *after) : NodeSets(n, n),
                                          observed_of(parents, observed));
            },
            "parents"_a.noconvert(), "weights"_a.noconvert(), "draws"_a.noconvert(),
            "after"_a.noconvert() = nb::none(), "observed"_a.noconvert() = nb::none())
        .def("extend", [](OrderHeuristic& h, int places) {
            require_at_least(0, places, "places");
            return h.extend(places);
        }, nb::call_guard<nb::gil_scoped_release>(), "places"_a,
             "Fill so many more places, from the last; how many are empty.")
        .def_prop_ro("order", [](const OrderHeuristic& h) {
            return to_numpy(std::vector<std::int64_t>(h.order().begin(), h.order().end()));
        }, nb::rv_policy::automatic);
    m.def(
        "minimal_imaps",
        [](const ManyBits& parents, const Numbers& order) {
            const auto dags = dags_of(parents);
            const int n = static_cast<int>(parents.shape(1));
            std::vector<int> places;
            NodeSet seen(n);
            require(order.size() == std::size_t(n), "an order has every node once");
            for (std::int64_t v : span_of(order)) {
                require(0 <= v && v < n && !seen.has(int(v)), "an order has every node once");
                seen.insert(int(v));
                places.push_back(int(v));
            }
            std::vector<NodeSets> maps;
            {
                nb::gil_scoped_release released;
                for (const Dag& dag : dags) maps.push_back(MinimalImap(dag).under(dag, places));
            }
            return to_numpy_all(maps, parents.shape(1), parents.shape(2));
        },
        "parents"_a.noconvert(), "order"_a.noconvert(), "Parents in the minimal I-map of each DAG, [r, n, W].");
    m.def(
        "arcs_of_quorum",
        [](const ManyBits& maps, const Numbers& members, std::int64_t quorum, const std::optional<Bits>& observed) {
            require(maps.shape(0) > 0 && members.size() == maps.shape(0), "one number of inputs for each map");
            require_summable(span_of(members), members.size(), "numbers of inputs");
            const auto sets = many_sets_of(maps);
            std::vector<const NodeSets*> each;
            for (const NodeSets& of_one : sets) each.push_back(&of_one);
            const NodeSets about = observed_of(maps, observed);
            return to_numpy(arcs_of_quorum(each, span_of(members), quorum, observed ? &about : nullptr));
        },
        "maps"_a.noconvert(), "members"_a.noconvert(), "quorum"_a, "observed"_a.noconvert() = nb::none());
    nb::class_<Precedence>(m, "Precedence")
        .def(
            "__init__",
            [](Precedence* self, const Bits& forbidden, const Bits& required, const Bits& after) {
                const int n = int(after.shape(0));
                new (self) Precedence(knowledge_of(n, forbidden, required), precedence_of(n, after));
            },
            "forbidden"_a.noconvert(), "required"_a.noconvert(), "after"_a.noconvert())
        .def_prop_ro("after", [](const Precedence& p) { return to_numpy(p.after()); }, nb::rv_policy::automatic)
        .def(
            "settle",
            [](Precedence& p, const Bits& parents) { return p.settle(union_of(p, parents)); },
            "parents"_a.noconvert(), "Demand what a union needs; whether anything is new.")
        .def(
            "kept",
            [](const Precedence& p, const Bits& parents) { return to_numpy(p.kept(union_of(p, parents))); },
            "parents"_a.noconvert(), "A union without forbidden and with required arcs.");
    m.def(
        "descend_to_median",
        [](const Bits& parents, const Array<std::int64_t, 2>& gain, const std::optional<Bits>& forbidden,
           const std::optional<Bits>& required, int max_width) {
            Dag dag = dag_of(parents);
            const Knowledge known = knowledge_of(dag.n(), forbidden, required);
            require(keeps(dag.pa, known), "the descent must start from a DAG that keeps the knowledge");
            require(gain.shape(0) == parents.shape(0) && gain.shape(1) == parents.shape(0), "gain must be [n, n]");
            for (std::size_t x = 0; x < gain.shape(0); ++x)
                for (std::size_t y = 0; y < x; ++y)
                    require(gain(x, y) == gain(y, x), "the gain of an edge must be the same both ways");
            require_summable({gain.data(), gain.size()}, gain.size(), "gains");
            {
                nb::gil_scoped_release released;
                descend_to_median(dag, {gain.data(), gain.size()}, known, max_width);
            }
            return to_numpy(dag.pa);
        },
        "parents"_a.noconvert(), "gain"_a.noconvert(), "forbidden"_a.noconvert() = nb::none(),
        "required"_a.noconvert() = nb::none(), "max_width"_a = -1);
}

}  // namespace fedbn::bindings
