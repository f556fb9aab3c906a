// fedbn._core.families: clusters and orders.
#include "border.hpp"
#include "families/clusters.hpp"
#include "families/ordering.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<double, 1>;
using Nodes = Array<std::int32_t, 1>;

Columns columns_of(const Nodes& node, const Bits& parents, int n) {
    const auto nodes = span_of(node);
    require(n >= 0, "the number of nodes must not be negative");
    require(nodes.size() == parents.shape(0), "each family must have one node and one set of parents");
    require(std::ranges::all_of(nodes, [&](int v) { return v >= 0 && v < n; }),
            "nodes must be below ", n);
    return {n, {nodes.begin(), nodes.end()}, sets_of(parents, n)};
}

std::span<const double> one_each(const Numbers& values, std::size_t size, const char* what) {
    require(values.shape(0) == size, std::string("there must be one number for each ") + what);
    return span_of(values);
}

std::vector<int> order_of(const Array<std::int64_t, 1>& array, int n) {
    std::vector<int> order;
    std::vector<char> seen(n);
    for (std::int64_t v : span_of(array)) {
        require(v >= 0 && v < n && !seen[v], "an order must have each node once");
        seen[v] = true;
        order.push_back(int(v));
    }
    require(order.size() == std::size_t(n), "an order must have each node once");
    return order;
}

std::pair<nb::ndarray<nb::numpy, Word>, nb::ndarray<nb::numpy, double>> to_numpy(Clusters found) {
    return {fedbn::to_numpy(found.sets), fedbn::to_numpy(std::move(found.sides))};
}

}  // namespace

void bind_clusters(nb::module_& m) {
    m.def(
        "covering",
        [](const Nodes& node, const Bits& parents, const Array<Word, 1>& cluster, int k) {
            const int n = 64 * int(parents.shape(1));
            require(cluster.shape(0) == parents.shape(1), "a cluster must be a set of the families' nodes");
            const Columns columns = columns_of(node, parents, n);
            std::vector<std::int64_t> places;
            for (std::size_t f = 0; f < columns.node.size(); ++f)
                if (columns.covers(int(f), SetView(cluster.data(), int(cluster.shape(0))),
                    k)) places.push_back(f);
            return fedbn::to_numpy(std::move(places));
        },
        "node"_a.noconvert(), "parents"_a.noconvert(), "cluster"_a.noconvert(), "k"_a = 1,
        "int64: the families whose node is in the cluster with fewer than k parents inside.");
    m.def(
        "reduced_costs",
        [](const Nodes& node, const Numbers& cost, const Bits& parents, const Bits& clusters,
            const Numbers& duals,
           int n) {
            const Columns columns = columns_of(node, parents, n);
            const auto costs = one_each(cost, node.shape(0), "family");
            const auto prices = one_each(duals, clusters.shape(0), "cluster");
            auto found = reduced_costs(columns, costs, sets_of(clusters, n), prices);
            return std::tuple(found.bound, fedbn::to_numpy(std::move(found.least)),
                              fedbn::to_numpy(std::move(found.reduced)));
        },
        "node"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert(), "clusters"_a.noconvert(),
        "duals"_a.noconvert(), "n"_a,
            "The bound of cluster duals, least prices [n] and reduced costs [families].");
    m.def(
        "grow_clusters",
        [](const Nodes& node, const Numbers& x, const Bits& parents, int n, const Bits& seeds, int k,
            double least) {
            const Columns columns = columns_of(node, parents, n);
            const auto values = one_each(x, node.shape(0), "family");
            const NodeSets starts = sets_of(seeds, n);
            require_at_least(1, k, "k");
            return to_numpy(unlocked([&] { return grow_clusters(columns, values, starts, k, k - least); }));
        },
        "node"_a.noconvert(), "x"_a.noconvert(), "parents"_a.noconvert(), "n"_a, "seeds"_a.noconvert(), "k"_a,
        "least"_a, "k-clusters whose left side is below k - least, and these, by growth from each seed.");
    m.def(
        "walk_clusters",
        [](const Nodes& node, const Numbers& x, const Bits& parents, int n, const Bits& seeds, int k,
            int steps) {
            const Columns columns = columns_of(node, parents, n);
            const auto values = one_each(x, node.shape(0), "family");
            const NodeSets starts = sets_of(seeds, n);
            require_at_least(1, k, "k");
            require_at_least(0, steps, "steps");
            return to_numpy(unlocked([&] { return walk_clusters(columns, values, starts, k, steps); }));
        },
        "node"_a.noconvert(), "x"_a.noconvert(), "parents"_a.noconvert(), "n"_a, "seeds"_a.noconvert(), "k"_a,
        "steps"_a, "For each seed the best k-cluster of a tabu walk from it, and its left side.");
    nb::class_<Ordering>(m, "Ordering")
        .def(
            "__init__",
            [](Ordering* self, const Array<std::int64_t, 1>& start, const Numbers& cost,
                const Bits& parents) {
                auto first = starts_of<int>(start, cost.shape(0));
                const int n = int(first.size()) - 1;
                require(parents.shape(0) == cost.shape(0),
                    "each family must have one cost and one set of parents");
                new (self) Ordering(std::move(first), {cost.data(), cost.data() + cost.shape(0)},
                    sets_of(parents, n));
            },
            "start"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert())
        .def(
            "fit",
            [](const Ordering& ordering, const Array<std::int64_t, 1>& order) {
                auto found = ordering.fit(order_of(order, ordering.n()));
                return std::pair(found.cost, std::move(found.chosen));
            },
            "order"_a.noconvert(), "The cost of an order, and the families by node.")
        .def(
            "descend",
            [](const Ordering& ordering, const Array<std::int64_t, 1>& start) {
                auto order = order_of(start, ordering.n());
                const double cost = unlocked([&] { return ordering.descend(order); });
                return std::pair(cost, fedbn::to_numpy(std::vector<std::int64_t>(order.begin(),
                    order.end())));
            },
            "order"_a.noconvert(), "The cost and the order after insertions that help.");
}

}  // namespace fedbn::bindings
