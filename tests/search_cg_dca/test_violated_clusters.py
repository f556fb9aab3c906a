"""Row generation: every row that is added is violated, and none is missed in the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.search.cg_dca.violated_clusters import (
    VIOLATION,
    FractionalPoint,
    Separation,
    exact_clusters,
    left_side,
)
from tests import naive_cg_dca as naive


def random_point(rng: np.random.Generator, n: int) -> FractionalPoint:
    """Weights on a few parent sets per node, each node's weights summing to 1."""
    node, parents, x = [], [], []
    for i in range(n):
        weights = rng.dirichlet(np.ones(3))
        for weight in weights:
            row = rng.random(n) < 0.4
            row[i] = False
            node.append(i)
            parents.append(row)
            x.append(weight)
    return FractionalPoint(np.array(node, dtype=np.int32), np.array(parents), np.array(x))


def cycle_point(cycle: list[int], n: int) -> FractionalPoint:
    """Every node of the cycle has its predecessor as the only parent, the others none."""
    parents = np.zeros((n, n), dtype=np.bool_)
    for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True):
        parents[b, a] = True
    return FractionalPoint(np.arange(n, dtype=np.int32), parents, np.ones(n))


@settings(max_examples=50, deadline=None)
@given(st.permutations(range(7)), st.integers(2, 6), st.integers(0, 1000))
def test_an_integral_cycle_is_always_separated(order, length, seed) -> None:
    point = cycle_point(list(order[:length]), 7)
    clusters, sizes = Separation().find_violated(point, np.random.default_rng(seed))
    assert any(set(np.flatnonzero(c)) == set(order[:length]) for c in clusters)
    assert (sizes == 1).all()
    exact = exact_clusters(point)
    assert len(exact)
    assert all(left_side(point, c) < 0.5 for c in exact)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 3))
def test_rows_are_violated_and_the_exact_search_misses_none(seed, k) -> None:
    rng = np.random.default_rng(seed)
    point = random_point(rng, 6)
    arrays = (point.node, point.parents, point.x)
    least = naive.min_left_side(*arrays, 6, k)
    exact = exact_clusters(point, k)
    if least > k - VIOLATION / 2:
        assert not len(exact)
    if least < k - 2 * VIOLATION:
        assert len(exact)
    for cluster in exact:
        members = set(np.flatnonzero(cluster).tolist())
        assert naive.left_side(*arrays, members, k) == pytest.approx(left_side(point, cluster, k))
        assert left_side(point, cluster, k) < k - VIOLATION / 2
    found, sizes = Separation(sizes=(k,)).find_violated(point, rng)
    for cluster, size in zip(found, sizes, strict=True):
        assert naive.left_side(*arrays, set(np.flatnonzero(cluster).tolist()), size) < size
