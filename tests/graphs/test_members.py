"""Members of a class by parent sets, and the way to a member, against all members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.members import covered_reversals, members_by_parents
from fedbn.graphs.pdag import PDAG, dag_to_cpdag
from tests import naive
from tests.strategies import dags


@settings(max_examples=40)
@given(dags(min_nodes=1, max_nodes=4), st.data())
def test_every_combination_of_parents_has_one_member(dag: DAG, data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, dag.n - 1), min_size=1, max_size=2, unique=True))
    everything = naive.members(dag)
    known = dag_to_cpdag(dag)
    for pattern, allowed in ((known, everything), fixed(known, everything, data)):
        found = members_by_parents(pattern, nodes)
        assert all(any(member == each for each in allowed) for member in found)
        ours = [tuple(member.parents(node) for node in nodes) for member in found]
        assert sorted(ours) == sorted(
            {tuple(each.parents(node) for node in nodes) for each in allowed}
        )


def fixed(known: PDAG, everything: list[DAG], data: st.DataObject) -> tuple[PDAG, list[DAG]]:
    """The class with the direction of one open edge said by somebody, and what is left of it."""
    pairs = np.argwhere(known.adjacency & known.adjacency.T).tolist()
    if not pairs:
        return known, everything
    i, j = data.draw(st.sampled_from(pairs))
    adjacency = known.adjacency.copy()
    adjacency[j, i] = False
    return PDAG(known.names, adjacency), [each for each in everything if each.adjacency[i, j]]


@settings(max_examples=40)
@given(dags(min_nodes=1, max_nodes=4))
def test_the_way_to_every_member_reverses_covered_edges_alone(dag: DAG) -> None:
    for member in naive.members(dag):
        now = dag.adjacency.copy()
        steps = list(covered_reversals(dag, member))
        assert len(steps) == int((dag.adjacency & member.adjacency.T).sum())
        for x, y in steps:
            now[x, y] = False
            assert np.array_equal(now[:, x], now[:, y])
            now[y, x] = True
        assert np.array_equal(now, member.adjacency)


def test_what_is_refused() -> None:
    chain, fork = DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["ab", "cb"])
    with pytest.raises(StructureError, match="are not equivalent"):
        list(covered_reversals(chain, fork))
    names = [f"v{i:02}" for i in range(16)]
    whole = DAG(names, np.triu(np.ones((16, 16), dtype=bool), 1))
    with pytest.raises(StructureError, match="more than 20000 possible sets of parents"):
        members_by_parents(dag_to_cpdag(whole), [0])
    small = dag_to_cpdag(DAG(names[:12], whole.adjacency[:12, :12]))
    with pytest.raises(StructureError, match="'v00', 'v01', .* more than 20000 combinations"):
        members_by_parents(small, [0, 1, 2])
