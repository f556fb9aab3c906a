"""Branch and cut, and the separation of cycles."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.graphs.bits import unpack
from fedbn.search.families.cluster_lp import ClusterLP
from fedbn.search.families.components import cycle_clusters
from fedbn.search.families.families import Families
from fedbn.search.families.subset_dp import subset_optimum
from fedbn.search.optimal.branch_and_cut import acyclic, branch_and_cut
from tests import naive_cg_dca as naive
from tests.search_optimal.instances import random_families

NAMES = tuple("abcdefgh")


def cycle(length: int, n: int = 8) -> Families:
    """Families whose cheapest choice is one directed cycle of `length` nodes."""
    lists = []
    for i in range(n):
        pairs: list[tuple[float, list[int]]] = [(float(2 + i), [])]
        if i < length:
            pairs.append((0.0, [(i + 1) % length]))
        lists.append(pairs)
    return Families.from_parents(NAMES[:n], lists)


@pytest.mark.parametrize("length", [2, 3, 4, 7])
def test_an_integral_cycle_is_always_cut_off(length: int) -> None:
    families = cycle(length)
    chosen = families.start[:-1]
    found = unpack(cycle_clusters(families, chosen), families.n)
    assert found.tolist() == [[i < length for i in range(families.n)]]
    relaxation = ClusterLP(families)
    relaxation.x = np.zeros(families.size)
    relaxation.x[chosen] = 1.0
    for seed in range(20):
        clusters = relaxation.find_violated(np.random.default_rng(seed))
        assert (unpack(clusters, families.n) == found).all(axis=1).any()


def test_two_cycles_are_two_clusters() -> None:
    families = Families.from_parents(
        NAMES[:5], [[(0.0, [1])], [(0.0, [0])], [(0.0, [3])], [(0.0, [2])], [(0.0, [0])]]
    )
    found = unpack(cycle_clusters(families, np.arange(5)), 5)
    assert sorted(map(tuple, found.astype(int).tolist())) == [(0, 0, 1, 1, 0), (1, 1, 0, 0, 0)]
    assert not acyclic(families, range(5))


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_of_dynamic_programming(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 9))
    lists = []
    for i in range(n):
        pairs = [(float(rng.uniform(5, 9)), [])]
        for _ in range(int(rng.integers(3, 25))):
            size = int(rng.integers(1, min(n, 4)))
            parents = rng.choice([j for j in range(n) if j != i], size, replace=False)
            pairs.append((float(rng.uniform(0, 6)), parents.tolist()))
        lists.append(pairs)
    families = Families.from_parents(NAMES[:n], lists)
    cost, _ = subset_optimum(families)
    empty = [int(f) for f in np.flatnonzero(~families.has_parent.any(axis=1))]
    found = branch_and_cut(families, empty, rng=rng)
    assert found.proven
    assert found.cost == pytest.approx(cost, abs=1e-6)
    assert found.bound == found.cost
    assert acyclic(families, found.chosen)


def test_time_and_memory_limits_leave_the_incumbent_and_a_bound() -> None:
    families = cycle(7)
    empty = [int(f) for f in np.flatnonzero(~families.has_parent.any(axis=1))]
    rng = np.random.default_rng(0)
    found = branch_and_cut(families, empty, seconds=0.0, rng=rng)
    assert found.cost <= float(families.cost[empty].sum())
    assert found.bound <= subset_optimum(families)[0] + 1e-9


@pytest.mark.parametrize("seed", range(15))
def test_a_closed_relaxation_violates_no_cluster(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 9))
    families = random_families(rng, n, 8)
    relaxation = ClusterLP(families)
    relaxation.close(rng=rng)
    some = np.flatnonzero(relaxation.x > 1e-9)
    least = naive.min_left_side(
        families.node[some], families.has_parent[some], relaxation.x[some], n, 1
    )
    assert least >= 1.0 - 1e-4 - 1e-9
