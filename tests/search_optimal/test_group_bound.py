"""The bound by overlapping groups against brute force, and the components it helps to solve."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.limits import Limit, SearchLimits
from fedbn.search.families.cluster_lp import ClusterLP
from fedbn.search.families.families import Families
from fedbn.search.families.parent_sets import parent_sets
from fedbn.search.families.subset_dp import min_cost_through, subset_optimum, subset_tables
from fedbn.search.optimal import group_bound, parts
from fedbn.search.optimal.group_bound import Group, best_start, move, own, solve
from fedbn.search.optimal.node_groups import joined_groups, pair_weights, shared_duals, widen
from fedbn.search.optimal.parts import solve_parts
from tests import naive_optimal as naive
from tests.search_optimal.instances import random_families, random_score


@given(st.integers(0, 100_000), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_costs_through_families(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 3)
    cost = rng.uniform(-5, 5, families.size)
    least, through = min_cost_through(families, cost)
    expected = naive.min_cost_through(families, cost, list(range(n)))
    assert least == pytest.approx(expected.min(), abs=1e-9)
    assert through == pytest.approx(expected, abs=1e-9)
    empty = families.start[:-1] + [
        int(np.argmin(families.has_parent[a:b].sum(axis=1)))
        for a, b in zip(families.start[:-1], families.start[1:], strict=True)
    ]
    drop = rng.permutation(np.setdiff1d(np.arange(families.size), empty))[:2]
    cost[drop] = np.inf
    expected = naive.min_cost_through(families, cost, list(range(n)))
    assert min_cost_through(families, cost)[1] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 100_000), st.integers(3, 6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_shares_bound_every_dag(seed: int, n: int, guided: bool) -> None:
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 2)
    relaxed = ClusterLP(families).close(rng=rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(group_bound, "CORES", (2,))
        start = best_start(families, relaxed if guided else None, SearchLimits())
    groups = [Group.of(families, widen(start.weights, core, 3)) for core in start.cores]
    truth = naive.min_cost_through(families, families.cost, list(range(n)))
    keep = np.ones(families.size, dtype=np.bool_)
    shares = own(families, start)
    last = relaxed.bound - 1e-9 if guided else -np.inf
    for _ in range(4):
        known = solve(groups, shares, keep)
        assert known.shares.sum(axis=0) == pytest.approx(start.cost, abs=1e-9)
        for g, group in enumerate(groups):
            nodes = group.nodes.tolist()
            outside = ~np.isin(families.node, nodes)
            assert not known.shares[g, outside].any()
            alone = naive.min_cost_through(families, shares[g], nodes)
            expected = np.where(outside, 0.0, alone - alone.min())
            assert known.excess[g] == pytest.approx(expected, abs=1e-9)
        bound = known.bound + start.constant
        assert bound >= last - 1e-9
        assert (bound + known.excess.sum(axis=0) <= truth + 1e-9).all()
        kept = known.keep(truth.min() - start.constant)
        assert kept[truth <= truth.min() + 1e-9].all()
        last = bound
        shares = move(families, groups, known, 1.0)


@pytest.mark.parametrize("seed", range(10))
def test_charged_clusters_are_those_that_no_group_holds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_bound, "CORES", (3, 2))
    rng = np.random.default_rng(seed)
    families = random_families(rng, 7, 8)
    relaxed = ClusterLP(families).close(rng=rng)
    start = best_start(families, relaxed, SearchLimits())
    cost, constant = families.cost.copy(), 0.0
    for cluster, dual in zip(relaxed.clusters[:, 0].tolist(), relaxed.duals, strict=True):
        members = {i for i in range(7) if cluster >> i & 1}
        if any(members <= set(core.tolist()) for core in start.cores):
            continue
        constant += dual
        for f in range(families.size):
            if families.node[f] in members and not members & set(families.parents(f)):
                cost[f] -= dual
    assert start.cost == pytest.approx(cost, abs=1e-9)
    assert start.constant == pytest.approx(constant)


@given(st.integers(0, 100_000), st.integers(2, 8))
@settings(max_examples=40, deadline=None)
def test_groups_of_nodes(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    families = random_families(rng, n, 5)
    weights = pair_weights(families)
    for i in range(n):
        for j in range(n):
            expected = 0.0 if i == j else naive.pair_weight(families, i, j)
            assert weights[i, j] == pytest.approx(expected, abs=1e-9)
    most = int(rng.integers(1, n + 1))
    cores = joined_groups(weights, most)
    assert sorted(np.concatenate(cores).tolist()) == list(range(n))
    assert max(len(core) for core in cores) <= most
    for core in cores:
        wide = widen(weights, core, most + 1)
        assert len(wide) == min(most + 1, n)
        assert set(core.tolist()) <= set(wide.tolist())


@pytest.mark.parametrize("seed", range(5))
def test_duals_of_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    clusters, duals = rng.random((4, 6)) < 0.6, rng.random(4)
    weights = shared_duals(clusters, duals)
    for i, j in product(range(6), repeat=2):
        both = [c for c in range(4) if i != j and clusters[c, i] and clusters[c, j]]
        assert weights[i, j] == pytest.approx(sum(duals[c] / clusters[c].sum() for c in both))


def test_the_heaviest_pair_is_joined_first() -> None:
    weights = np.zeros((5, 5))
    weights[0, 3] = weights[3, 0] = 5.0
    weights[1, 3] = weights[3, 1] = 4.0
    weights[1, 2] = weights[2, 1] = 3.0
    weights[2, 4] = weights[4, 2] = np.inf
    assert [g.tolist() for g in joined_groups(weights, 2)] == [[0, 3], [1], [2, 4]]
    assert [g.tolist() for g in joined_groups(weights, 3)] == [[0, 1, 3], [2, 4]]
    assert widen(weights, np.array([0, 3]), 3).tolist() == [0, 1, 3]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bic", "gaussian-bic", "bdeu", "bge"])
def test_large_components_against_dynamic_programming(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all sizes scaled down, components of a few nodes take the way of those of many."""
    for module, constant, value in (
        (parts, "QUICK_NODES", 2),
        (parts, "TABLE_NODES", 3),
        (group_bound, "WIDEST", 4),
        (group_bound, "CORES", (4, 3, 2)),
    ):
        monkeypatch.setattr(module, constant, value)
    rng = np.random.default_rng(len(name))
    for case in range(25):
        families = parent_sets(random_score(name, rng, 4 + case % 3)).families
        best, _ = subset_optimum(families)
        solution = solve_parts(families, "auto", SearchLimits(), rng)
        assert sum(part.cost for part in solution) == pytest.approx(best, abs=1e-6)
        assert sum(part.bound for part in solution) == pytest.approx(best, abs=1e-6)
        chosen = [f for part in solution for f in part.chosen]
        assert families.cost[chosen].sum() == pytest.approx(best, abs=1e-6)
        assert families.dag(chosen).n_edges == families.has_parent[chosen].sum()


@pytest.mark.parametrize("seed", range(20))
def test_what_is_dropped_is_in_no_best_dag(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_bound, "WIDEST", 5)
    monkeypatch.setattr(group_bound, "CORES", (5, 3))
    rng = np.random.default_rng(seed)
    families = random_families(rng, 10, 12)
    tables = subset_tables(families)
    relaxed = ClusterLP(families).close(rng=rng)
    for best, guide in product((tables.opt, tables.opt + 1.0), (relaxed, None)):
        found = group_bound.group_bound(families, best, guide, 1, SearchLimits())
        assert min(found.bound, best) <= tables.opt + 1e-6
        assert found.keep[tables.marginal <= best].all()


def test_time_and_memory_limits_leave_a_bound() -> None:
    rng = np.random.default_rng(3)
    families = ring(rng)
    late = solve_parts(families, "auto", SearchLimits.of(0.0, None, None), rng)
    assert {part.met for part in late} == {frozenset({Limit.TIME})}
    small = solve_parts(families, "auto", SearchLimits.of(None, 1 << 20, None), rng)
    for found in (late, small):
        assert sum(part.bound for part in found) <= sum(part.cost for part in found) + 1e-9


def ring(rng: np.random.Generator) -> Families:
    """One component of 27 nodes, each with its neighbours on a ring as candidates."""
    n = 27
    lists = [
        [(0.0, ()), *((float(rng.uniform(-3, -1)), ((i + d) % n,)) for d in (-1, 1))]
        for i in range(n)
    ]
    return Families.from_parents([f"v{i:02}" for i in range(n)], lists)
