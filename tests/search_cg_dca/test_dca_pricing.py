"""The pricing problem against its definition: set functions, inner solvers, reduced costs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import cg_dca as core
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ArgumentError, ConfigError
from fedbn.graphs.bits import pack, unpack
from fedbn.learners.settings import PRICINGS as PRICING_NAMES
from fedbn.scores import make_score
from fedbn.search.cg_dca.choices import PRICINGS
from fedbn.search.cg_dca.dca_pricing import (
    NEGATIVE,
    ByName,
    DCAPricing,
    RandomOrder,
)
from fedbn.search.cg_dca.inner import Point
from fedbn.search.cg_dca.minimum_norm import MinimumNorm
from fedbn.search.cg_dca.submodular_difference import (
    Clusters,
    PricingProblem,
    lovasz_extension,
    pricing_model,
)
from simulations.studies.cg_dca.kelley import Kelley
from simulations.studies.cg_dca.ties import BestOfPermutations, GreedyOrder
from tests import naive_cg_dca as naive

seeds = st.integers(0, 10_000)
kinds = st.sampled_from(["gaussian", "categorical"])


def table(rng: np.random.Generator, kind: str, n: int = 5, rows: int = 60) -> Dataset:
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    values = np.zeros((rows, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=rows)
    names = [f"v{j}" for j in range(n)]
    if kind == "gaussian":
        return Dataset(Schema.gaussian(names), values)
    states = rng.integers(2, 4, size=n)
    codes = np.stack(
        [np.digitize(values[:, j], np.linspace(-1, 1, states[j] - 1)) for j in range(n)], axis=1
    )
    schema = Schema.categorical({name: "012"[:r] for name, r in zip(names, states, strict=True)})
    return Dataset(schema, codes.astype(np.int32))


class Case:
    """A random pricing problem, and what its twin needs."""

    def __init__(self, seed: int, kind: str, criterion: str = "bic") -> None:
        self.rng = np.random.default_rng(seed)
        self.data = table(self.rng, kind)
        name = f"gaussian-{criterion}" if kind == "gaussian" else criterion
        self.score = make_score(name, self.data)
        self.penalty = self.score.parameter
        n, self.node = self.data.n, int(self.rng.integers(self.data.n))
        members = self.rng.random((4, n)) < 0.6
        sizes = self.rng.integers(1, 4, size=4)
        clusters = Clusters(members, self.rng.random(4) * 20.0, sizes)
        self.rows = [
            naive.Row(set(np.flatnonzero(m)), float(d), int(k))
            for m, d, k in zip(members, clusters.duals, sizes, strict=True)
        ]
        held = clusters.holding(self.node)
        self.held = [row for row in self.rows if self.node in row.members]
        self.pi = -self.score.local_score(self.node, []) - float(self.rng.normal() * 5.0)
        constant = naive.reduced_cost(self.score, self.node, (), self.rows, self.pi)
        self.model = pricing_model(self.score)
        self.problem = PricingProblem(self.model, self.node, n, constant, held)

    def g(self, J) -> float:
        return self._shifted(naive.g, J)

    def f(self, J) -> float:
        return self._shifted(naive.f, J)

    def _shifted(self, function, J) -> float:
        def at(members):
            return function(self.data, self.node, members, self.held, self.penalty)

        return at(tuple(sorted(J))) - at(())


@settings(max_examples=40, deadline=None)
@given(seeds, kinds, st.sampled_from(["bic", "aic"]))
def test_prefix_values_are_the_functions_of_the_propositions(seed, kind, criterion) -> None:
    case = Case(seed, kind, criterion)
    order = case.rng.permutation(case.problem.others)
    values = case.problem.prefixes(order, cut=False)
    for k in range(order.size + 1):
        prefix = tuple(int(j) for j in order[:k])
        assert values.g[k] == pytest.approx(case.g(prefix), abs=1e-7)
        assert values.f[k] - values.p[k] == pytest.approx(case.f(prefix), abs=1e-7)
        reduced = naive.reduced_cost(case.score, case.node, prefix, case.rows, case.pi)
        assert case.problem.constant + values.difference[k] == pytest.approx(reduced, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(seeds, kinds)
def test_both_functions_are_submodular(seed, kind) -> None:
    case = Case(seed, kind)
    sets = naive.subsets(case.problem.others.tolist())
    for function in (case.g, case.f):
        value = {s: function(s) for s in sets}
        for a in sets:
            for b in sets:
                union, common = (
                    tuple(sorted(set(a) | set(b))),
                    tuple(sorted(set(a) & set(b))),
                )
                assert value[a] + value[b] >= value[union] + value[common] - 1e-7


@settings(max_examples=30, deadline=None)
@given(seeds, kinds)
def test_lovasz_extension_and_subgradient(seed, kind) -> None:
    case = Case(seed, kind)
    others = case.problem.others
    x = np.round(case.rng.random(case.data.n), int(case.rng.integers(1, 4)))
    order = others[np.argsort(-x[others], kind="stable")]
    values = case.problem.prefixes(order, cut=False)
    f = {s: case.f(s) for s in naive.subsets(others.tolist())}
    at_x = naive.lovasz(f, {int(j): float(x[j]) for j in others})
    assert lovasz_extension(values.f - values.p, x[order]) == pytest.approx(at_x, abs=1e-7)
    y = case.problem.subgradient(values)
    assert y[order] @ x[order] == pytest.approx(at_x, abs=1e-7)
    for s, value in f.items():  # f(S) ≥ f(x) + y · (1_S - x), with equality on the order's prefixes
        assert value >= y[list(s)].sum() - 1e-7


@settings(max_examples=40, deadline=None)
@given(seeds, kinds, st.sampled_from([Kelley(), MinimumNorm()]))
def test_inner_solvers_find_the_least_value(seed, kind, solver) -> None:
    case = Case(seed, kind)
    n, others = case.data.n, case.problem.others
    y = case.rng.normal(size=n) * 20.0
    if case.rng.random() < 0.5:
        y = case.problem.subgradient(case.problem.prefixes(case.rng.permutation(others)))
    point = solver.minimise(case.problem, y, case.rng.random(n))
    assert (point.x >= 0).all()
    assert (point.x <= 1).all()
    value = {
        s: case.g(s) - (y[list(s)].sum() if s else 0.0) for s in naive.subsets(others.tolist())
    }
    least = min(value.values())
    usable = [j for j in others.tolist() if np.isfinite(y[j])]
    assert all(point.x[j] == 0.0 for j in others if j not in usable)
    finite = {s: v for s, v in value.items() if set(s) <= set(usable)}
    reached = naive.lovasz(finite, {j: float(point.x[j]) for j in usable})
    assert reached == pytest.approx(least, abs=1e-3)


WAYS = {
    **PRICINGS,
    "kelley": DCAPricing(Kelley()),
    "permutations": DCAPricing(ties=BestOfPermutations()),
    "permutations, kelley": DCAPricing(Kelley(), ties=BestOfPermutations()),
    "greedy": DCAPricing(ties=GreedyOrder()),
    "greedy, kelley": DCAPricing(Kelley(), ties=GreedyOrder()),
    "random": DCAPricing(ties=RandomOrder()),
    "random, kelley": DCAPricing(Kelley(), ties=RandomOrder()),
}


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_pricing_tells_the_true_reduced_cost(name: str, kind: str) -> None:
    found_any = False
    for seed in range(12):
        case = Case(seed, kind)
        pricing = WAYS[name]
        model = pricing.model(case.score)
        problem = PricingProblem(
            model, case.node, case.data.n, case.problem.constant, case.problem.clusters
        )
        for start in (case.rng.random(case.data.n), np.zeros(case.data.n)):
            for found in pricing.columns(problem, start, case.rng):
                J = tuple(np.flatnonzero(found.parents).tolist())
                assert case.node not in J
                reduced = naive.reduced_cost(case.score, case.node, J, case.rows, case.pi)
                assert found.reduced_cost == pytest.approx(reduced, abs=1e-6)
                assert found.reduced_cost < NEGATIVE
                found_any = True
    assert found_any


@settings(max_examples=30, deadline=None)
@given(
    seeds, kinds, st.sampled_from([ByName(), RandomOrder(), BestOfPermutations(), GreedyOrder()])
)
def test_orders_of_ties_sort_the_point_downwards(seed, kind, ties) -> None:
    case = Case(seed, kind)
    point = Point(case.rng.integers(0, 3, size=5) / 2.0, case.rng.normal(size=5))
    for order in ties.orders(case.problem, point, case.rng):
        assert sorted(order.tolist()) == case.problem.others.tolist()
        assert (np.diff(point.x[order]) <= 0.0).all()


@pytest.mark.parametrize(("kind", "ties"), [("gaussian", ByName()), ("categorical", RandomOrder())])
def test_ties_go_by_name_in_gaussian_data_and_at_random_in_categorical(kind, ties) -> None:
    for seed in range(5):
        problem = Case(seed, kind).problem
        usual, named = (
            pricing.columns(problem, np.zeros(5), np.random.default_rng(seed))
            for pricing in (DCAPricing(), DCAPricing(ties=ties))
        )
        assert [p.parents.tolist() for p in usual] == [p.parents.tolist() for p in named]


def test_names_of_the_parts_are_those_of_the_settings() -> None:
    assert tuple(PRICINGS) == PRICING_NAMES


@pytest.mark.parametrize("name", ["bdeu", "bge"])
def test_dca_refuses_scores_that_are_no_penalised_likelihood(name: str) -> None:
    kind = "gaussian" if name == "bge" else "categorical"
    with pytest.raises(ConfigError, match="penalised|DCA pricing takes"):
        pricing_model(make_score(name, table(np.random.default_rng(0), kind)))


@settings(max_examples=30, deadline=None)
@given(seeds, kinds)
def test_a_descent_makes_the_best_move_until_none_helps(seed, kind) -> None:
    case = Case(seed, kind)
    score = make_score("bge" if kind == "gaussian" else "bdeu", case.data)
    n, node = case.data.n, case.node
    others = case.problem.others.tolist()

    def value(parents: frozenset[int]) -> float:
        dual = sum(r.dual for r in case.held if len(r.members & parents) >= r.k)
        return dual - score.local_score(node, parents)

    def moves(now: frozenset[int]) -> list[frozenset[int]]:
        return [
            frozenset(s) for s in naive.subsets(others) if s and len(now - set(s)) <= 1
            and len(set(s) - now) <= 1 and set(s) != now
        ] + [frozenset()] * (len(now) == 1)  # fmt: skip

    start = case.rng.random(n) < 0.5
    start[node] = False
    sets, values = core.descend(score.core, case.problem.rows, node, pack(start[None])[0], 100)
    path = [frozenset(np.flatnonzero(row).tolist()) for row in unpack(sets, n)]
    assert path[0] == frozenset(np.flatnonzero(start).tolist())
    assert values == pytest.approx([value(s) for s in path], abs=1e-9)
    for now, following in pairwise(path):
        assert value(following) == pytest.approx(min(map(value, moves(now))), abs=1e-8)
    assert min(map(value, moves(path[-1]))) >= value(path[-1]) - 2e-9
    ends = np.full(len(others), len(others))
    order = core.greedy_order(
        score.core, case.problem.rows, node, case.rng.permutation(others), ends, len(others)
    ).tolist()
    for k in range(len(order)):
        choices = [value(frozenset([*order[:k], j])) for j in order[k:]]
        assert choices[0] == pytest.approx(min(choices), abs=2e-9)


def test_arguments_that_do_not_fit_are_refused() -> None:
    case = Case(1, "categorical")
    score, rows, n = case.score.core, case.problem.rows, case.data.n
    start, order = np.zeros(1, dtype=np.uint64), np.arange(1, n)
    for node, wrong in ((n, start), (-1, start), (0, start + np.uint64(1)), (0, start[:0])):
        with pytest.raises(ArgumentError):
            core.descend(score, rows, node, wrong, 10)
    for node, some, ends in ((n, order, order), (0, order, order[1:]), (1, order, order),
                             (0, order + 1, order), (0, order, order + n)):  # fmt: skip
        with pytest.raises(ArgumentError):
            core.greedy_order(score, rows, node, some, ends, 3)
    likelihood, y = case.model.likelihood, np.zeros(n)
    with pytest.raises(ArgumentError):
        likelihood.prefixes(rows, n, order, False)
    with pytest.raises(ArgumentError):
        likelihood.prefixes(rows, 0, order + 1, False)
    with pytest.raises(ArgumentError):
        likelihood.minimum_norm_point(rows, 0, order[:1], order[1:], y[1:], y[2:], 1e-4, 10)
    with pytest.raises(ArgumentError):
        likelihood.minimum_norm_point(rows, 0, order[:1], order[1:], y, y, 1e-4, 10)
    members, duals = np.ones((2, 1), dtype=np.uint64), np.zeros(2)
    for wrong in ((members, duals[1:], np.ones(2, dtype=np.int64)),
                  (members, duals, np.ones(1, dtype=np.int64)),
                  (members, duals, -np.ones(2, dtype=np.int64))):  # fmt: skip
        with pytest.raises(ArgumentError):
            core.ClusterRows(*wrong, n)
    with pytest.raises(ArgumentError, match="BIC or AIC"):
        core.CategoricalLikelihood(make_score("bdeu", case.data).core)
    with pytest.raises(ArgumentError, match="square"):
        core.GaussianLikelihood(np.zeros((2, 3)), 1.0, 1.0)
