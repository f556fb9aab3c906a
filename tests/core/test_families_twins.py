"""Levels of parent sets and the Gaussian walk, against all sets by their definitions."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbn._core import families as core
from fedbn._core.scores import DiscreteScore, ScoreKind
from fedbn.graphs.bits import unpack
from tests import naive_levels as naive

SEEDS = st.integers(0, 10_000)
ROUNDING = 1e-9
SLACKS = st.sampled_from([s + ROUNDING for s in (0.0, 0.5, 3.0)])


class Case:
    """A random table under BIC, its levels, and sets by their ranks."""

    def __init__(self, seed: int, n: int, slack: float) -> None:
        self.rng = np.random.default_rng(seed)
        arities = self.rng.integers(1, 4, n)
        rows = np.array([self.rng.integers(a, size=14) for a in arities], dtype=np.uint16)
        if n > 2:
            rows[1] = np.minimum(rows[0], arities[1] - 1)
        self.table = naive.Table(rows.T.astype(int), arities.tolist(), 0.8)
        self.n = n
        self.levels, self.bdeu = (
            core.ParentSetLevels.discrete(
                DiscreteScore.rungs(kind, rows, arities.tolist(), [(1.0, parameter)], 1 << 20)[0],
                slack,
            )
            for kind, parameter in ((ScoreKind.information, 0.8), (ScoreKind.bdeu, 1.0))
        )

    def others(self, node: int) -> list[int]:
        return [v for v in range(self.n) if v != node]

    def all_values(self, size: int) -> np.ndarray:
        sets = naive.colex(list(range(self.n)), size)
        return np.array([self.table.joint(chosen) for chosen in sets])

    def frontier(self, node: int, size: int) -> tuple[np.ndarray, dict[naive.Set, float]]:
        """Ranks of some sets of the other variables, and a value for each."""
        sets = naive.colex(self.others(node), size)
        ranks = np.flatnonzero(self.rng.random(len(sets)) < 0.8)
        return ranks, {sets[r]: float(self.rng.integers(-8, 20)) / 4.0 for r in ranks}


def sets_of(case: Case, node: int, ranks: Iterable[int], size: int) -> list[naive.Set]:
    every = naive.colex(case.others(node), size)
    return [every[r] for r in ranks]


@given(SEEDS, st.integers(1, 6), SLACKS, st.integers(0, 3), st.booleans())
@settings(max_examples=120)
def test_extensions(seed: int, n: int, slack: float, size: int, is_bic: bool) -> None:
    case = Case(seed, n, slack)
    size, node = min(size, n - 1), int(case.rng.integers(n))
    ranks, best = case.frontier(node, size)
    floor = float(case.rng.integers(-4, 5))

    def is_worth(chosen: naive.Set, bound: float) -> bool:
        free = 0.8 * (case.table.arities[node] - 1) * case.table.configurations(chosen)
        return not is_bic or free == 0 or not bound + slack < free + floor

    expected = naive.extend(case.others(node), best, size, is_worth)
    values = np.array([*best.values()], dtype=np.float64)
    assume(ranks.size)  # no list of ranks would stand for all sets
    levels = case.levels if is_bic else case.bdeu
    found, bounds = levels.extend(node, ranks, values, size, floor)
    assert dict(zip(sets_of(case, node, found, size + 1), bounds.tolist(), strict=True)) == expected
    assert found.tolist() == sorted(found.tolist())


@given(SEEDS, st.integers(1, 6), SLACKS, st.integers(0, 3))
@settings(max_examples=120)
def test_costs_of_a_level(seed: int, n: int, slack: float, size: int) -> None:
    case = Case(seed, n, slack)
    size, node = min(size, n - 1), int(case.rng.integers(n))
    ranks, best = case.frontier(node, size)
    assume(ranks.size)
    bounds, none = np.array([*best.values()]), np.zeros(0, dtype=np.int64)
    for levels in (case.levels, case.bdeu):
        own, occupied = levels.joint_values(np.arange(levels.count(n, size)), size)
        above, _ = levels.joint_values(np.arange(levels.count(n, size + 1)), size + 1)
        cost, may_extend = levels.costs(node, ranks, bounds, size, none, own, occupied, none, above)
        every = naive.colex(list(range(n)), size)
        larger = naive.colex(list(range(n)), size + 1)
        for a, parents in enumerate(sets_of(case, node, ranks, size)):
            if levels is case.levels:
                assert cost[a] == pytest.approx(case.table.cost(node, parents), abs=1e-9)
                assert may_extend[a]
                continue
            family = tuple(sorted((*parents, node)))
            expected = own[every.index(parents)] - above[larger.index(family)]
            assert cost[a] == expected
            kinds = len(set(map(tuple, case.table.rows[:, list(parents)].tolist())))
            theorem_8 = kinds * math.log(case.table.arities[node])
            assert may_extend[a] == (not bounds[a] + slack < theorem_8)


@given(SEEDS, st.integers(2, 6), SLACKS, st.integers(1, 3))
@settings(max_examples=80)
def test_the_last_level(seed: int, n: int, slack: float, size: int) -> None:
    case = Case(seed, n, slack)
    size = min(size, n - 1)
    fronts = [case.frontier(i, size - 1) for i in range(n)]
    assume(all(ranks.size for ranks, _ in fronts))
    start = np.cumsum([0, *(ranks.size for ranks, _ in fronts)])
    ranks = np.concatenate([ranks for ranks, _ in fronts])
    best = np.array([value for _, values in fronts for value in values.values()])
    limit = case.rng.integers(0, 30, n) + ROUNDING
    total = case.levels.count(n, size + 1)
    middle = int(case.rng.integers(total + 1))
    found: list[tuple[int, naive.Set, float]] = []
    for first, last in ((0, middle), (middle, total)):
        if first == last:
            continue
        nodes, own, costs = case.levels.last_level(
            first, last, size, case.all_values(size), start, ranks, best, limit
        )
        found += [
            (int(i), *sets_of(case, int(i), [r], size), float(c))
            for i, r, c in zip(nodes, own, costs, strict=True)
        ]
    expected = naive.last_level(
        case.table, size, [values for _, values in fronts], limit.tolist(), slack
    )
    assert [f[:2] for f in found] == [e[:2] for e in expected]
    assert [f[2] for f in found] == pytest.approx([e[2] for e in expected], abs=1e-9)


@given(SEEDS, st.integers(1, 6), SLACKS)
def test_sets_that_no_subset_beats(seed: int, n: int, slack: float) -> None:
    rng = np.random.default_rng(seed)
    values, node = rng.integers(-20, 20, 1 << n) / 4.0, int(rng.integers(n))
    masks, costs = core.undominated_sets(values, node, n, slack)
    expected = naive.undominated(values.tolist(), node, n, slack)
    assert dict(zip(masks.tolist(), costs.tolist(), strict=True)) == expected


@given(SEEDS, st.integers(1, 6), SLACKS, st.booleans(), st.integers(1, 40), st.integers(0, 6))
@settings(max_examples=80)
def test_the_gaussian_walk(
    seed: int, n: int, slack: float, large_first: bool, pace: int, most: int
) -> None:
    """It finds whatever no subset beats and the threshold allows, each set once, at its price."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n + 15, n)) @ (np.eye(n) + 0.5 * rng.normal(size=(n, n)))
    covariance = np.cov(rows.T).reshape(n, n)
    clusters, duals = rng.random((2, n)) < 0.4, rng.random(2) * 3.0
    walk = core.GaussianWalk(
        covariance, np.ascontiguousarray(np.linalg.inv(covariance)), scale=7.5, penalty=1.0,
        slack=slack, margin=1e-7, max_parents=most, large_first=large_first,
        clusters=clusters, duals=duals,
    )  # fmt: skip
    held = [
        (set(np.flatnonzero(c).tolist()), float(d)) for c, d in zip(clusters, duals, strict=True)
    ]
    sets = [s for size in range(n) for s in naive.colex(list(range(1, n)), size)]
    cost = {s: naive.price(covariance, s, 7.5, 1.0, []) for s in sets}
    price = {s: naive.price(covariance, s, 7.5, 1.0, held) for s in sets}
    threshold = float(np.median([*price.values()])) + 1e-3
    found: dict[naive.Set, float] = {}
    while True:
        bits, prices, left = walk.walk_on(threshold, pace, 3)
        for row, value in zip(unpack(bits, n), prices, strict=True):
            parents = tuple(np.flatnonzero(row).tolist())
            assert parents not in found
            found[parents] = float(value)
        if left > 0 and len(prices) < 3:
            break
    for parents, value in found.items():
        assert len(parents) <= most
        assert value == pytest.approx(price[parents], abs=1e-6)
        assert value <= threshold + 1e-6
    for s in sets:
        beaten = any(cost[p] + slack < cost[s] + 1e-6 for p in sets if set(p) < set(s))
        if len(s) <= most and not beaten and price[s] <= threshold - 1e-6:
            assert s in found
