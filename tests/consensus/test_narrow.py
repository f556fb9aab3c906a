"""The consensus under a bound on its treewidth."""

from __future__ import annotations

import os
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbn as fb
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import preference
from fedbn.errors import ConfigError, StructureError
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.inputs import merge_inputs
from fedbn.fusion.median import descend_to_median
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.treewidth import dag_treewidth
from tests.naive_knowledge import keeps
from tests.strategies import dag_lists, knowledge_of

CASES = int(os.environ.get("FEDBN_TWIN_CASES", "20"))


def widest_clique(around: np.ndarray, order: tuple[int, ...]) -> int:
    """The most neighbours that a node has when it is eliminated."""
    around, left, width = around.copy(), set(order), 0
    for v in order:
        left.discard(v)
        near = [u for u in left if around[v, u]]
        width = max(width, len(near))
        for a in near:
            for b in near:
                around[a, b] |= a != b
    return width


def changes(dag: DAG) -> list[DAG]:
    """Every DAG that one change of an edge makes of this one, by (x, y), deletion first."""
    found = []
    for x in range(dag.n):
        for y in range(dag.n):
            if x == y:
                continue
            matrix = dag.adjacency.copy()
            kinds = ("delete", "reverse") if matrix[x, y] else ("add",)
            for kind in kinds:
                changed = matrix.copy()
                changed[x, y] = kind == "add"
                changed[y, x] |= kind == "reverse"
                try:
                    found.append(DAG(dag.names, changed))
                except StructureError:
                    continue
    return found


@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=4), st.integers(0, 3), st.data())
@settings(max_examples=CASES, deadline=None)
@pytest.mark.slow
def test_the_descent_is_that_of_the_twin(dags: list[DAG], bound: int, data) -> None:
    knowledge = data.draw(knowledge_of(None, dags[0].names))
    dag = knowledge.with_required(DAG.empty(dags[0].names))
    found = descend_to_median(merge_inputs(dags), dag, knowledge, bound)
    while True:
        now = mean_smhd(dag, dags)
        better = [
            other
            for other in changes(dag)
            if keeps(other, knowledge)
            and dag_treewidth(other) <= bound
            and mean_smhd(other, dags) < now
        ]
        if not better:
            break
        dag = min(better, key=lambda other: mean_smhd(other, dags))
    assert found == dag


@given(dag_lists(min_nodes=1, max_nodes=6, max_dags=4), st.integers(0, 4))
@settings(max_examples=CASES, deadline=None)
def test_the_consensus_is_within_the_bound_and_no_farther_than_any_state_that_is(
    dags: list[DAG], bound: int
) -> None:
    paths = mcbnc_paths(dags)
    path, found = select_among(paths, max_treewidth=bound)
    assert dag_treewidth(found.dag) <= bound
    narrow = [s for s in found.states if dag_treewidth(s.dag) <= bound]
    assert found.mean_smhd <= min(narrow, key=preference).mean_smhd
    assert found.mean_smhd == mean_smhd(found.dag, path.inputs.dags, path.inputs.weights)
    free = select_among(paths)[1]
    if dag_treewidth(free.dag) <= bound:
        assert found.dag == free.dag


@given(dag_lists(min_nodes=1, max_nodes=5, max_dags=1))
@settings(max_examples=CASES, deadline=None)
def test_no_elimination_order_is_wider_than_what_is_told(dags: list[DAG]) -> None:
    """The bound is one on the true treewidth: some order has no more."""
    around = moral_graph(dags[0])
    least = min(widest_clique(around, order) for order in permutations(range(dags[0].n)))
    assert least <= dag_treewidth(dags[0])


def test_bounds_that_cannot_be_kept_are_refused() -> None:
    clique = DAG.from_edges("abcd", [(a, b) for i, a in enumerate("abcd") for b in "abcd"[i + 1 :]])
    required = Knowledge(clique.edges)
    with pytest.raises(ConfigError, match="treewidth of at most 2: the minimum is 3"):
        fb.fuse({"s": clique}, knowledge=required, max_treewidth=2)
    with pytest.raises(ConfigError, match="treewidth of at most 2: the minimum is 3"):
        fb.fuse({"s": clique}, theta=0, max_treewidth=2)
    with pytest.raises(ConfigError, match="gave a structure of treewidth 3, above max-treewidth 2"):
        fb.fuse({"s": clique}, fusion="union", max_treewidth=2)
    with pytest.raises(ConfigError, match="max-treewidth is for choose = smhd"):
        ConsensusSettings(choose="climb", max_treewidth=2)
    narrow = fb.fuse({"s": clique}, fusion="genetic-union", max_treewidth=1)
    assert dag_treewidth(narrow.dag) <= 1
