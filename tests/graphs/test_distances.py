"""Distances by definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, precision_recall_f1, shd, smhd
from tests import naive
from tests.strategies import dag_lists


@given(dag_lists(max_nodes=5, max_dags=2))
@settings(max_examples=80, deadline=None)
def test_distances_by_definition(dag_list: list[DAG]) -> None:
    a, b = dag_list[0], dag_list[-1]
    edges_a, edges_b = (set(zip(*np.nonzero(naive.moral_graph(d)), strict=True)) for d in (a, b))
    assert smhd(a, b) == len(edges_a ^ edges_b) // 2 == smhd(b, a)
    p, q = naive.cpdag(a), naive.cpdag(b)
    pairs = [(i, j) for i in range(a.n) for j in range(i)]
    kinds = [((p[i, j], p[j, i]), (q[i, j], q[j, i])) for i, j in pairs]
    assert shd(a, b) == sum(ours != theirs for ours, theirs in kinds)
    right = sum(ours == theirs and any(ours) for ours, theirs in kinds)
    accuracy = precision_recall_f1(a, b)
    found, wanted = sum(any(o) for o, _ in kinds), sum(any(t) for _, t in kinds)
    assert accuracy.precision == (right / found if found else 1.0)
    assert accuracy.recall == (right / wanted if wanted else 1.0)
    assert accuracy.f1 == (2 * right / (found + wanted) if found + wanted else 1.0)


def test_order_of_columns_does_not_matter() -> None:
    a = DAG.from_edges("abc", ["ac", "bc"])
    b = DAG.from_edges("cba", ["ac", "bc"])
    assert (smhd(a, b), shd(a, b)) == (0, 0)


def test_weighted_mean_is_exact() -> None:
    chain, empty = DAG.from_edges("abc", ["ab", "bc"]), DAG.empty("abc")
    assert mean_smhd(chain, [chain, empty], [1, 2]) == Fraction(4, 3)
    with pytest.raises(ConfigError):
        mean_smhd(chain, [chain], [1, 2])
    with pytest.raises(StructureError):
        mean_smhd(chain, [])
    with pytest.raises(StructureError):
        smhd(chain, DAG.empty("abd"))
