"""The DAG type: what it refuses, and its conversions."""

import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG, find_cycle
from tests.strategies import dags


def test_a_cycle_is_refused_and_shown() -> None:
    with pytest.raises(StructureError, match="a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c"):
        DAG.from_edges("abc", [("a", "b"), ("b", "c"), ("c", "a")])


@pytest.mark.parametrize(
    ("names", "edges", "reason"),
    [
        (("a", "a"), [], "'a' is repeated"),
        (("a", ""), [], "non-empty"),
        (("a", "b"), [("a", "c")], "names 'c', which is no node"),
        (("a", "b"), [("a", "b"), ("a", "b")], "once"),
        (("a", "b"), [("a", "a")], "its own parent"),
    ],
)
def test_bad_input_is_refused(names, edges, reason) -> None:
    with pytest.raises(StructureError, match=reason):
        DAG.from_edges(names, edges)


def test_the_adjacency_is_copied_and_read_only() -> None:
    matrix = np.zeros((2, 2), dtype=bool)
    dag = DAG(("a", "b"), matrix)
    matrix[0, 1] = True
    assert dag.n_edges == 0
    with pytest.raises(ValueError, match="read-only"):
        dag.adjacency[0, 1] = True


@given(dags())
def test_a_dag_kept_as_arcs_is_the_same(dag: DAG) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fedbn.graphs.graph.WIDE", -1)
        wide = DAG.from_edges(dag.names, dag.edges)
        backwards = wide.reorder(dag.names[::-1])
        again = DAG.from_parent_bits(dag.names, dag.parent_bits)
        more = dag.extend(("0", *dag.names[::-1], "~"))
        assert wide.extend(("0", *dag.names[::-1], "~")) == more
    assert dag.extend(more.names) == more == DAG.from_edges(more.names, dag.edges)
    assert not dag.extend(more.names).adjacency.flags.writeable
    assert wide == again == dag == pickle.loads(pickle.dumps(wide))
    assert backwards == dag.reorder(dag.names[::-1])
    assert np.array_equal(wide.adjacency, dag.adjacency)
    assert np.array_equal(wide.arcs, dag.arcs)
    assert np.array_equal(wide.parent_bits, dag.parent_bits)
    assert (wide.edges, wide.n_edges, wide.parent_sets()) == (
        dag.edges,
        dag.n_edges,
        dag.parent_sets(),
    )
    for node in range(-dag.n, dag.n):
        assert wide.parents(node) == dag.parents(node)
        assert wide.children(node) == dag.children(node)
    with pytest.raises(IndexError):
        wide.parents(dag.n)


def test_a_pickled_dag_is_read_only() -> None:
    dag = pickle.loads(pickle.dumps(DAG.from_edges("ab", ["ab"])))
    assert not dag.adjacency.flags.writeable
    assert not dag.arcs.flags.writeable


def test_a_wrong_shape_is_refused() -> None:
    with pytest.raises(StructureError, match=r"\[2, 2\] for 2 names, got \[3, 3\]"):
        DAG(("a", "b"), np.zeros((3, 3), dtype=bool))


@given(dags())
def test_conversions_and_reorderings_come_back(dag: DAG) -> None:
    assert DAG.from_networkx(dag.to_networkx()) == dag
    backwards = dag.names[::-1]
    assert dag.reorder(backwards).reorder(dag.names) == dag
    assert dag.reorder(backwards).edges == dag.edges
    assert dag.permute(np.arange(dag.n)[::-1]) == DAG.from_edges(backwards, dag.edges)
    assert DAG.from_edges(dag.names, dag.edges) == dag


@given(dags())
def test_topological_order_is_the_smallest(dag: DAG) -> None:
    graph = dag.to_networkx()
    index = {name: i for i, name in enumerate(dag.names)}
    expected = nx.lexicographical_topological_sort(graph, key=index.__getitem__)
    assert [dag.names[i] for i in dag.topological_order()] == list(expected)


def test_pgmpy_and_back() -> None:
    dag = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    assert DAG.from_pgmpy(dag.to_pgmpy()) == dag


@given(dags(min_nodes=2))
def test_find_cycle_finds_one_when_an_edge_is_turned_back(dag: DAG) -> None:
    assert find_cycle(dag.adjacency) is None
    for i, j in np.argwhere(dag.adjacency):
        matrix = dag.adjacency.copy()
        matrix[j, i] = True
        cycle = find_cycle(matrix)
        assert cycle is not None
        assert cycle[0] == cycle[-1]
        assert all(matrix[a, b] for a, b in itertools.pairwise(cycle))


def test_a_million_nodes_are_refused_before_anything_is_allocated() -> None:
    names = [f"v{i}" for i in range(10**6)]
    for make in (lambda: DAG.empty(names), lambda: DAG.from_edges(names, [])):
        with pytest.raises(StructureError, match="at most 20000 nodes, got 1000000"):
            make()
