// fedbn._core.search: what Python calls.
#include "border.hpp"
#include "search/boss.hpp"
#include "search/class_search.hpp"
#include "search/kicks.hpp"
#include "search/lookout.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

constexpr auto kNoLimit = std::numeric_limits<std::int64_t>::max();

Dag start_of(const Score& score, const Bits& parents) {
    require(int(parents.shape(0)) == score.n(), "the start and the score must have the same variables");
    return dag_of(parents);
}

std::int64_t limit_of(std::optional<std::int64_t> limit) {
    require_at_least(0, limit.value_or(0), "a limit");
    return limit.value_or(kNoLimit);
}

/// The CPDAG as bits [n, W]: row x has y for x -> y and for x - y.
auto children_and_neighbours(const Pdag& cpdag) {
    NodeSets rows = cpdag.ch;
    for (int v = 0; v < cpdag.n(); ++v) rows[v] |= cpdag.ne[v];
    return to_numpy(rows);
}

/// (x, y, members of the set, gain, CPDAG that it leads to or None)
auto as_tuple(const Lead& lead) {
    std::vector<int> set;
    list(lead.by.set, set);
    const auto to = lead.to ? nb::cast(children_and_neighbours(*lead.to)) : nb::none();
    return nb::make_tuple(lead.by.x, lead.by.y, set, lead.by.gain, to);
}

auto leads(Score& score, const Bits& parents, Kind kind) {
    Rules rules{kNoLimit, kNoLimit, {}, {}, -kInfinity};
    std::vector<nb::tuple> tuples;
    for (const Lead& lead : ClassSearch(score, start_of(score, parents), std::move(rules)).leads(kind))
        tuples.push_back(as_tuple(lead));
    return tuples;
}

using Limit = std::optional<std::int64_t>;

void bind_class_search(nb::module_& m) {
    nb::enum_<Kind>(m, "Kind")
        .value("insert", Kind::insert)
        .value("delete", Kind::remove)
        .value("turn", Kind::turn);
    nb::enum_<Outcome>(m, "Outcome")
        .value("done", Outcome::done)
        .value("paused", Outcome::paused)
        .value("broken", Outcome::broken);
    nb::class_<ClassSearch>(m, "ClassSearch")
        .def(
            "__init__",
            [](ClassSearch* self, Score& score, const Bits& parents, const std::optional<Bits>& forbidden,
               const std::optional<Bits>& required, Limit max_parents, Limit max_t,
               std::optional<std::uint64_t> seed) {
                Rules rules{limit_of(max_parents), limit_of(max_t), {}, {}};
                if (forbidden || required) rules.knowledge = knowledge_of(score.n(), forbidden, required);
                if (seed) rules.random_ties = SplitMix64{*seed};
                nb::gil_scoped_release released;
                new (self) ClassSearch(score, start_of(score, parents), std::move(rules));
            },
            nb::keep_alive<1, 2>(), "score"_a, "parents"_a.noconvert(),
            "forbidden"_a.noconvert() = nb::none(), "required"_a.noconvert() = nb::none(),
            "max_parents"_a = nb::none(), "max_t"_a = nb::none(),
            "seed"_a = nb::none(), "A search at the class of a DAG; the seed is for ties at random.")
        .def(
            "climb",
            [](ClassSearch& s, const std::vector<Kind>& kinds, std::optional<std::int64_t> budget) {
                require_at_least(0, budget.value_or(0), "budget");
                return s.climb(kinds, budget);
            },
            nb::call_guard<nb::gil_scoped_release>(), "kinds"_a, "budget"_a = nb::none())
        .def(
            "member",
            [](ClassSearch& s) {
                const auto dag = s.member();
                return dag ? std::optional(to_numpy(dag->pa)) : std::nullopt;
            },
            "The parents of a member of the class, if one satisfies the knowledge.")
        .def("total", &ClassSearch::total, nb::call_guard<nb::gil_scoped_release>())
        .def("cpdag", [](const ClassSearch& s) { return children_and_neighbours(s.graph().cpdag); })
        .def_prop_ro("steps",
                     [](const ClassSearch& s) { return std::vector(s.steps().begin(), s.steps().end()); })
        .def_prop_ro("met_max_parents", &ClassSearch::met_max_parents)
        .def_prop_ro("met_max_t", &ClassSearch::met_max_t);
    m.def("leads", &leads, "score"_a, "parents"_a.noconvert(), "kind"_a,
          "Every valid operator of one kind, (x, y, set, gain, CPDAG that it leads to).");
}

HillRules hill_rules(const Score& score, const Bits& forbidden, const Bits& required, Limit max_parents) {
    return {knowledge_of(score.n(), forbidden, required), limit_of(max_parents)};
}

void bind_hill(nb::module_& m) {
    nb::class_<Hill>(m, "Hill")
        .def(
            "__init__",
            [](Hill* self, Score& score, const Bits& parents, const Bits& forbidden, const Bits& required,
               Limit max_parents, std::int64_t tabu_length, std::int64_t patience) {
                auto rules = hill_rules(score, forbidden, required, max_parents);
                require_at_least(0, tabu_length, "tabu_length");
                require_at_least(0, patience, "patience");
                rules.tabu_length = tabu_length, rules.patience = patience;
                nb::gil_scoped_release released;
                new (self) Hill(score, start_of(score, parents), std::move(rules));
            },
            nb::keep_alive<1, 2>(), "score"_a, "parents"_a.noconvert(), "forbidden"_a.noconvert(),
            "required"_a.noconvert(), "max_parents"_a.none(), "tabu_length"_a, "patience"_a)
        .def(
            "climb",
            [](Hill& hill, Limit budget) {
                const auto steps = limit_of(budget);
                hill.prepare();
                return hill.climb(steps);
            },
            nb::call_guard<nb::gil_scoped_release>(), "budget"_a.none())
        .def("best", [](const Hill& hill) { return to_numpy(hill.best_parents); }, "Parents in the best DAG.")
        .def("parents", [](const Hill& hill) { return to_numpy(hill.place.dag.pa); }, "In the present DAG.")
        .def("candidates", [](const Hill& hill) { return to_numpy(hill.candidates); })
        .def(
            "changes",
            [](const Hill& hill) {
                const std::size_t n = hill.n();
                return to_numpy(hill.place.change, {n, n});
            },
            "[y, x]: what the score of y gains if x -> y is added, or removed.")
        .def("bounds", [](const Hill& hill) { return to_numpy(hill.place.bound); },
             "No permitted move on an edge into y gains more.")
        .def_prop_ro("steps", [](const Hill& hill) { return hill.steps; })
        .def_prop_ro("met_max_parents", [](const Hill& hill) { return hill.met_max_parents; });
}

void bind_kicks(nb::module_& m) {
    nb::class_<Kicks>(m, "Kicks")
        .def(
            "__init__",
            [](Kicks* self, Score& score, const Bits& parents, const Bits& forbidden, const Bits& required,
               Limit max_parents, std::int64_t patience, std::int64_t reversals, std::int64_t candidates,
               std::int64_t strongest, std::uint64_t seed) {
                require_at_least(0, patience, "patience");
                require_at_least(0, reversals, "reversals");
                require_at_least(0, candidates, "candidates");
                require_at_least(1, strongest, "strongest");
                nb::gil_scoped_release released;
                new (self) Kicks(score, start_of(score, parents),
                                 hill_rules(score, forbidden, required, max_parents),
                                 {patience, reversals, candidates, strongest}, seed);
            },
            nb::keep_alive<1, 2>(), "score"_a, "parents"_a.noconvert(), "forbidden"_a.noconvert(),
            "required"_a.noconvert(), "max_parents"_a.none(), "patience"_a, "reversals"_a, "candidates"_a,
            "strongest"_a, "seed"_a)
        .def(
            "iterate", [](Kicks& kicks, Limit budget) { return kicks.iterate(limit_of(budget)); },
            nb::call_guard<nb::gil_scoped_release>(), "budget"_a.none())
        .def_prop_ro(
            "hill", [](const Kicks& kicks) { return &kicks.hill(); }, nb::rv_policy::reference_internal)
        .def_prop_ro("kicks", &Kicks::kicks);
}

void require_order(const std::vector<int>& order, const BossRules& rules) {
    const int n = rules.knowledge.required.size();
    require(std::ssize(order) == n, "an order must have every variable of the score");
    std::vector<int> rank(n, -1);
    for (int place = 0; place < n; ++place) {
        const int v = order[place];
        require(0 <= v && v < n && rank[v] < 0, "an order must have every variable once, not ", v);
        rank[v] = place;
    }
    for (int y = 0; y < n; ++y)
        for (int x : members(rules.knowledge.required[y]))
            require(rank[x] < rank[y], "an order must have required parents first, not ", y, " before ", x);
}

void bind_boss(nb::module_& m) {
    nb::class_<Boss>(m, "Boss")
        .def(
            "__init__",
            [](Boss* self, Score& score, const std::vector<int>& order, const Bits& forbidden, const Bits& required,
               Limit max_parents, std::int64_t memory, Limit candidates) {
                require_at_least(0, memory, "memory");
                BossRules rules{knowledge_of(score.n(), forbidden, required), limit_of(max_parents),
                                  std::size_t(memory), limit_of(candidates)};
                require_order(order, rules);
                new (self) Boss(score, order, std::move(rules));
            },
            nb::keep_alive<1, 2>(), "score"_a, "order"_a, "forbidden"_a.noconvert(), "required"_a.noconvert(),
            "max_parents"_a.none(), "memory"_a, "candidates"_a.none(),
            "A search at an order that the required edges follow.")
        .def(
            "go_to",
            [](Boss& boss, const std::vector<int>& order) {
                require_order(order, boss.rules());
                boss.go_to(order);
            },
            "order"_a, "Begin anew at another order that the required edges follow.")
        .def(
            "improve", [](Boss& boss, Limit budget) { return boss.improve(limit_of(budget)); },
            nb::call_guard<nb::gil_scoped_release>(), "budget"_a.none(),
            "Give each of so many nodes its best place; whether the search is finished.")
        .def(
            "parents",
            [](Boss& boss) {
                const auto parents = [&] {
                    nb::gil_scoped_release released;
                    return boss.parents();
                }();
                return to_numpy(parents);
            },
            "In the present order.")
        .def_prop_ro("order", [](const Boss& boss) { return to_numpy(boss.order()); }, nb::rv_policy::automatic)
        .def_prop_ro("total", &Boss::total, "The score of the present order.")
        .def_prop_ro("moves", &Boss::moves)
        .def_prop_ro("emptied", &Boss::emptied, "How often the trees were begun anew, as they were full.")
        .def_prop_ro("met_max_parents", &Boss::met_max_parents)
        .def_prop_ro("met_candidates", &Boss::met_candidates);
}

/// (parents of the DAG reached, nodes and parents of the families that were wanted)
nb::tuple look_around_from(const std::vector<int>& nodes, const Bits& parents, const Array<double, 1>& scores,
                           const Bits& start, const Bits& forbidden, const Bits& required, bool kicks,
                           std::int64_t patience) {
    const int n = static_cast<int>(start.shape(0));
    require(nodes.size() == parents.shape(0) && nodes.size() == scores.shape(0),
            "there must be a node, parents and a score for each family");
    require_finite(span_of(scores), "scores");
    require_at_least(0, patience, "patience");
    const NodeSets sets = sets_of(parents, n);
    KnownFamilies families(n);
    std::vector<int> of_one;
    for (std::size_t f = 0; f < nodes.size(); ++f) {
        require(0 <= nodes[f] && nodes[f] < n, "a node must be from 0 to below ", n, ", not ", nodes[f]);
        list(sets[f], of_one);
        require(!sets[f].has(nodes[f]), "a node must not be among its parents");
        families.learn(nodes[f], of_one, scores.data()[f]);
    }
    Dag dag = dag_of(start);
    for (int v = 0; v < n; ++v) {
        list(dag.pa[v], of_one);
        require(!std::isnan(families.local(v, of_one)), "the score of every family of the start must be known");
    }
    const Knowledge known = knowledge_of(n, forbidden, required);
    {
        nb::gil_scoped_release released;
        dag = look_around(families, std::move(dag), known, kicks, patience);
    }
    NodeSets wanted(static_cast<int>(families.wanted().size()), n);
    std::vector<std::int64_t> of;
    for (const Family& family : families.wanted()) {
        for (int p : family.parents) wanted[static_cast<int>(of.size())].insert(p);
        of.push_back(family.node);
    }
    return nb::make_tuple(to_numpy(dag.pa), to_numpy(std::move(of)), to_numpy(wanted));
}

}  // namespace

void search(nb::module_& m) {
    m.def("look_around", &look_around_from, "nodes"_a, "parents"_a.noconvert(), "scores"_a.noconvert(),
          "start"_a.noconvert(), "forbidden"_a.noconvert(), "required"_a.noconvert(), "kicks"_a, "patience"_a,
          "Where known scores of families lead from a DAG, and which others were wanted on the way.");
    bind_class_search(m);
    bind_hill(m);
    bind_kicks(m);
    bind_boss(m);
}

}  // namespace fedbn::bindings
