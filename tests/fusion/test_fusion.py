"""Order, minimal I-maps and union against their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError, StructureError
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.fusion.union import fuse
from fedbn.fusion.weights import integer_weights
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from tests import naive
from tests import naive_consensus as twin
from tests.strategies import dag_lists, dags


@given(dags(max_nodes=5), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_imap_by_d_separation_over_paths(dag: DAG, random) -> None:
    order = list(dag.names)
    random.shuffle(order)
    found = minimal_imap(dag, order)
    place = {name: i for i, name in enumerate(dag.names)}
    for k, name in enumerate(order):
        before = {place[other] for other in order[:k]}
        parents = {u for u in before if not naive.d_separated(dag, u, place[name], before - {u})}
        assert set(found.parents(place[name])) == parents


@given(dag_lists(max_nodes=6, max_dags=4), st.lists(st.integers(1, 4), min_size=4, max_size=4))
@settings(max_examples=100, deadline=None)
def test_order_and_union_agree_with_the_twin(dag_list: list[DAG], weights: list[int]) -> None:
    used = [Fraction(w, 3) for w in weights[: len(dag_list)]]
    matrices = [dag.adjacency.copy() for dag in dag_list]
    sigma = twin.order(matrices, used)
    fusion = fuse(dag_list, used)
    assert fusion.order == tuple(dag_list[0].names[i] for i in sigma)
    for dag, imap in zip(matrices, fusion.imaps, strict=True):
        assert np.array_equal(imap.adjacency, twin.imap(dag, sigma))
    union = np.logical_or.reduce([imap.adjacency for imap in fusion.imaps])
    assert np.array_equal(fusion.union.adjacency, union)


@given(dag_lists(min_nodes=3, max_nodes=6, max_dags=3))
@settings(max_examples=30, deadline=None)
def test_union_is_an_imap_of_every_input(dag_list: list[DAG]) -> None:
    union = fuse(dag_list).union.adjacency
    n = len(union)
    for x in range(n):
        for y in range(x):
            rest = [v for v in range(n) if v not in (x, y)]
            for mask in range(2 ** len(rest)):
                s = {v for k, v in enumerate(rest) if mask >> k & 1}
                if twin.separated(union, x, y, s):
                    assert all(twin.separated(dag.adjacency, x, y, s) for dag in dag_list)


@pytest.mark.slow
def test_more_than_one_word_of_nodes() -> None:
    rng = np.random.default_rng(1)
    names = [f"v{i:03d}" for i in range(140)]
    dag = random_dag(names, edges=180, rng=rng)
    assert minimal_imap(dag, [names[i] for i in dag.topological_order()]) == dag
    alone = fuse([dag])
    assert alone.union.n_edges >= dag.n_edges
    order = [names.index(name) for name in alone.order]
    assert np.array_equal(alone.union.adjacency, twin.imap(dag.adjacency, order))


def test_random_ties_of_the_order() -> None:
    empty = DAG.empty([f"v{i}" for i in range(8)])
    assert fuse([empty]).order == empty.names[::-1]
    drawn = {fuse([empty], rng=np.random.default_rng(seed)).order for seed in range(5)}
    assert len(drawn) == 5


def test_merging() -> None:
    ab, ba = DAG.from_edges("ab", ["ab"]), DAG.from_edges("ab", ["ba"])
    merged = merge_inputs([ab, ba, ab.reorder("ba")], [Fraction(1, 2), 1, Fraction(3, 2)])
    assert merged.names == ("a", "b")
    assert sorted(zip(merged.members, merged.weights, strict=True)) == [((0, 2), 2), ((1,), 1)]
    assert merged.unit == 1
    assert merged.count == 3


def test_integer_weights() -> None:
    chain, fork, empty = (
        DAG.from_edges("abc", edges) for edges in (["ab", "bc"], ["ba", "bc"], [])
    )
    thirds = integer_weights([[1.0, 1.0, 1.0], [0.2, 0.0]], [[chain, fork, empty], [fork, chain]])
    assert thirds == ((333333, 333333, 333334), (10**6, 0))
    for weights in ([1.0], [-1.0, 2.0], [float("nan"), 1.0], [0.0, 0.0]):
        with pytest.raises(ConfigError):
            integer_weights([weights], [[chain, fork]])
    with pytest.raises(ConfigError):
        integer_weights([], [[chain]])


def test_order_must_be_a_permutation() -> None:
    with pytest.raises(StructureError):
        minimal_imap(DAG.empty("abc"), "ab")
