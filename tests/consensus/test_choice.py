"""The choice among paths and poolings, its written member, ties at random: against the twins."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.directions import nearest_member
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.path import McbncPath
from fedbn.consensus.path_files import path_from_dict, path_to_dict
from fedbn.consensus.pooling import ROBUST, Robust, poolings_of, select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import (
    Consensus,
    choose_among,
    path_states,
    preference,
    select_consensus,
)
from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.errors import ConfigError
from fedbn.fusion.baselines import edge_vote
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.averaging import averaged_dag
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.networks.catalog import load_network
from tests import naive_choice as twin
from tests.consensus_cases import check, random_case, random_dag
from tests.naive import all_dags
from tests.strategies import dag_lists, dags

_ALARM = load_network("alarm").dag
ALARM = _ALARM.reorder(sorted(_ALARM.names))
TRIANGLE = DAG.from_edges("abc", ["ab", "ac", "bc"])


def chosen(inputs: list[DAG], robust: Robust = "best") -> Consensus:
    return select_among(mcbnc_paths(inputs, poolings=poolings_of(robust)))[1]


@pytest.mark.parametrize("block", range(12))
@pytest.mark.slow
def test_random_cases_agree_with_the_twins(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        check(random_case(seed))


@pytest.mark.slow
def test_ties_at_random_are_ties_of_the_smallest_criticality() -> None:
    """Operators made exact by splitting did not lower the bound of what counted as a tie."""
    rng = np.random.default_rng(1)
    for seed in range(200):
        n = int(rng.integers(4, 6))
        inputs = [
            random_dag(n, float(rng.choice([0.5, 0.8, 1.0])), rng)
            for _ in range(int(rng.integers(2, 4)))
        ]
        path = mcbnc_path(inputs, rng=np.random.default_rng(seed))
        twin.follow(path, ties_at_random=True)


def test_what_three_inputs_agree_on_is_the_consensus() -> None:
    """a -> c <- b is as near to the triangle in SMHD, and has fewer edges."""
    consensus = chosen([TRIANGLE] * 3)
    assert consensus.dag == TRIANGLE
    assert (consensus.mean_smhd, consensus.state.mean_shd) == (0, 0)


@pytest.mark.parametrize("robust", ROBUST)
@given(dags(max_nodes=7), st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_identical_inputs_give_themselves(robust: Robust, dag: DAG, count: int) -> None:
    assert chosen([dag] * count, robust).dag == dag.reorder(sorted(dag.names))


def test_complete_dags_give_themselves() -> None:
    """60 of 60 of four nodes did not."""
    complete = [dag for dag in all_dags(4) if dag.n_edges == 6]
    assert len(complete) == 24
    for dag in complete:
        assert chosen([dag] * 3).dag == dag


def test_equivalent_inputs_give_their_class() -> None:
    chain = [DAG.from_edges("abc", edges) for edges in (["ab", "bc"], ["ba", "bc"], ["cb", "ba"])]
    consensus = chosen(chain)
    assert dag_to_cpdag(consensus.dag) == dag_to_cpdag(chain[0])
    assert consensus.state.mean_shd == 0


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=4), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_written_member_is_the_nearest_of_its_class(inputs: list[DAG], which: int) -> None:
    merged = merge_inputs(inputs)
    dag = inputs[which % len(inputs)]
    if len(dag_to_cpdag(dag).undirected_edges) > 8:
        return
    written = nearest_member(dag, votes_of(merged))
    assert dag_to_cpdag(written) == dag_to_cpdag(dag)
    matrices = [each.adjacency for each in merged.dags]
    every = [twin.agreement(m, matrices, merged.weights) for m in twin.members(dag.adjacency)]
    assert twin.agreement(written.adjacency, matrices, merged.weights) == max(every)


def test_a_class_too_large_to_compare_still_has_a_member_written(monkeypatch) -> None:
    inputs = [DAG.from_edges("abcd", edges) for edges in (["ab", "bc", "cd"], ["ba", "dc", "cb"])]
    monkeypatch.setattr("fedbn.consensus.directions.MAX_SOURCES", 0)
    written = nearest_member(inputs[0], votes_of(merge_inputs([*inputs, inputs[1]])))
    assert dag_to_cpdag(written) == dag_to_cpdag(inputs[0])


def test_pairs_that_all_inputs_join_and_the_consensus_does_not_are_named() -> None:
    rng = np.random.default_rng(4)
    found = 0
    for _ in range(200):
        inputs = [random_dag(6, 0.7, rng) for _ in range(2)]
        paths = mcbnc_paths(inputs)
        path, consensus = select_among(paths)
        joined = np.logical_and.reduce([dag.adjacency | dag.adjacency.T for dag in inputs])
        ours = consensus.dag.adjacency | consensus.dag.adjacency.T
        wanted = [(f"v{a}", f"v{b}") for a, b in np.argwhere(np.triu(joined & ~ours))]
        assert list(consensus.missing_pairs) == wanted
        said = [remark for remark in remarks(path, consensus) if "although every input" in remark]
        assert bool(said) == bool(wanted)
        for a, b in wanted:
            assert f"{a} - {b}" in said[0]
        found += bool(wanted)
    assert found


def dense_against(dag: DAG, in_degree: int) -> DAG:
    """Every node gets the `in_degree` nodes that follow it in a topological order as parents."""
    order = list(dag.topological_order())
    matrix = np.zeros((dag.n, dag.n), dtype=bool)
    for place, v in enumerate(order):
        matrix[order[place + 1 : place + 1 + in_degree], v] = True
    return DAG(dag.names, matrix)


def scattered(dag: DAG, in_degree: int) -> DAG:
    """Every node gets up to `in_degree` parents at random, under a random order."""
    rng = np.random.default_rng(0)
    order = rng.permutation(dag.n)
    matrix = np.zeros((dag.n, dag.n), dtype=bool)
    for place, v in enumerate(order):
        matrix[order[rng.permutation(place)[:in_degree]], v] = True
    return DAG(dag.names, matrix)


@pytest.mark.parametrize(
    ("honest", "hostile"), [(10, dense_against(ALARM, 16)), (3, scattered(ALARM, 4))]
)
def test_one_dense_input_does_not_empty_the_consensus(honest: int, hostile: DAG) -> None:
    """Of 46 edges, the mean of the cuts leaves fewer than ten; what the others agree on is whole,
    and so is a state of clipped cuts."""
    inputs = [ALARM] * honest + [hostile]
    consensus = chosen(inputs)
    assert consensus.reading == "others"
    clipped = min(path_states(mcbnc_path(inputs, pooling="clip")), key=preference)
    assert dag_to_cpdag(clipped.dag) == dag_to_cpdag(ALARM)
    assert dag_to_cpdag(consensus.dag) == dag_to_cpdag(ALARM)
    assert consensus.mean_smhd == lower_bound(votes_of(merge_inputs(inputs)))
    path = mcbnc_path(inputs)
    mean = min(path_states(path), key=preference)
    assert mean.n_edges < 10
    elected = choose_among(path, path_states(path), votes_of(path.inputs))
    assert elected.reading == "vote"
    emptied = replace(elected, mean_smhd=mean.mean_smhd, gap=mean.mean_smhd - elected.lower_bound)
    assert any("far from the inputs" in remark for remark in remarks(path, emptied))


def test_nothing_is_remarked_where_inputs_agree() -> None:
    path = mcbnc_path([ALARM] * 3)
    assert remarks(path, select_consensus(path)) == ()


def test_poolings_share_the_fusion_and_the_draws() -> None:
    inputs = random_case(6).dags
    both = mcbnc_paths(inputs, rng=np.random.default_rng(2))
    for path in both:
        alone = mcbnc_path(inputs, rng=np.random.default_rng(2), pooling=path.pooling)
        assert (path.order, path.steps) == (alone.order, alone.steps)


def test_unknown_pooling_is_refused() -> None:
    with pytest.raises(ConfigError, match="best, mean, clip, median"):
        poolings_of("max")  # type: ignore[arg-type]


def cut_short(path: McbncPath) -> McbncPath:
    """The path as if its time had been over before the first deletion."""
    none = path.lost_arcs[:0]
    return replace(path, steps=(), lost_arcs=none, status="time limit")


def test_a_path_cut_short_falls_back_to_the_edge_vote() -> None:
    inputs = [ALARM] * 3 + [dense_against(ALARM, 8)]
    path = cut_short(mcbnc_path(inputs))
    consensus = select_consensus(path)
    assert (consensus.reading, consensus.theta, consensus.complete) == ("vote", None, False)
    vote = edge_vote(inputs)
    assert dag_to_cpdag(consensus.dag) == dag_to_cpdag(vote)
    assert consensus.mean_smhd == mean_smhd(vote, inputs)
    assert smhd(path.union, ALARM) > 300 > 20 > smhd(consensus.dag, ALARM)
    assert any("path mean (time limit)" in said for said in remarks(path, consensus))


def test_a_path_cut_short_falls_back_to_the_other_path() -> None:
    inputs = [ALARM] * 3 + [dense_against(ALARM, 8)]
    mean, clip = mcbnc_paths(inputs)
    path, consensus = select_among([cut_short(mean), clip])
    assert (path.pooling, consensus.complete) == ("clip", False)
    assert consensus.mean_smhd <= mean_smhd(edge_vote(inputs), inputs)
    assert any("path mean (time limit)" in said for said in remarks(path, consensus))
    again = select_consensus(path_from_dict(path_to_dict(path)))
    assert (again.dag, again.reading, again.complete) == (consensus.dag, consensus.reading, False)


def test_the_edge_vote_is_taken_where_it_is_strictly_nearer_and_never_for_a_published_reading() -> (
    None
):
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        inputs = [random_dag(6, 0.5, rng) for _ in range(4)]
        path = mcbnc_path(inputs)
        consensus = select_consensus(path)
        for reading in ("search", "refusion"):
            own = select_consensus(path, reading)
            assert own.reading == reading
            assert {state.reading for state in own.states} == {reading}
            if consensus.reading != "others":
                assert own.mean_smhd >= consensus.mean_smhd
        if consensus.reading == "vote":
            found += 1
            assert consensus.mean_smhd < min(state.mean_smhd for state in path_states(path))
            assert consensus.theta is None
    assert found > 0


def elected_by(path: McbncPath) -> list[DAG]:
    """What the votes elect."""
    votes = votes_of(path.inputs)
    return [
        averaged_dag(path.names, votes.arc_votes, votes.total, threshold)
        for threshold in (None, Fraction(1, 2))
    ]


@given(dag_lists(min_nodes=2, max_nodes=6, max_dags=4), st.sampled_from((None, 1, 2)))
@settings(max_examples=100, deadline=None)
def test_no_elected_structure_within_the_bound_is_nearer_than_the_choice(
    dags: list[DAG], width: int | None
) -> None:
    path = mcbnc_path(dags)
    votes = votes_of(path.inputs)
    distance = choose_among(path, path_states(path), votes, max_treewidth=width).mean_smhd
    for dag in elected_by(path):
        if width is None or dag_treewidth(dag) <= width:
            assert distance <= mean_smhd(dag, dags)


def test_a_given_threshold_takes_no_vote() -> None:
    path = cut_short(mcbnc_path([TRIANGLE, TRIANGLE, DAG.empty("abc")]))
    assert select_consensus(path, theta=0).reading != "vote"


def test_many_demanded_arcs_are_no_overflow() -> None:
    dag = DAG.from_edges("abcd", ["ab", "ac", "ad"])
    known = Knowledge(required=[("a", "b"), ("a", "c"), ("a", "d")])
    assert nearest_member(dag, votes_of(merge_inputs([dag])), known) == dag
