// fedbn._core.secure: what Python calls.
#include "border.hpp"
#include "consensus/pattern.hpp"
#include "secure/answers.hpp"

namespace fedbn::bindings {

using namespace nb::literals;

namespace {

using Numbers = Array<std::int64_t, 1>;

void require_node(std::int64_t v, std::int64_t n) {
    require(0 <= v && v < n, "nodes are numbers below ", n);
}

std::vector<int> distinct_nodes(const Numbers& given, NodeSet& seen, int n) {
    std::vector<int> nodes;
    for (auto v : span_of(given)) {
        require_node(v, n);
        require(!seen.has(static_cast<int>(v)), "a node is removed once");
        seen.insert(static_cast<int>(v));
        nodes.push_back(static_cast<int>(v));
    }
    return nodes;
}

/// Parents, children and neighbours of P: [3, n, W].
Pdag pdag_of(const ManyBits& p) {
    require(p.shape(0) == 3, "P has parents, children and neighbours");
    const std::size_t n = p.shape(1), words = p.shape(2);
    const auto part = [&](std::size_t k) {
        const std::size_t shape[] = {n, words};
        return square_sets_of(Bits(nb::ndarray<const Word, nb::ndim<2>, nb::c_contig, nb::device::cpu>(
            const_cast<Word*>(p.data()) + k * n * words, 2, shape, nb::handle())));
    };
    Pdag g{part(0), part(1), part(2)};
    require(g.ch == g.pa.transposed() && g.ne == g.ne.transposed(), "children and neighbours fit the parents");
    for (int v = 0; v < g.n(); ++v)
        require(!g.pa[v].has(v) && !g.ne[v].has(v) && !any((g.pa[v] | g.ch[v]) & g.ne[v]) && !any(g.pa[v] & g.ch[v]),
                "two different nodes are joined by one arc or one edge");
    return g;
}

auto to_numpy_all(const Pdag& g) {
    std::vector<Word> bits;
    for (const auto* part : {&g.pa, &g.ch, &g.ne}) bits.insert(bits.end(), part->bits().begin(), part->bits().end());
    return to_numpy(std::move(bits), {std::size_t{3}, std::size_t(g.n()), std::size_t(g.pa.words())});
}

auto to_numpy_sets(const std::vector<Deletion>& found, NodeSet Deletion::* part, int n) {
    NodeSets sets(static_cast<int>(found.size()), n);
    for (int q = 0; q < sets.size(); ++q) sets[q] = found[q].*part;
    return to_numpy(sets);
}

void bind_own_inputs(nb::module_& m) {
    nb::class_<OwnInputs>(m, "OwnInputs")
        .def(
            "__init__",
            [](OwnInputs* self, const ManyBits& parents) {
                require(parents.shape(0) > 0, "a site has DAGs");
                new (self) OwnInputs(dags_of(parents));
            },
            "parents"_a.noconvert(), "A site's DAGs while they lose the arcs of deletions.")
        .def(
            "prune",
            [](OwnInputs& own, int x, int y, const Bits& given) {
                const int n = own.inputs()[0].n();
                const NodeSets s = sets_of(given, n);
                require_node(x, n), require_node(y, n);
                require(given.shape(0) == 1 && x != y && !s[0].has(x) && !s[0].has(y), "x, y and S are disjoint");
                own.prune(x, y, s[0]);
            },
            "x"_a, "y"_a, "given"_a.noconvert(), "Remove the arcs of each DAG's minimum cut nearest to y given S.")
        .def(
            "cut_sums",
            [](OwnInputs& own, const Numbers& weights, const Array<std::int64_t, 2>& xy, const Bits& given, std::int64_t largest) {
                const int n = own.inputs()[0].n();
                const NodeSets s = sets_of(given, n);
                require(weights.shape(0) == own.inputs().size(), "one weight for each DAG");
                require_weights(span_of(weights), n);
                require_at_least(0, largest, "largest");
                require(xy.shape(1) == 2 && xy.shape(0) == given.shape(0), "x, y and S for each cut");
                for (std::size_t q = 0; q < xy.size(); ++q) require_node(xy.data()[q], n);
                std::vector<std::int64_t> sums;
                {
                    nb::gil_scoped_release released;
                    for (std::size_t q = 0; q < xy.shape(0); ++q) {
                        const int x = static_cast<int>(xy(q, 0)), y = static_cast<int>(xy(q, 1));
                        const SetView q_given = std::as_const(s)[static_cast<int>(q)];
                        require(x != y && !q_given.has(x) && !q_given.has(y), "x, y and S are disjoint");
                        sums.push_back(own.cut_sum(span_of(weights), x, y, s[static_cast<int>(q)], largest));
                    }
                }
                return to_numpy(std::move(sums));
            },
            "weights"_a.noconvert(), "xy"_a.noconvert(), "given"_a.noconvert(), "largest"_a)
        .def(
            "parents",
            [](const OwnInputs& own) {
                std::vector<Word> bits;
                for (const auto& input : own.inputs()) {
                    const auto some = input.dag().pa.bits();
                    bits.insert(bits.end(), some.begin(), some.end());
                }
                const auto& pa = own.inputs()[0].dag().pa;
                return to_numpy(std::move(bits),
                                {own.inputs().size(), std::size_t(pa.size()), std::size_t(pa.words())});
            });
}

}  // namespace

void secure(nb::module_& m) {
    bind_own_inputs(m);
    m.def(
        "cost_sums",
        [](const ManyBits& parents, const Numbers& weights, const Numbers& taken, const Numbers& chain) {
            require(parents.shape(0) > 0 && weights.shape(0) == parents.shape(0), "one weight for each DAG");
            const std::size_t n = parents.shape(1);
            require_weights(span_of(weights), n);
            NodeSet seen(static_cast<int>(n));
            const auto first = distinct_nodes(taken, seen, int(n)), then = distinct_nodes(chain, seen, int(n));
            return to_numpy(cost_sums(dags_of(parents), span_of(weights), first, then), {then.size() + 1, n});
        },
        "parents"_a.noconvert(), "weights"_a.noconvert(), "taken"_a.noconvert(), "chain"_a.noconvert(),
        "Weighted sums of the order heuristic's costs, int64 [1 + len(chain), n].");
    m.def(
        "valid_deletions",
        [](const ManyBits& p, int k_max, std::size_t max_operators) -> nb::object {
            const Pdag g = pdag_of(p);
            require_at_least(0, k_max, "k_max");
            const auto found = valid_deletions(g, k_max, max_operators);
            if (!found) return nb::none();
            std::vector<std::int64_t> xy;
            for (const auto& each : *found) xy.insert(xy.end(), {each.x, each.y});
            return nb::make_tuple(to_numpy(std::move(xy), {found->size(), std::size_t{2}}),
                                  to_numpy_sets(*found, &Deletion::s, g.n()), to_numpy_sets(*found, &Deletion::h, g.n()));
        },
        "p"_a.noconvert(), "k_max"_a, "max_operators"_a,
        "All valid Delete(x, y, H) as (x and y, S, H), or None where there are too many.");
    m.def(
        "delete",
        [](const ManyBits& p, int x, int y, const Bits& h) -> nb::object {
            const Pdag g = pdag_of(p);
            require_node(x, g.n()), require_node(y, g.n());
            require(h.shape(0) == 1 && x != y, "x and y are different, and H is one set");
            const auto after = after_delete(g, x, y, sets_of(h, g.n())[0]);
            return after ? nb::cast(to_numpy_all(*after)) : nb::none();
        },
        "p"_a.noconvert(), "x"_a, "y"_a, "h"_a.noconvert(), "P after Delete(x, y, H), or None if that is not valid.");
}

}  // namespace fedbn::bindings
