// fedbn._core.cg_dca: what Python calls.
#include "border.hpp"
#include "cg_dca/local_search.hpp"
#include "cg_dca/minimum_norm.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<double, 1>;
using Places = Array<std::int64_t, 1>;

std::vector<double> values_of(const Numbers& array, std::size_t size) {
    require(array.shape(0) == size,
            "there must be ", size, " numbers, not ", array.shape(0));
    return {array.data(), array.data() + size};
}

std::vector<int> places_of(const Places& array, int below) {
    std::vector<int> places;
    for (std::int64_t v : span_of(array)) {
        require(v >= 0 && v < below,
            "places must be from 0 to below ", below, ", not ", v);
        places.push_back(int(v));
    }
    return places;
}

void require_node(int node, int n) {
    require(node >= 0 && node < n, "the node must be below ", n);
}

void require_same(const ClusterRows& clusters, int n) {
    bool same = clusters.members.words() == words_for(n);
    for (int c = 0; same && c < clusters.members.size(); ++c) same = is_subset(clusters.members[c], AllBelow{n});
    require(same, "clusters must be of the same variables");
}

/// Clusters over n variables, with what is priced by them.
ClusterRows rows_of(const Bits& members, const Numbers& duals, const Places& sizes, int n) {
    require(sizes.shape(0) == members.shape(0), "each cluster must have a size");
    return {sets_of(members, n), values_of(duals, members.shape(0)),
            places_of(sizes, std::numeric_limits<int>::max())};
}

}  // namespace

void cg_dca(nb::module_& m) {
    nb::class_<ClusterRows>(m, "ClusterRows",
        "Clusters that hold the priced node, with their duals and sizes.")
        .def(
            "__init__",
            [](ClusterRows* self, const Bits& members, const Numbers& duals, const Places& sizes, int n) {
                new (self) ClusterRows(rows_of(members, duals, sizes, n));
            },
            "members"_a.noconvert(), "duals"_a.noconvert(), "sizes"_a.noconvert(), "n"_a);
    nb::class_<Likelihood>(m, "Likelihood")
        .def(
            "prefixes",
            [](Likelihood& likelihood, const ClusterRows& clusters, int node, const Places& order, bool cut) {
                require_same(clusters, likelihood.n());
                require_node(node, likelihood.n());
                const auto places = places_of(order, likelihood.n());
                auto values = unlocked([&] { return prefixes(likelihood, clusters, node, places, cut); });
                return std::tuple(to_numpy(std::move(values.g)), to_numpy(std::move(values.f)),
                                  to_numpy(std::move(values.p)));
            },
            "clusters"_a, "node"_a, "order"_a.noconvert(), "cut"_a, "g, f and p of the prefixes of an order.")
        .def(
            "minimum_norm_point",
            [](Likelihood& likelihood, const ClusterRows& clusters, int node, const Places& base,
                const Places& free,
               const Numbers& y, const Numbers& start, double tolerance, int rounds) {
                const int n = likelihood.n();
                require_same(clusters, n);
                require_node(node, n);
                const auto inside = places_of(base, n), open = places_of(free, n);
                require_at_least(0, rounds, "rounds");
                const auto prices = values_of(y, n), first = values_of(start, open.size());
                return to_numpy(unlocked([&] {
                    return minimum_norm_point(likelihood, clusters, node, inside, open, prices, first,
                        {tolerance, rounds});
                }));
            },
            "clusters"_a, "node"_a, "base"_a.noconvert(), "free"_a.noconvert(), "y"_a.noconvert(),
                "start"_a.noconvert(),
            "tolerance"_a, "rounds"_a);
    nb::class_<GaussianLikelihood, Likelihood>(m, "GaussianLikelihood")
        .def(
            "__init__",
            [](GaussianLikelihood* self, const Array<double, 2>& correlation, double fit, double penalty) {
                const std::size_t n = correlation.shape(0);
                require(correlation.shape(1) == n, "correlations must be a square matrix");
                new (self) GaussianLikelihood(int(n), {correlation.data(), correlation.data() + n * n}, fit,
                    penalty);
            },
            "correlation"_a.noconvert(), "fit"_a, "penalty"_a)
        .def_prop_ro("correlation",
                     [](const GaussianLikelihood& gaussian) {
                         const std::size_t n = gaussian.n();
                         return to_numpy(std::vector(gaussian.correlations()), {n, n});
                     }, nb::rv_policy::automatic)
        .def_prop_ro("fit", &GaussianLikelihood::fit)
        .def_prop_ro("penalty", &GaussianLikelihood::penalty);
    nb::class_<CategoricalLikelihood, Likelihood>(m, "CategoricalLikelihood")
        .def(
            "__init__",
            [](CategoricalLikelihood* self, DiscreteScore& score) {
                require(score.kind() == ScoreKind::information, "the score must be BIC or AIC");
                new (self) CategoricalLikelihood(score);
            },
            nb::keep_alive<1, 2>(), "score"_a);
    m.def(
        "descend",
        [](Score& score, const ClusterRows& clusters, int node, const Array<Word, 1>& start, int most) {
            const int n = score.n(), words = words_for(n);
            require_same(clusters, n);
            require_node(node, n);
            require_at_least(0, most, "most");
            require(start.shape(0) == std::size_t(words), "the start must be a set of the variables");
            const NodeSet first = SetView(start.data(), words);
            require(!first.has(node) && is_subset(first, AllBelow{n}),
                    "the start must be a set of other variables");
            const auto found = unlocked([&] { return ParentSets(score, clusters, node).descend(first,
                most); });
            NodeSets sets(int(found.sets.size()), n);
            for (int k = 0; k < sets.size(); ++k) sets[k] = found.sets[k];
            return std::pair(to_numpy(sets), to_numpy(std::vector(found.values)));
        },
        "score"_a, "clusters"_a, "node"_a, "start"_a.noconvert(), "most"_a,
        "The parent sets on the way down from a start, and their values.");
    m.def(
        "greedy_order",
        [](Score& score, const ClusterRows& clusters, int node, const Places& order, const Places& ends,
            int places) {
            require_same(clusters, score.n());
            require_node(node, score.n());
            const auto members = places_of(order, score.n()), limits = places_of(ends,
                int(members.size()) + 1);
            require(limits.size() == members.size(), "each place must have an end");
            require_at_least(0, places, "places");
            require(std::ranges::find(members, node) == members.end(),
                    "the order must be of other variables");
            const auto found =
                unlocked([&] { return ParentSets(score, clusters, node).greedy_order(members, limits,
                    places); });
            return to_numpy(std::vector<std::int64_t>(found.begin(), found.end()));
        },
        "score"_a, "clusters"_a, "node"_a, "order"_a.noconvert(), "ends"_a.noconvert(), "places"_a,
        "The order with its ties broken by greedy descent.");
}

}  // namespace fedbn::bindings
