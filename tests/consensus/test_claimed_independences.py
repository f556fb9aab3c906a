"""Independences that are claimed for the knowledge's sake, against the definition of separation."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.claimed_independences import claims_of
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import select_among
from tests import naive
from tests.naive_knowledge import keeps
from tests.strategies import dag_lists, knowledge_of

EVERY = {n: naive.all_dags(n) for n in (2, 3, 4)}


@given(dag_lists(min_nodes=2, max_nodes=4, max_dags=3), st.data())
@settings(max_examples=30, deadline=None)
def test_claims_are_what_some_input_denies(dags, data) -> None:
    knowledge = data.draw(knowledge_of(None, dags[0].names))
    consensus = select_among(mcbnc_paths(dags, knowledge=knowledge))[1].dag
    told = {
        (c.variable, c.other): c for c in claims_of(consensus, knowledge, dags, [1] * len(dags))
    }
    possible = [dag for dag in EVERY[consensus.n] if keeps(dag, knowledge)]
    order = [consensus.names[v] for v in consensus.topological_order()]
    for place, last in enumerate(order):
        for first in order[:place]:
            a, b = consensus.names.index(first), consensus.names.index(last)
            parted = not any(dag.adjacency[a, b] or dag.adjacency[b, a] for dag in possible)
            given = set(consensus.parents(b))
            against = sum(not naive.d_separated(dag, a, b, given - {a}) for dag in dags)
            claim = told.pop((first, last), None)
            assert (claim is not None) == (parted and against > 0)
            if claim is not None:
                assert claim.given == tuple(sorted(consensus.names[v] for v in given))
                assert claim.against == Fraction(against, len(dags))
    assert not told
