"""The layered drawing: parents above, nothing on top of anything, the same drawing every time."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.graphs.dag import DAG
from fedbn.graphs.layout import LayeredLayout, layered_layout
from fedbn.graphs.random import random_dag


def drawn(dag: DAG, capacity: float = 4.0) -> LayeredLayout:
    return layered_layout(dag, dict.fromkeys(dag.names, 0.8), capacity=capacity)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 25), st.floats(0, 0.5), st.integers(0, 10**6))
def test_every_layout_is_a_layered_drawing(n: int, p: float, seed: int) -> None:
    names = [f"v{i:02}" for i in range(n)]
    dag = random_dag(names, edge_probability=p, rng=np.random.default_rng(seed))
    layout = drawn(dag)
    assert set(layout.positions) == set(names)
    assert set(layout.routes) == set(dag.edges)
    for (parent, child), route in layout.routes.items():
        layers = [y for _, y in route]
        assert layers == list(range(int(layers[0]), int(layers[-1]) + 1))
        assert route[0] == layout.positions[parent]
        assert route[-1] == layout.positions[child]
        assert len(route) >= 2
    for layer in range(layout.n_layers):
        xs = sorted(x for x, y in layout.positions.values() if y == layer)
        assert all(b - a >= 0.8 for a, b in pairwise(xs))
        assert len(xs) <= 4
        assert xs == [] or (xs[0] >= 0.4 - 1e-9 and xs[-1] <= layout.width - 0.4 + 1e-9)


def test_a_planar_tree_has_no_crossing() -> None:
    names = "abcdefg"
    tree = DAG.from_edges(names, ["ag", "ab", "gc", "gf", "bd", "be"])
    layout = drawn(tree, capacity=10)
    place = layout.positions
    for first in tree.edges:
        for second in tree.edges:
            if place[first[0]][1] == place[second[0]][1] and first[0] != second[0]:
                above = place[first[0]][0] - place[second[0]][0]
                below = place[first[1]][0] - place[second[1]][0]
                assert above * below > 0


def test_further_pairs_are_routed_whichever_end_is_above() -> None:
    dag = DAG.from_edges("abc", ["ab", "bc"])
    widths = dict.fromkeys("abc", 1.0)
    layout = layered_layout(dag, widths, capacity=5, also=[("c", "a")])
    assert layout.routes["c", "a"][0] == layout.positions["a"]
    assert layout.routes["c", "a"][-1] == layout.positions["c"]


@pytest.mark.parametrize("names", [(), ("lonely",)])
def test_the_smallest_graphs(names: tuple[str, ...]) -> None:
    layout = drawn(DAG.empty(names))
    assert layout.n_layers == 1
    assert layout.width == pytest.approx(0.8 * len(names))
