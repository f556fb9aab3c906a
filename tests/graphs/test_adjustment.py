"""Distances by effects against their definition, and directions against all members."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fedbn.errors import StructureError
from fedbn.graphs.adjustment import adjustment_distances, orientations, sid
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import perturb, random_dag
from tests import naive

CASES = int(os.environ.get("FEDBN_TWIN_CASES", "20"))


def drawn(seed: int) -> tuple[DAG, DAG]:
    """Two structures over three to five variables: unrelated, or one a perturbed copy."""
    rng = np.random.default_rng(seed)
    names = tuple("abcde"[: int(rng.integers(3, 6))])
    truth = random_dag(names, rng=rng, edge_probability=float(rng.uniform(0.2, 0.9)))
    if rng.random() < 0.5:
        return truth, perturb(truth, 1, rng=rng)
    return truth, random_dag(names, rng=rng, edge_probability=float(rng.uniform(0.2, 0.9)))


@pytest.mark.parametrize("seed", range(CASES))
def test_sid_counts_wrong_adjustments_for_parents(seed: int) -> None:
    truth, dag = drawn(seed)
    wrong = 0
    for x in range(truth.n):
        parents = set(dag.parents(x))
        for y in set(range(truth.n)) - {x}:
            if y in parents:
                wrong += naive.reaches(truth, x, y)
            else:
                wrong += not naive.is_adjustment_set(truth, x, y, parents)
    assert sid(dag, truth) == wrong


@pytest.mark.parametrize("seed", range(CASES))
def test_directions_and_classes(seed: int) -> None:
    truth, dag = drawn(seed)
    ours, theirs = (naive.cpdag(each) for each in (dag, truth))
    found, wanted = (
        {(int(i), int(j)) for i, j in np.argwhere(each & ~each.T)} for each in (ours, theirs)
    )
    share = orientations(dag, truth)
    assert share.precision == (len(found & wanted) / len(found) if found else 1.0)
    assert share.recall == (len(found & wanted) / len(wanted) if wanted else 1.0)
    for member in naive.members(truth):
        assert adjustment_distances(member, truth) == (0, 0, 0)
    none_wrong = not np.any(truth.adjacency & ~dag.adjacency)  # truth is a subgraph
    assert (sid(dag, truth) == 0) == none_wrong


def test_order_of_columns_and_small_graphs() -> None:
    chain, other = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("cab", ["ab", "bc"])
    assert sid(other, chain) == 0
    assert sid(DAG.empty("a"), DAG.empty("a")) == 0
    assert adjustment_distances(DAG.empty("a"), DAG.empty("a")) == (0, 0, 0)
    with pytest.raises(StructureError, match="missing"):
        sid(chain, DAG.empty("abd"))
