"""Moral graphs, d-separation, treewidth, random graphs."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_ancestral_graph, moral_graph
from fedbn.graphs.random import perturb, random_dag
from fedbn.graphs.separation import d_separated
from fedbn.graphs.treewidth import dag_treewidth, min_fill_order, treewidth
from tests import naive
from tests.strategies import dags


@given(dags())
def test_moral_graph(dag: DAG) -> None:
    assert np.array_equal(moral_graph(dag), naive.moral_graph(dag))


@given(dags())
def test_the_moral_graph_of_all_ancestors_is_the_moral_graph(dag: DAG) -> None:
    assert np.array_equal(moral_ancestral_graph(dag, range(dag.n)), moral_graph(dag))


@given(dags(max_nodes=5))
@settings(deadline=None, max_examples=60)
def test_d_separation_by_paths(dag: DAG) -> None:
    for x, y in combinations(range(dag.n), 2):
        rest = [v for v in range(dag.n) if v not in (x, y)]
        for size in range(len(rest) + 1):
            for given_ in combinations(rest, size):
                expected = naive.d_separated(dag, x, y, set(given_))
                assert d_separated(dag, [x], [y], given_) == expected


def test_overlapping_sets_are_refused() -> None:
    with pytest.raises(StructureError, match="disjoint"):
        d_separated(DAG.empty("ab"), [0], [1], [1])


@given(dags(max_nodes=6))
@settings(deadline=None, max_examples=40)
def test_treewidth_bounds_the_exact_one_and_meets_it_on_small_graphs(dag: DAG) -> None:
    exact = naive.treewidth(moral_graph(dag))
    assert dag_treewidth(dag) >= exact
    largest_clique = max(map(len, nx.find_cliques(nx.Graph(moral_graph(dag)))))
    assert dag_treewidth(dag) >= largest_clique - 1


@pytest.mark.slow
@given(n=st.integers(1, 90), share=st.floats(0, 0.5), seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=40)
def test_treewidth_is_that_of_its_slow_twin(n: int, share: float, seed: int) -> None:
    """Beyond 64 nodes, too, where a set takes two words."""
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < share, k=1)
    graph = upper | upper.T
    by_fill, by_search = naive.min_fill_order(graph), naive.maximum_cardinality_order(graph)
    assert min_fill_order(graph) == by_fill
    widths = [naive.elimination_width(graph, order) for order in (by_fill, by_search)]
    assert treewidth(graph) == min(widths)


@pytest.mark.parametrize(
    ("graph", "width"),
    [
        (nx.path_graph(6), 1),
        (nx.cycle_graph(6), 2),
        (nx.complete_graph(5), 4),
        (nx.grid_2d_graph(3, 3), 3),
    ],
)
def test_known_treewidths(graph: nx.Graph, width: int) -> None:
    assert treewidth(nx.to_numpy_array(graph).astype(bool)) == width


def test_an_empty_graph_has_width_zero() -> None:
    assert treewidth(np.zeros((0, 0), dtype=bool)) == 0
    assert treewidth(np.zeros((3, 3), dtype=bool)) == 0


def test_random_dags_have_what_was_asked() -> None:
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(10)]
    assert random_dag(names, edges=17, rng=rng).n_edges == 17
    assert random_dag(names, edge_probability=1.0, rng=rng).n_edges == 45
    with pytest.raises(StructureError, match=r"\[0, 45\]"):
        random_dag(names, edges=46, rng=rng)
    with pytest.raises(StructureError, match="exactly one"):
        random_dag(names, rng=rng)
    dag = random_dag(names, edges=17, rng=rng)
    assert perturb(dag, 0, rng=rng) == dag
    once = perturb(dag, 1, rng=rng)
    assert 1 <= int((once.adjacency ^ dag.adjacency).sum()) <= 2
    same = [perturb(dag, 5, rng=np.random.default_rng(3)) for _ in range(2)]
    assert same[0] == same[1]
