"""Clusters and orders against their twins; numbers are quarters, so that sums are exact."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import families as core
from fedbn.errors import ArgumentError
from fedbn.graphs.bits import pack, unpack
from tests import naive_clusters as naive

SIZES = st.sampled_from([1, 2, 3, 5, 7, 63, 64, 65, 130])


class Case:
    """Random families of n nodes, those of a node one after the other, the least first."""

    def __init__(self, n: int, seed: int) -> None:
        self.n, self.rng = n, np.random.default_rng(seed)
        self.node = np.sort(self.rng.integers(n, size=int(self.rng.integers(1, 40)))).astype(
            np.int32
        )
        parents = self.rng.random((self.node.size, n)) < min(0.5, 3.0 / n)
        parents[np.arange(self.node.size), self.node] = False
        self.bits = pack(parents)
        x = self.rng.integers(16, size=self.node.size) / 4.0
        self.x = x[np.lexsort((x, self.node))]
        self.columns = naive.Columns(
            n, self.node.tolist(), [set(np.flatnonzero(row)) for row in parents], self.x.tolist()
        )

    @property
    def start(self) -> np.ndarray:
        return np.searchsorted(self.node, np.arange(self.n + 1)).astype(np.int64)

    def sets(self, number: int) -> list[set[int]]:
        return [set(np.flatnonzero(self.rng.random(self.n) < 0.5)) for _ in range(number)]

    def pack(self, sets: list[set[int]]) -> np.ndarray:
        rows = np.zeros((len(sets), self.n), dtype=np.bool_)
        for row, members in zip(rows, sets, strict=True):
            row[list(members)] = True
        return pack(rows)

    def unpack(self, bits: np.ndarray) -> list[set[int]]:
        return [set(np.flatnonzero(row)) for row in unpack(bits, self.n)]


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(0, 10_000), st.integers(1, 3))
def test_families_that_clusters_cover_and_what_their_duals_prove(n, seed, k) -> None:
    case = Case(n, seed)
    clusters = case.sets(3)
    for cluster, bits in zip(clusters, case.pack(clusters), strict=True):
        found = core.covering(case.node, case.bits, bits, k)
        assert found.tolist() == case.columns.covered(cluster, k)
    duals = case.rng.integers(8, size=3) / 4.0
    found = core.reduced_costs(case.node, case.x, case.bits, case.pack(clusters), duals, n)
    bound, least, reduced = naive.reduced_costs(case.columns, clusters, duals.tolist())
    assert (found[0], found[1].tolist(), found[2].tolist()) == (bound, least, reduced)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 10_000), st.integers(1, 3))
def test_growth_and_walks_are_those_of_the_twins(n, seed, k) -> None:
    case = Case(n, seed)
    seeds = case.sets(5)
    grown = [naive.grow(case.columns, cluster, k) for cluster in seeds]
    expected = []
    for cluster, side in grown:
        if side < k - 0.3 and (cluster, side) not in expected:
            expected.append((cluster, side))
    arguments = (case.node, case.x, case.bits, n)
    sets, sides = core.grow_clusters(*arguments, case.pack(seeds), k, 0.3)
    assert list(zip(case.unpack(sets), sides.tolist(), strict=True)) == expected
    seeds = [cluster for cluster in seeds if len(cluster) > k]
    walks = [naive.walk(case.columns, cluster, k, 3 * n) for cluster in seeds]
    sets, sides = core.walk_clusters(*arguments, case.pack(seeds), k, 3 * n)
    assert list(zip(case.unpack(sets), sides.tolist(), strict=True)) == walks


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([1, 2, 3, 6, 65]), st.integers(0, 10_000))
def test_orders_are_fitted_and_no_move_helps_after_a_descent(n, seed) -> None:
    case = Case(n, seed)
    if case.rng.random() < 0.9:  # else some node may have no family
        free = [(i, 4.0) for i in range(n)]
        whole = sorted(
            [*zip(case.node.tolist(), case.x.tolist(), case.columns.parents, strict=True)]
            + [(i, cost, set()) for i, cost in free],
            key=lambda family: family[:2],
        )
        case.columns = naive.Columns(
            n, [f[0] for f in whole], [f[2] for f in whole], [f[1] for f in whole]
        )
        case.node = np.array(case.columns.node, dtype=np.int32)
        case.x, case.bits = np.array(case.columns.x), case.pack(case.columns.parents)
    ordering = core.Ordering(case.start, case.x, case.bits)
    order = case.rng.permutation(n)
    cost, chosen = ordering.fit(order)
    assert cost == naive.order_cost(case.columns, order.tolist())
    if cost < math.inf:
        assert [case.columns.node[f] for f in chosen] == list(range(n))
        assert sum(case.columns.x[f] for f in chosen) == cost
    reached, better = ordering.descend(order)
    assert sorted(better.tolist()) == list(range(n))
    assert reached == naive.order_cost(case.columns, better.tolist()) <= cost
    if n < 10 and cost < math.inf:
        assert better.tolist() == naive.descend(case.columns, order.tolist())
    if n < 10 and reached < math.inf:
        for v in range(n):
            rest = [i for i in better.tolist() if i != v]
            moved = [[*rest[:at], v, *rest[at:]] for at in range(n)]
            assert min(naive.order_cost(case.columns, other) for other in moved) == reached


def test_arguments_that_do_not_fit_are_refused() -> None:
    case = Case(5, 1)
    bits, x, start = case.bits, case.x, case.start
    seeds = case.pack([{0, 1}])
    with pytest.raises(ArgumentError, match="below 5"):
        core.grow_clusters(case.node + np.int32(5), x, bits, 5, seeds, 1, 0.1)
    with pytest.raises(ArgumentError, match="each family"):
        core.walk_clusters(case.node, x[1:], bits, 5, seeds, 1, 3)
    with pytest.raises(ArgumentError, match="no nodes"):
        core.walk_clusters(case.node, x, bits, 5, seeds << np.uint64(7), 1, 3)
    with pytest.raises(ArgumentError, match="each cluster"):
        core.reduced_costs(case.node, x, bits, seeds, np.zeros(2), 5)
    with pytest.raises(ArgumentError, match="set of the families' nodes"):
        core.covering(case.node, bits, np.zeros(2, dtype=np.uint64))
    with pytest.raises(ArgumentError, match="end at"):
        core.Ordering(start[:-1], np.append(x, 1.0), bits)
    ordering = core.Ordering(start, x, bits)
    for order in ([0, 1, 2, 3], [0, 1, 2, 3, 3], [0, 1, 2, 3, 5], [0, 1, 2, 3, -1]):
        with pytest.raises(ArgumentError, match="each node once"):
            ordering.fit(np.array(order))
    empty = np.zeros(0)
    nothing = core.Ordering(np.zeros(1, dtype=np.int64), empty, np.zeros((0, 1), dtype=np.uint64))
    assert nothing.fit(empty.astype(np.int64)) == (0.0, [])
