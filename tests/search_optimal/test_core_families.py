"""What Python calls of `fedbn._core.families`, against slow twins, and with what does not fit."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import families as core
from fedbn._core.scores import DiscreteScore, GaussianScore, ScoreKind
from fedbn.errors import ArgumentError
from fedbn.graphs.bits import pack, unpack

seeds = st.integers(0, 10_000)


def members(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def all_costs(rng: np.random.Generator, m: int) -> list[dict[int, float]]:
    """Few families of each node by their parents; costs are sums of quarters, so sums are exact."""
    lists = []
    for i in range(m):
        masks = [int(mask) & ~(1 << i) for mask in rng.integers(1 << m, size=3)]
        lists.append({mask: float(rng.integers(-9, 9)) / 4.0 for mask in {0, *masks}})
    return lists


def least_cost(costs: list[dict[int, float]], placed: int, left: int) -> float:
    """The least cost of adding the nodes left, whose parents may be those placed before them."""
    if not left:
        return 0.0
    return min(
        min(cost for P, cost in costs[i].items() if not P & ~placed)
        + least_cost(costs, placed | 1 << i, left & ~(1 << i))
        for i in members(left)
    )


@given(seeds, st.integers(1, 5))
@settings(deadline=None, max_examples=40)
def test_subset_programme(seed: int, m: int) -> None:
    costs = all_costs(np.random.default_rng(seed), m)
    full = (1 << m) - 1
    rows = [(i, cost, P) for i in range(m) for P, cost in costs[i].items()]
    node = np.array([i for i, _, _ in rows], dtype=np.int32)
    cost = np.array([c for _, c, _ in rows])
    parents = np.array([P for _, _, P in rows], dtype=np.uint64)
    table = core.best_families(node, cost, parents, m)
    best, rest = core.forward(table), core.backward(table)
    for subset in range(1 << m):
        assert best[subset] == least_cost(costs, 0, subset)
        assert rest[subset] == least_cost(costs, subset, full & ~subset)
    through = core.marginals(node, cost, parents, best, rest, m)
    for f, (i, c, P) in enumerate(rows):
        alone = [*costs[:i], {P: c}, *costs[i + 1 :]]
        assert through[f] == _least_or_infinite(alone, full)
    placed, total = 0, 0.0
    for i in core.optimal_order(table, best).tolist():
        total += min(c for P, c in costs[i].items() if not P & ~placed)
        placed |= 1 << i
    assert (placed, total) == (full, best[full])


def _least_or_infinite(costs: list[dict[int, float]], full: int) -> float:
    return least_cost([{**c, 0: c.get(0, math.inf)} for c in costs], 0, full)


def gram_of(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = rng.normal(size=(n + 20, n)) @ rng.normal(size=(n, n))
    return rows.T @ rows, rng.normal(size=n + 1), rng.uniform(0.5, 2.0, n + 1)


def gaussian_joint(score: tuple[np.ndarray, ...], chosen: list[int]) -> float:
    gram, constant, exponent = score
    log_det = np.linalg.slogdet(gram[np.ix_(chosen, chosen)])[1] if chosen else 0.0
    return float(constant[len(chosen)] - exponent[len(chosen)] * log_det)


@given(seeds, st.integers(1, 6))
@settings(deadline=None, max_examples=30)
def test_gaussian_sets(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    score = gram_of(rng, n)
    score[1][0] = 0.0  # J of no variable is 0
    joint = {mask: gaussian_joint(score, members(mask)) for mask in range(1 << n)}
    values = core.gaussian_subset_values(*score)
    assert values == pytest.approx([joint[mask] for mask in range(1 << n)], rel=1e-6, abs=1e-6)
    table = core.best_within(values, n)
    node = int(rng.integers(n))
    place = 0
    for mask in range(1 << n):
        if not mask >> node & 1:
            inside = [P for P in range(mask + 1) if not P & ~mask]
            assert table[node, place] == min(values[P] - values[P | 1 << node] for P in inside)
            place += 1
    masks = [mask for mask in range(1 << n) if not mask >> node & 1]
    has_parent = np.array([[mask >> j & 1 for j in range(n)] for mask in masks], dtype=np.bool_)
    expected = [joint[mask] - joint[mask | 1 << node] for mask in masks]
    found = core.gaussian_costs(*score, node, has_parent)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)
    levels = core.ParentSetLevels.gaussian(GaussianScore(*score), 0.0)
    for size in range(n + 1):
        colex = sorted(combinations(range(n), size), key=lambda chosen: chosen[::-1])
        values, _ = levels.joint_values(np.arange(len(colex)), size)
        assert values == pytest.approx(
            [gaussian_joint(score, list(chosen)) for chosen in colex], rel=1e-6, abs=1e-6
        )


def levels_of(codes: np.ndarray, arities: np.ndarray, k: float = 1.0) -> core.ParentSetLevels:
    """Under BDeu with an equivalent sample size of 1."""
    rungs = DiscreteScore.rungs(ScoreKind.bdeu, codes, arities.tolist(), [(k, 1.0)], 1 << 20)
    return core.ParentSetLevels.discrete(rungs[0], 0.0)


def bdeu_joint(rows: np.ndarray, weights: np.ndarray, arities: np.ndarray, k: float) -> float:
    """J of all columns, with an equivalent sample size of 1."""
    counts: dict[tuple[int, ...], int] = {}
    for row, weight in zip(rows.tolist(), weights.tolist(), strict=True):
        counts[tuple(row)] = counts.get(tuple(row), 0) + weight
    alpha = 1.0 / math.prod(arities.tolist())
    return sum(math.lgamma(k * c + alpha) - math.lgamma(alpha) for c in counts.values())


@given(seeds, st.integers(1, 5), st.sampled_from([1, 7, 60]))
@settings(deadline=None, max_examples=40)
def test_sets_of_categorical_columns(seed: int, n: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    arities = rng.integers(1, 5, n)
    codes = np.array([rng.integers(a, size=rows) for a in arities], dtype=np.uint16)
    weights = rng.integers(1, 4, rows).astype(np.int32)
    levels = levels_of(np.repeat(codes, weights, axis=1), arities, 2.0)
    every = levels.all_joint_values()
    for size in range(n + 1):
        colex = sorted(combinations(range(n), size), key=lambda chosen: chosen[::-1])
        values, occupied = levels.joint_values(np.arange(len(colex)), size)
        assert levels.count(n, size) == len(colex)
        for rank, chosen in enumerate(colex):
            columns = codes[list(chosen)].T if size else np.zeros((rows, 0), dtype=np.uint16)
            expected = bdeu_joint(columns, weights, arities[list(chosen)], 2.0)
            assert values[rank] == pytest.approx(expected, abs=1e-9)
            assert every[sum(1 << v for v in chosen)] == pytest.approx(expected, abs=1e-9)
            assert occupied[rank] == len({tuple(row) for row in columns.tolist()})
    node = int(rng.integers(n))
    for size in range(n):
        others = sorted(combinations(range(n - 1), size), key=lambda chosen: chosen[::-1])
        bits = unpack(levels.bits(node, np.arange(len(others)), size), n)
        shifted = [[c + (c >= node) for c in chosen] for chosen in others]
        assert [np.flatnonzero(row).tolist() for row in bits] == shifted


@given(seeds, st.integers(0, 12), st.sampled_from([0.0, 0.5]))
@settings(deadline=None)
def test_undominated(seed: int, sets: int, slack: float) -> None:
    rng = np.random.default_rng(seed)
    has_parent = np.unique(rng.random((sets, 70)) < rng.choice([0.01, 0.5]), axis=0)
    cost = np.sort(rng.integers(8, size=len(has_parent)) / 4.0)
    kept = core.are_undominated(pack(has_parent), cost, slack)
    for f, row in enumerate(has_parent):
        inside = [g for g, other in enumerate(has_parent) if not (other & ~row).any()]
        beaten = [cost[g] + slack < cost[f] for g in inside]
        assert kept[f] == (not any(beaten))


def test_what_does_not_fit_is_refused() -> None:
    none, one = np.zeros(0), np.zeros(1)
    no_ranks = np.zeros(0, dtype=np.int64)
    levels = levels_of(np.zeros((2, 3), dtype=np.uint16), np.array([2, 2]))
    wrong = [
        lambda: core.forward(np.zeros((3, 5))),
        lambda: core.forward(np.zeros((0, 0))),
        lambda: core.optimal_order(np.zeros((2, 2)), none),
        lambda: core.best_within(one, 29),
        lambda: core.best_families(
            np.array([1], dtype=np.int32), one, np.array([2], dtype=np.uint64), 2
        ),
        lambda: core.gaussian_subset_values(np.eye(2), one, one),
        lambda: core.gaussian_costs(np.eye(1), np.zeros(2), np.zeros(2), 0, np.ones((1, 1), bool)),
        lambda: core.are_undominated(np.zeros((2, 1), dtype=np.uint64), one, 0.0),
        lambda: core.undominated_sets(one, 0, 2, 0.0),
        lambda: levels.joint_values(np.array([2]), 1),
        lambda: levels.joint_values(np.array([0]), 3),
        lambda: levels.global_ranks(2, no_ranks, 1),
        lambda: levels.extend(0, np.array([0, 0]), one, 1, 0.0),
        lambda: levels.costs(
            0, no_ranks, one, 1, no_ranks, none, np.zeros(0, dtype=np.int32), no_ranks, none
        ),
        lambda: levels.worth_scoring(0, no_ranks, 1, one, no_ranks, none, no_ranks, none),
    ]  # fmt: skip
    for call in wrong:
        with pytest.raises(ArgumentError, match="must|alone"):
            call()
