"""Theorems of the field that join several modules; those of one module are tested beside it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import select_consensus
from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.fusion.union import fuse
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd, smhd
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score, total_score
from fedbn.search.ges import ges
from tests import naive
from tests.strategies import dag_lists, dags


@given(dags(max_nodes=5))
@settings(max_examples=40, deadline=None)
def test_markov_equivalent_dags_have_distance_zero(dag: DAG) -> None:
    """Equal skeletons and v-structures make equal moral graphs: SMHD and SHD compare classes."""
    for member in naive.members(dag):
        assert smhd(dag, member) == 0
        assert shd(dag, member) == 0


@given(dags(min_nodes=2, max_nodes=6))
@settings(max_examples=60, deadline=None)
def test_reversing_covered_edges_stays_in_the_class(dag: DAG) -> None:
    """Chickering 1995, Lemma 1: x -> y may be reversed if and only if Pa(y) = Pa(x) + x."""
    for i, j in np.argwhere(dag.adjacency):
        matrix = dag.adjacency.copy()
        matrix[i, j], matrix[j, i] = False, True
        covered = set(dag.parents(j)) == {*dag.parents(i), i}
        acyclic = not np.linalg.matrix_power(matrix.astype(np.int64), dag.n).any()
        assert covered == (acyclic and naive.same_class(dag, DAG(dag.names, matrix)))


@given(dags(max_nodes=8))
@settings(max_examples=60, deadline=None)
def test_a_topological_order_gives_the_dag_back(dag: DAG) -> None:
    """Under one of its own orders, the minimal I-map of a DAG is the DAG."""
    order = [dag.names[i] for i in dag.topological_order()]
    assert minimal_imap(dag, order) == dag


@given(dags(max_nodes=6), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_clients_who_agree_on_the_class_get_it(dag: DAG, count: int) -> None:
    """Members of one class, whichever the clients hold, are their own consensus."""
    members = naive.members(dag)
    inputs = [members[k % len(members)] for k in range(count)]
    consensus = select_consensus(mcbnc_path(inputs))
    assert consensus.mean_smhd == consensus.lower_bound == 0


@given(dag_lists(min_nodes=2, max_nodes=7))
@settings(max_examples=60, deadline=None)
def test_the_threshold_is_monotone_and_the_path_ends_empty(inputs: list[DAG]) -> None:
    """θ never falls, each step deletes one edge of G+, and none is left."""
    path = mcbnc_path(inputs)
    assert all(a.theta <= b.theta for a, b in pairwise(path.steps))
    assert len(path.steps) == fuse(inputs).union.n_edges


def test_ges_finds_the_class_of_a_faithful_network() -> None:
    """Chickering 2002, Theorem 15: with enough rows, GES ends in the class of the truth."""
    truth = load_network("random-gaussian:12:14:3")
    data = truth.sample(200_000, np.random.default_rng(1))
    score = make_score("gaussian-bic", data)
    found = ges(score)
    assert found.cpdag == dag_to_cpdag(truth.dag.reorder(data.names))
    assert found.score >= total_score(score, truth.dag.reorder(data.names)) - 1e-6
