"""The baselines: each gives a DAG with the property that defines it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError
from fedbn.fusion.baselines import (
    BASELINES,
    edge_vote,
    fuse_by,
)
from fedbn.fusion.genetic import genetic_inputs, genetic_union
from fedbn.fusion.median import median_dag
from fedbn.fusion.union import fuse
from fedbn.graphs.dag import DAG, find_cycle
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.random import perturb, random_dag
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.networks.catalog import load_network
from tests.strategies import dag_lists


def inputs(seed: int, n: int = 8, count: int = 5) -> list[DAG]:
    rng = np.random.default_rng(seed)
    base = random_dag([f"v{i}" for i in range(n)], edges=n + 4, rng=rng)
    return [perturb(base, 3, rng=rng) for _ in range(count)]


def neighbours(dag: DAG) -> list[DAG]:
    """Every DAG one valid addition, deletion or reversal away."""
    found = []
    for x in range(dag.n):
        for y in range(dag.n):
            for a, b in {(True, False), (False, False), (False, True)}:
                matrix = dag.adjacency.copy()
                matrix[x, y], matrix[y, x] = a, b
                if x != y and find_cycle(matrix) is None:
                    found.append(DAG(dag.names, matrix))
    return found


@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=4))
@settings(max_examples=30, deadline=None)
def test_median_is_a_local_optimum(dags: list[DAG]) -> None:
    dag = median_dag(dags)
    least = mean_smhd(dag, dags)
    assert all(mean_smhd(other, dags) >= least for other in neighbours(dag))
    assert mean_smhd(median_dag(dags, start=dags[0]), dags) <= mean_smhd(dags[0], dags)


def test_vote_by_hand() -> None:
    ab, ba, bc = (DAG.from_edges("abc", [edge]) for edge in ("ab", "ba", "bc"))
    assert edge_vote([ab, ab, ba, bc], threshold=0.5).edges == (("a", "b"),)
    assert edge_vote([ab, ba, ba, bc], threshold=0.2).edges == (("b", "a"), ("b", "c"))
    assert edge_vote([ab, ba], threshold=0).edges == (("a", "b"),)
    assert edge_vote([ab, ba, bc], [1, 3, 9], threshold=0.5).edges == (("b", "c"),)
    with pytest.raises(ConfigError, match="share"):
        edge_vote([ab], threshold=2)


def test_vote_leaves_out_the_weakest_edge_of_a_cycle() -> None:
    paths = [DAG.from_edges("abc", edges) for edges in (["ab", "bc"], ["bc", "ca"], ["ab", "bc"])]
    assert edge_vote(paths, threshold=0).edges == (("a", "b"), ("b", "c"))


def test_vote_at_the_automatic_threshold() -> None:
    dags = [DAG.from_edges("abc", edges) for edges in (["ab"], ["ab"], ["ab", "bc"])]
    assert edge_vote(dags).edges == (("a", "b"),)


@given(dag_lists(min_nodes=1, max_nodes=6, max_dags=1), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_vote_and_median_of_equal_inputs_are_the_input(dags: list[DAG], count: int) -> None:
    """The vote was empty where all pairs are joined; the median missed by 43 on pigs."""
    wanted = dags[0].reorder(sorted(dags[0].names))
    for method in ("vote", "median"):
        assert fuse_by(method, dags * count) == wanted


@pytest.mark.slow
def test_median_of_equal_large_inputs_is_the_input() -> None:
    pigs = load_network("pigs").dag
    assert fuse_by("median", [pigs] * 3) == pigs.reorder(sorted(pigs.names))


def test_median_is_no_worse_than_the_descent_from_nothing() -> None:
    for seed in range(5):
        dags = inputs(seed)
        assert mean_smhd(fuse_by("median", dags), dags) <= mean_smhd(median_dag(dags), dags)


def test_intersection_and_union_bracket_the_maps() -> None:
    dags = inputs(1)
    fusion = fuse(dags)
    shared = fuse_by("intersection", dags)
    for imap in fusion.imaps:
        assert set(shared.edges) <= set(imap.edges) <= set(fuse_by("union", dags).edges)
    assert np.array_equal(
        shared.adjacency, np.logical_and.reduce([imap.adjacency for imap in fusion.imaps])
    )


@pytest.mark.parametrize("evolve", [genetic_union, genetic_inputs])
def test_genetic_algorithms_keep_the_treewidth(evolve) -> None:
    dags = inputs(2)
    found = evolve(dags, max_treewidth=2, generations=15, population=8)
    assert dag_treewidth(found) <= 2
    assert found == evolve(dags, max_treewidth=2, generations=15, population=8)
    with pytest.raises(ConfigError):
        evolve(dags, population=1)
    with pytest.raises(ConfigError):
        evolve(dags, max_treewidth=0)


@pytest.mark.parametrize("evolve", [genetic_union, genetic_inputs])
def test_genetic_algorithms_improve_with_the_generations(evolve) -> None:
    dags = inputs(3, n=10)
    target = [fuse(dags).union] if evolve is genetic_union else dags
    distances = [
        mean_smhd(evolve(dags, max_treewidth=2, generations=g, population=8), target)
        for g in (0, 40)
    ]
    assert distances[1] <= distances[0]


def test_genetic_union_finds_g_plus_where_the_bound_allows_it() -> None:
    dags = inputs(2)
    assert genetic_union(dags, max_treewidth=7, generations=0) == fuse(dags).union


@pytest.mark.parametrize("name", sorted(BASELINES))
def test_all_agree_on_a_single_input_up_to_equivalence(name: str) -> None:
    dag = DAG.from_edges("abcd", ["ab", "bc", "bd"])
    assert mean_smhd(fuse_by(name, [dag, dag]), [dag]) == 0


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match="median"):
        fuse_by("mode", inputs(0))
