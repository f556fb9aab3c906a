"""Paths and consensuses under knowledge against the twins, and what knowledge does not change."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.directions import nearest_member
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.path import POOLINGS
from fedbn.consensus.polish import polish
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import path_states, select_consensus
from fedbn.consensus.votes import votes_of
from fedbn.errors import ConfigError
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from fedbn.graphs.knowledge import Knowledge
from tests import naive_consensus
from tests.naive_consensus import pruned_inputs
from tests.naive_knowledge import class_keeps, fused, keeps, members_that_keep
from tests.strategies import dag_lists, knowledge_of

# How many random cases are looked at: FEDBN_TWIN_CASES=5000 for a long run.
CASES = int(os.environ.get("FEDBN_TWIN_CASES", "20"))


@st.composite
def known_cases(draw: st.DrawFn, max_nodes: int = 5) -> tuple[list[DAG], Knowledge]:
    """Inputs, and knowledge that they may break."""
    dags = draw(dag_lists(min_nodes=2, max_nodes=max_nodes, max_dags=3))
    return dags, draw(knowledge_of(None, dags[0].names))


@given(
    known_cases(), st.sampled_from([0, 1, 10]), st.sampled_from(POOLINGS), st.sampled_from([1, 2])
)
@settings(max_examples=CASES, deadline=None)
@pytest.mark.slow
def test_every_step_and_state_agrees_with_the_twin(case, k_max, pooling, quorum) -> None:
    dags, knowledge = case
    names, units = dags[0].names, [Fraction(1)] * len(dags)
    path = mcbnc_path(dags, k_max=k_max, pooling=pooling, quorum=quorum, knowledge=knowledge)
    matrices = [dag.adjacency.copy() for dag in dags]
    sigma, union = fused(matrices, units, names, knowledge, quorum)
    assert path.order == tuple(names[i] for i in sigma)
    assert np.array_equal(path.union.adjacency, union)
    twins = naive_consensus.greedy_delete(
        union, matrices, units, k_max, pooling, lambda p: class_keeps(p, names, knowledge)
    )
    told = [((s.x, s.y), s.h, s.psi) for s in path.steps]
    assert told == [((names[t.x], names[t.y]), tuple(names[v] for v in t.h), t.psi) for t in twins]
    left = len(twins) + len(knowledge.required) < path.union.n_edges
    assert path.status == ("knowledge" if left else "complete")
    for state in path_states(path, "search")[1:]:
        assert keeps(state.dag, knowledge)
        ours = naive_consensus.cpdag(state.dag.adjacency)
        assert np.array_equal(ours, twins[state.deletions - 1].cpdag)
    for state in path_states(path, "refusion"):
        pruned = [pruned_inputs(path, state.deletions)[place(path, i)] for i in range(len(dags))]
        again = fused([dag.adjacency for dag in pruned], units, names, knowledge, quorum)[1]
        assert np.array_equal(state.dag.adjacency, again)


def place(path, given: int) -> int:
    return next(k for k, members in enumerate(path.inputs.members) if given in members)


@given(known_cases(max_nodes=6), st.integers(0, 3))
@settings(max_examples=CASES, deadline=None)
def test_nothing_of_a_consensus_breaks_the_knowledge(case, k_max: int) -> None:
    dags, knowledge = case
    paths = mcbnc_paths(dags, k_max=k_max, knowledge=knowledge)
    path, consensus = select_among(paths)
    found = [*(p.union for p in paths), *(state.dag for state in consensus.states), consensus.dag]
    found.append(polish(consensus, path).dag)
    assert all(keeps(dag, knowledge) for dag in found)
    places = {name: k for k, name in enumerate(path.order)}
    for k, tier in enumerate(knowledge.tiers):
        later = [name for group in knowledge.tiers[k + 1 :] for name in group]
        assert all(places[a] < places[b] for a in tier for b in later)


@given(known_cases(), st.data())
@settings(max_examples=CASES, deadline=None)
def test_the_member_that_is_written_is_the_nearest_that_keeps_it(case, data) -> None:
    dags, knowledge = case
    dag = data.draw(st.sampled_from(dags))
    kept = members_that_keep(dag, knowledge)
    if not kept:
        return
    inputs = merge_inputs(dags)
    votes = votes_of(inputs)
    arcs = sum(w * own for w, own in zip(inputs.weights, inputs.adjacency.astype(int), strict=True))
    sums = [int(arcs[member.adjacency].sum()) for member in kept]
    found = nearest_member(data.draw(st.sampled_from(kept)), votes, knowledge)
    assert found in kept
    assert int(arcs[found.adjacency].sum()) == max(sums)


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=1), st.integers(1, 3), st.data())
@settings(max_examples=CASES, deadline=None)
def test_equal_inputs_that_keep_it_are_the_consensus(dags, copies: int, data) -> None:
    dag = dags[0]
    knowledge = data.draw(knowledge_of(dag, dag.names))
    path, consensus = select_among(mcbnc_paths(dags * copies, knowledge=knowledge))
    if all(name in {n for tier in knowledge.tiers for n in tier} for name in dag.names):
        assert path.union == dag
    assert consensus.dag == dag


@given(known_cases(max_nodes=6))
@settings(max_examples=CASES, deadline=None)
def test_no_farther_than_votes_and_required_edges_under_it(case) -> None:
    """Of all inputs: where far ones have no say, the consensus may be farther from all."""
    dags, knowledge = case
    path, consensus = select_among(mcbnc_paths(dags, knowledge=knowledge))
    if consensus.reading == "others":
        consensus = select_consensus(path)
    votes = votes_of(path.inputs)
    rivals = [
        averaged_dag(path.names, votes.arc_votes, votes.total, threshold, knowledge)
        for threshold in (None, Fraction(1, 2))
    ]
    if path.complete:
        rivals.append(knowledge.with_required(DAG.empty(path.names)))
    assert all(keeps(rival, knowledge) for rival in rivals)
    given = path.inputs.dags, path.inputs.weights
    assert consensus.mean_smhd <= min(mean_smhd(rival, *given) for rival in rivals)


def test_knowledge_that_all_inputs_keep_may_lead_away_from_them() -> None:
    """The example of decision 026."""
    names = ("v0", "v1", "v2")
    apart = (("v0", "v2"), ("v2", "v0"))
    knowledge = Knowledge(forbidden=apart, tiers=(("v2",), ("v0", "v1")))
    edges = ([("v0", "v1"), ("v2", "v1")], [("v2", "v1"), ("v1", "v0")], [("v0", "v1")])
    dags = [DAG.from_edges(names, each) for each in edges]
    assert all(keeps(dag, knowledge) for dag in dags)
    _, free = select_among(mcbnc_paths(dags))
    _, bound = select_among(mcbnc_paths(dags, knowledge=knowledge))
    assert (free.dag.edges, free.mean_smhd) == ((("v1", "v0"), ("v2", "v1")), Fraction(2, 3))
    assert (bound.dag.edges, bound.mean_smhd) == ((("v0", "v1"),), 1)
    assert keeps(free.dag, knowledge)


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=4))
@settings(max_examples=CASES, deadline=None)
def test_knowledge_of_nothing_changes_nothing(dags: list[DAG]) -> None:
    free, bound = mcbnc_paths(dags), mcbnc_paths(dags, knowledge=Knowledge())
    assert [p.steps for p in free] == [p.steps for p in bound]
    assert [p.order for p in free] == [p.order for p in bound]
    one, other = select_among(free)[1], select_among(bound)[1]
    assert [s.dag for s in one.states] == [s.dag for s in other.states]
    assert one.dag == other.dag


def test_knowledge_of_unknown_variables_is_refused() -> None:
    with pytest.raises(ConfigError, match="names 'ag', which is no variable.*did you mean 'age'"):
        mcbnc_path([DAG.empty(("age", "sex"))], knowledge=Knowledge((("ag", "sex"),)))
