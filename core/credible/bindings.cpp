// fedbn._core.credible: what Python calls.
#include <cmath>
#include <nanobind/stl/unique_ptr.h>

#include "border.hpp"
#include "credible/class_keys.hpp"
#include "credible/listing.hpp"
#include "credible/ways.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<double, 1>;
using Places = Array<std::int64_t, 1>;

std::vector<double> values_of(const Numbers& array, std::size_t size, const char* name) {
    require(array.shape(0) == size,
            name, " must have ", size, " values, not ", array.shape(0));
    return {array.data(), array.data() + size};
}

std::unique_ptr<Problem> problem_of(const Places& start, const Numbers& cost, const Bits& parents,
    double limit) {
    auto first = starts_of<int>(start, cost.shape(0));
    const int n = int(first.size()) - 1;
    require_numbers(span_of(cost), "costs");
    require(parents.shape(0) == cost.shape(0), "each family must have one cost and one set of parents");
    for (int v = 0; v < n; ++v)
        require(std::is_sorted(cost.data() + first[v], cost.data() + first[v + 1]),
                "the families of a node must be sorted by cost");
    return std::make_unique<Problem>(std::move(first), values_of(cost, cost.shape(0), "costs"),
        sets_of(parents, n),
                                     limit);
}

/// A diagram with profiles of all states, which belong to it.
struct Ways {
    const Diagram* of;
    bool to_end;
    std::vector<Profiles> profiles;
};

const std::vector<Profiles>& profiles_of(const Ways& ways, const Diagram& diagram, bool to_end) {
    require(ways.of == &diagram && ways.to_end == to_end, "the ways must be those of the diagram");
    return ways.profiles;
}

auto to_numpy(Choices found, std::size_t n) {
    return fedbn::to_numpy(std::move(found.families), {found.number, n});
}

Barred barred_of(const Places& start, const Array<std::int32_t, 1>& family, std::size_t families) {
    const auto first = starts_of<std::size_t>(start, family.shape(0));
    require(first.size() == families + 1, "each family must have a list of barred ones");
    const auto all = span_of(family);
    require(std::ranges::all_of(all, [&](int f) { return f >= 0 && std::size_t(f) < families; }),
            "barred families must be families");
    Barred barred;
    for (std::size_t f = 0; f < families; ++f)
        barred.emplace_back(all.begin() + first[f], all.begin() + first[f + 1]);
    return barred;
}

auto class_keys(const Array<std::int32_t, 2>& rows, const Places& nodes, const Places& node,
    const Bits& parents,
                bool shielded) {
    const std::size_t n = 64 * parents.shape(1), m = nodes.shape(0);
    const auto in_range = [](auto values, std::size_t size) {
        return std::ranges::all_of(values, [&](auto v) { return v >= 0 && std::size_t(v) < size; });
    };
    require(rows.shape(1) == m, "a row must have one family for each node");
    require(node.shape(0) == parents.shape(0), "each family must have one node and one set of parents");
    require(in_range(span_of(nodes), n) && in_range(span_of(node), n),
        "nodes must be below ", n);
    require(in_range(std::span(rows.data(), rows.size()), node.shape(0)), "rows must hold families");
    const NodeSets sets = sets_of(parents, int(n));
    std::vector<Word> keys;
    unlocked([&] {
        ClassKeys made(span_of(nodes), span_of(node), sets, shielded);
        for (std::size_t k = 0; k < rows.shape(0); ++k) {
            if (k % 4096 == 0) notice_interrupt();
            const auto [first, second] = made.of({rows.data() + k * m, m});
            keys.push_back(first);
            keys.push_back(second);
        }
        return 0;
    });
    return fedbn::to_numpy(std::move(keys), {rows.shape(0), 2});
}

}  // namespace

void credible(nb::module_& m) {
    nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
        try {
            std::rethrow_exception(thrown);
        } catch (const DiagramLimit& error) {
            PyErr_SetString(nb::module_::import_("fedbn.credible.limits").attr("DiagramLimit").ptr(),
                error.what());
        }
    });
    m.attr("TOGETHER") = kTogether;
    m.attr("BLUR") = kBlur;
    nb::class_<Stop>(m, "Stop", "Ends computations that were given it.")
        .def(nb::init<>())
        .def("set", [](Stop& stop) { stop.set = true; })
        .def_prop_ro("is_set", [](const Stop& stop) { return stop.set.load(); });

    nb::class_<Problem>(m, "Problem")
        .def_static(
            "by_table",
            [](const Places& start, const Numbers& cost, const Bits& parents, double limit,
                const Numbers& lowest,
               const Numbers& completion) {
                auto problem = problem_of(start, cost, parents, limit);
                const int n = problem->n();
                require(n < 40 && completion.shape(0) == std::size_t{1} << n,
                    "the table must have a value for each set");
                require(lowest.shape(0) == std::size_t(n), "each node must have a least cost");
                unlocked([&] { return problem->bound_by(span_of(completion), span_of(lowest)), 0; });
                return problem;
            },
            "start"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert(), "limit"_a,
                "lowest"_a.noconvert(),
            "completion"_a.noconvert())
        .def_static(
            "by_clusters",
            [](const Places& start, const Numbers& cost, const Bits& parents, double limit,
                const Numbers& lowest,
               const Numbers& least, const Numbers& reduced, const Bits& clusters, const Numbers& duals) {
                auto problem = problem_of(start, cost, parents, limit);
                const std::size_t n = problem->n();
                problem->bound_by({sets_of(clusters, int(n)), values_of(duals, clusters.shape(0), "duals"),
                                   values_of(lowest, n, "least costs"), values_of(least, n, "least prices"),
                                   values_of(reduced, cost.shape(0), "reduced costs")});
                return problem;
            },
            "start"_a.noconvert(), "cost"_a.noconvert(), "parents"_a.noconvert(), "limit"_a,
                "lowest"_a.noconvert(),
            "least"_a.noconvert(), "reduced"_a.noconvert(), "clusters"_a.noconvert(), "duals"_a.noconvert());

    nb::class_<Ways>(m, "Ways");
    nb::class_<Diagram>(m, "Diagram")
        .def_prop_ro("shift", &Diagram::shift)
        .def(
            "profile",
            [](const Diagram& diagram, std::size_t memory, std::size_t piece, const Stop& stop) {
                const auto groups = unlocked([&] { return whole_profile(diagram, {memory, stop}, piece); });
                std::vector<double> cost;
                std::vector<std::int64_t> ways;
                for (const Group& group : groups) {
                    cost.push_back(group.cost);
                    ways.push_back(group.ways);
                }
                return std::pair(fedbn::to_numpy(std::move(cost)), std::move(ways));
            },
            "memory"_a, "piece"_a, "stop"_a)
        .def(
            "ways_from_top",
            [](const Diagram& diagram, std::size_t memory, const Stop& stop) {
                return Ways{&diagram, false, unlocked([&] { return ways_from_top(diagram, {memory,
                    stop}); })};
            },
            nb::keep_alive<0, 1>(), "memory"_a, "stop"_a)
        .def(
            "ways_to_end",
            [](const Diagram& diagram, std::size_t memory, const Stop& stop) {
                return Ways{&diagram, true, unlocked([&] { return ways_to_end(diagram, {memory, stop}); })};
            },
            nb::keep_alive<0, 1>(), "memory"_a, "stop"_a)
        .def(
            "family_weights",
            [](const Diagram& diagram, const Ways& from_top, const Ways& to_end, double budget,
               const Numbers& other_excess, const Numbers& other_weight) {
                require(other_excess.shape(0) == other_weight.shape(0), "each excess must have a weight");
                const auto &above = profiles_of(from_top, diagram, false), &below = profiles_of(to_end,
                    diagram, true);
                return fedbn::to_numpy(unlocked([&] {
                    return family_weights(diagram, above, below, budget, {span_of(other_excess),
                        span_of(other_weight)});
                }));
            },
            "from_top"_a, "to_end"_a, "budget"_a, "other_excess"_a.noconvert(), "other_weight"_a.noconvert())
        .def(
            "draw",
            [](const Diagram& diagram, const Ways& to_end, double excess, const Numbers& uniform) {
                require(uniform.shape(0) == std::size_t(diagram.n()),
                    "a draw takes one number for each node");
                for (double u : span_of(uniform)) require(0 <= u && u < 1, "draws must be in [0, 1)");
                auto chosen = draw(diagram, profiles_of(to_end, diagram, true), excess, span_of(uniform));
                require(chosen.size() == std::size_t(diagram.n()), "the excess must be one of the diagram's");
                return fedbn::to_numpy(std::move(chosen));
            },
            "to_end"_a, "excess"_a, "uniform"_a.noconvert());
    m.def(
        "build_diagram",
        [](const Problem& problem, double budget, std::size_t memory, const Stop& stop) {
            return unlocked([&] { return build_diagram(problem, budget, {memory, stop}); });
        },
        "problem"_a, "budget"_a, "memory"_a, "stop"_a);

    nb::class_<PathListing>(m, "PathListing")
        .def(
            "__init__",
            [](PathListing* self, const Diagram& diagram, double budget,
               const std::optional<std::pair<Places, Array<std::int32_t, 1>>>& barred) {
                new (self) PathListing(
                    diagram, budget, barred ? barred_of(barred->first, barred->second,
                        diagram.cost.size()) : Barred{});
            },
            nb::keep_alive<1, 2>(), "diagram"_a, "budget"_a, "barred"_a.noconvert().none())
        .def(
            "next",
            [](PathListing& listing, std::size_t most) {
                auto [found, excess] = unlocked([&] { return listing.next(most); });
                const std::size_t n = listing.n();
                return std::pair(to_numpy(std::move(found), n), fedbn::to_numpy(std::move(excess)));
            },
            "most"_a);
    nb::class_<DepthFirst>(m, "DepthFirst")
        .def(nb::init<const Problem&>(), nb::keep_alive<1, 2>(), "problem"_a)
        .def_prop_ro("done", &DepthFirst::done)
        .def_prop_ro("steps", &DepthFirst::steps)
        .def(
            "next",
            [](DepthFirst& search, std::size_t most, std::int64_t max_steps, const Stop& stop) {
                return to_numpy(unlocked([&] { return search.next(most, max_steps, stop); }), search.n());
            },
            "most"_a, "max_steps"_a, "stop"_a);
    m.def("class_keys", &class_keys, "rows"_a.noconvert(), "nodes"_a.noconvert(), "node"_a.noconvert(),
          "parents"_a.noconvert(), "shielded"_a, "uint64 [K, 2]: of DAGs, rows of families by node.");
}

}  // namespace fedbn::bindings
