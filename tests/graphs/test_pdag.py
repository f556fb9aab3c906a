"""Equivalence classes: the kernels against the definition, and the theorems of the field."""

import numpy as np
import pytest
from hypothesis import given, settings

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.graphs.random import random_dag
from tests import naive
from tests.naive_consensus import meek_closure
from tests.strategies import dags


@pytest.mark.parametrize(
    ("n", "dags_", "classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)]
)
def test_the_known_numbers_of_classes(n: int, dags_: int, classes: int) -> None:
    """Gillispie & Perlman 2001: 1, 2, 11, 185 classes on 1 to 4 nodes."""
    every = naive.all_dags(n)
    assert len(every) == dags_
    assert len({dag_to_cpdag(dag) for dag in every}) == classes


@given(dags())
def test_a_class_kept_as_arcs_is_the_same(dag: DAG) -> None:
    cpdag = dag_to_cpdag(dag)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbn.graphs.graph.WIDE", -1)
        wide = dag_to_cpdag(dag)
        member = consistent_extension(wide)
        backwards = wide.reorder(dag.names[::-1])
    assert wide == cpdag
    assert wide.n_edges == dag.n_edges
    assert wide.directed_edges == cpdag.directed_edges
    assert wide.undirected_edges == cpdag.undirected_edges
    assert member == consistent_extension(cpdag)
    assert backwards == cpdag.reorder(dag.names[::-1])


@given(dags(max_nodes=5))
@settings(max_examples=150, deadline=None)
def test_the_cpdag_is_the_union_of_the_class(dag: DAG) -> None:
    assert np.array_equal(dag_to_cpdag(dag).adjacency, naive.cpdag(dag))


@given(dags(max_nodes=9))
@settings(deadline=None)
def test_dag_to_cpdag_and_back_stays_in_the_class(dag: DAG) -> None:
    cpdag = dag_to_cpdag(dag)
    extension = consistent_extension(cpdag)
    assert naive.same_class(extension, dag)
    assert dag_to_cpdag(extension) == cpdag


@given(dags(max_nodes=7))
@settings(deadline=None)
def test_meek_rules_on_the_v_structures_give_the_cpdag(dag: DAG) -> None:
    """Meek 1995: skeleton and v-structures closed under R1 to R3 are the CPDAG."""
    matrix = naive.skeleton(dag)
    for a, c, b in naive.v_structures(dag):
        matrix[c, a] = matrix[c, b] = False
    assert meek_closure(PDAG(dag.names, matrix)) == dag_to_cpdag(dag)


def test_meek_r4_directs_with_background_knowledge() -> None:
    pdag = PDAG.from_edges(
        "abcd", directed=[("d", "c"), ("c", "b")], undirected=[("a", "b"), ("a", "c"), ("a", "d")]
    )
    assert ("a", "b") in meek_closure(pdag).directed_edges


def test_a_graph_without_extension_is_refused() -> None:
    square = PDAG.from_edges("abcd", undirected=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    with pytest.raises(StructureError, match="no DAG has its skeleton"):
        consistent_extension(square)


@pytest.mark.parametrize("n", [63, 64, 65, 130])
def test_several_words_per_set(n: int) -> None:
    rng = np.random.default_rng(n)
    dag = random_dag([f"v{i:03d}" for i in range(n)], edges=2 * n, rng=rng)
    cpdag = dag_to_cpdag(dag)
    extension = consistent_extension(cpdag)
    assert naive.same_class(extension, dag)
    order = [dag.names[i] for i in rng.permutation(n)]
    assert dag_to_cpdag(dag.reorder(order)).reorder(dag.names) == cpdag
