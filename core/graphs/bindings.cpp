// fedbn._core.graphs: what Python calls.
#include "border.hpp"
#include "graphs/averaging.hpp"
#include "graphs/elimination.hpp"
#include "graphs/knowledge.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

/// A symmetric matrix of bits without its diagonal.
NodeSets undirected(const Bits& around) {
    NodeSets sets = square_sets_of(around);
    require(sets == sets.transposed(), "neighbours must be mutual");
    for (int v = 0; v < sets.size(); ++v) require(!sets[v].has(v), "a node is no neighbour of itself");
    return sets;
}

Pdag pdag_of(const Bits& parents, const Bits& neighbours) {
    NodeSets pa = square_sets_of(parents), ch = pa.transposed();
    require(parents.shape(0) == neighbours.shape(0), "one graph has as many parent sets as neighbour sets");
    NodeSets ne = undirected(neighbours);
    for (int v = 0; v < ne.size(); ++v)
        require(!any((pa[v] | ch[v]) & ne[v]), "two nodes must not be joined by both an arc and an edge");
    return {std::move(pa), std::move(ch), std::move(ne)};
}

void require_permutation(const std::vector<int>& order, int n) {
    NodeSet seen(n);
    require(std::ssize(order) == n, "an order has every node once");
    for (int v : order) {
        require(0 <= v && v < n && !seen.has(v), "an order has every node once");
        seen.insert(v);
    }
}

}  // namespace

void graphs(nb::module_& m) {
    m.def(
        "transposed", [](const Bits& rows) { return to_numpy(square_sets_of(rows).transposed()); },
        "rows"_a.noconvert(), "The transpose of a square bit matrix.");
    m.def(
        "topological_order",
        [](const Bits& parents) {
            NodeSets pa = square_sets_of(parents), ch = pa.transposed();
            return topological_order({std::move(pa), std::move(ch)});
        },
        "parents"_a.noconvert(), "First in, first out; shorter than n where there is a cycle.");
    m.def(
        "cpdag",
        [](const Bits& parents) {
            const Pdag g = cpdag_of(dag_of(parents));
            return std::tuple(to_numpy(g.pa), to_numpy(g.ch), to_numpy(g.ne));
        },
        "parents"_a.noconvert(), "Parents, children and undirected neighbours in the CPDAG of a DAG.");
    m.def(
        "moral_pairs",
        [](const Array<std::int32_t, 2>& arcs, std::int64_t n) {
            require_number_of_nodes(n);
            require_arcs(arcs, n);
            auto pairs = moral_pairs({arcs.data(), arcs.size()}, int(n));
            const std::size_t size = pairs.size() / 2;
            return to_numpy(std::move(pairs), {size, std::size_t{2}});
        },
        "arcs"_a.noconvert(), "n"_a, "The pairs a < b that the moral graph of a DAG joins, ascending.");
    m.def(
        "extension",
        [](const Bits& parents, const Bits& neighbours) -> nb::object {
            const auto dag = extension_of(pdag_of(parents, neighbours));
            return dag ? nb::cast(to_numpy(dag->pa)) : nb::none();
        },
        "parents"_a.noconvert(), "neighbours"_a.noconvert(),
        "The parents in a consistent extension of a PDAG, or None.");
    m.def(
        "maximally_oriented",
        [](const Bits& parents, const Bits& neighbours, const Bits& forbidden, const Bits& required) -> nb::object {
            const Pdag pdag = pdag_of(parents, neighbours);
            const auto g = maximally_oriented(pdag, knowledge_of(pdag.n(), forbidden, required));
            if (!g) return nb::none();
            return nb::make_tuple(to_numpy(g->pa), to_numpy(g->ch), to_numpy(g->ne));
        },
        "parents"_a.noconvert(), "neighbours"_a.noconvert(), "forbidden"_a.noconvert(), "required"_a.noconvert(),
        "Parents, children and neighbours of a CPDAG, directed as knowledge directs it, or None.");
    m.def(
        "constrained_extension",
        [](const Bits& parents, const Bits& neighbours, const Bits& forbidden, const Bits& required) -> nb::object {
            const Pdag pdag = pdag_of(parents, neighbours);
            const auto found = constrained_extension(pdag, knowledge_of(pdag.n(), forbidden, required));
            return found ? nb::cast(to_numpy(found->pa)) : nb::none();
        },
        "parents"_a.noconvert(), "neighbours"_a.noconvert(), "forbidden"_a.noconvert(), "required"_a.noconvert(),
        "The parents in a member of a class that keeps the knowledge, or None.");
    m.def(
        "averaged_arcs",
        [](const Array<std::int64_t, 2>& pairs, const Bits& forbidden, const Bits& required) {
            const std::int64_t n = std::int64_t(forbidden.shape(0));
            const Knowledge known = knowledge_of(int(n), forbidden, required);
            require(pairs.shape(1) == 6, "a, b, the votes on a -> b and b -> a, the threshold and the weight of a pair");
            require_summable({pairs.data(), pairs.size()}, 2, "votes");
            std::vector<PairStrength> all;
            std::int64_t before = -1;
            for (std::size_t k = 0; k < pairs.shape(0); ++k) {
                const std::int64_t a = pairs(k, 0), b = pairs(k, 1);
                require(0 <= a && a < b && b < n && a * n + b > before, "pairs are of two nodes, the smaller first, and ascend");
                require_at_least(0, pairs(k, 5), "the weight of those who see a pair");
                all.push_back({int(a), int(b), pairs(k, 2), pairs(k, 3), pairs(k, 4), pairs(k, 5)});
                before = a * n + b;
            }
            return to_numpy(averaged_arcs(all, known));
        },
        "pairs"_a.noconvert(), "forbidden"_a.noconvert(), "required"_a.noconvert(),
        "pairs [m, 6]: a < b, the votes on a -> b and on b -> a, a threshold, and the weight of those who see the pair. "
        "The parents in the DAG of the edges that have more votes than the threshold, or all that are possible.");
    m.def(
        "fill_order",
        [](const Bits& around) {
            auto [order, width] = fill_order(undirected(around));
            return std::pair(order, width);
        },
        "around"_a.noconvert(), "The order of min-fill, and its width.");
    m.def(
        "cardinality_order", [](const Bits& around) { return cardinality_order(undirected(around)); },
        "around"_a.noconvert());
    m.def(
        "order_width",
        [](const Bits& around, const std::vector<int>& order) {
            auto sets = undirected(around);
            require_permutation(order, sets.size());
            return order_width(std::move(sets), order);
        },
        "around"_a.noconvert(), "order"_a);
}

}  // namespace fedbn::bindings
