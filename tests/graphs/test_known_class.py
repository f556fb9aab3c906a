"""The class under knowledge against the enumeration of its members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.known_class import class_of, member_that_keeps
from tests import naive
from tests.naive_knowledge import keeps, members_that_keep
from tests.strategies import dags, knowledge_of


@given(dags(max_nodes=5), st.data())
@settings(max_examples=150, deadline=None)
def test_the_class_is_the_union_of_the_members_that_keep_the_knowledge(dag: DAG, data) -> None:
    owner = data.draw(st.sampled_from([dag, None]))
    knowledge = data.draw(knowledge_of(owner, dag.names))
    every = members_that_keep(dag, knowledge)
    found = member_that_keeps(dag, knowledge)
    if not every:
        assert found is None
        with pytest.raises(StructureError, match="keeps the knowledge"):
            class_of(dag, knowledge)
        return
    assert found in every
    union = np.logical_or.reduce([member.adjacency for member in every])
    assert np.array_equal(class_of(dag, knowledge).adjacency, union)


@given(dags(max_nodes=5), st.data())
@settings(max_examples=60, deadline=None)
def test_words_on_directions(dag: DAG, data) -> None:
    knowledge = data.draw(knowledge_of(dag, dag.names))
    all_members, kept = naive.members(dag), members_that_keep(dag, knowledge)
    for edge, word in directed_words(dag, knowledge).items():
        everywhere = all(edge in member.edges for member in all_members)
        wherever_kept = all(edge in member.edges for member in kept)
        expected = "compelled" if everywhere else "by knowledge" if wherever_kept else "open"
        assert word == expected


@given(dags(max_nodes=5), st.data())
@settings(max_examples=60, deadline=None)
def test_breaches_are_told(dag: DAG, data) -> None:
    knowledge = data.draw(knowledge_of(None, dag.names))
    assert (knowledge.breaches(dag) == ()) == keeps(dag, knowledge)


def test_tiers_reach_the_class() -> None:
    chain = DAG.from_edges(("age", "death", "stage"), [("age", "stage"), ("stage", "death")])
    first_and_last = Knowledge(tiers=(("age",), ("stage",), ("death",)))
    assert class_of(chain).undirected_edges == (("age", "stage"), ("death", "stage"))
    assert class_of(chain, first_and_last).directed_edges == (("age", "stage"), ("stage", "death"))


def test_required_edges_against_the_tiers_are_refused() -> None:
    with pytest.raises(ConfigError, match="lead from late to early, but the tiers put early first"):
        Knowledge((("late", "x"), ("x", "early")), tiers=(("early",), ("late",)))
