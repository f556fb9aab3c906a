"""The rule that takes a row-weight class from structures alone."""

from __future__ import annotations

import math
from itertools import combinations
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.choice.ladder import (
    class_by_chance,
    expected_chance_pairs,
    number_of_parameters,
    paid_structures,
)
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.rounds import fuse_needed, row_weight_of_structures, server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.fitting import fit_parameters
from tests.choice.cases import federation
from tests.strategies import dag_lists


def by_hand(votes: dict[tuple[int, int], int], sites: int) -> float:
    """The slow twin: the formula of the docstring, term by term."""
    chance = [count for count in votes.values() if count < sites / 2]
    share = (sum(chance) + 1) / (len(chance) * sites + 2)
    majority = sum(
        math.comb(sites, k) * share**k * (1 - share) ** (sites - k)
        for k in range(math.ceil(sites / 2), sites + 1)
    )
    return len(votes) * majority


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 8), st.integers(1, 12), st.integers(0, 99), st.integers(1, 3))
def test_equals_the_formula(n: int, sites: int, seed: int, weight: int) -> None:
    rng = np.random.default_rng(seed)
    votes = {pair: int(rng.integers(0, sites + 1)) for pair in combinations(range(n), 2)}
    moral = np.zeros((n, n), dtype=np.int64)
    for (a, b), count in votes.items():
        moral[a, b] = moral[b, a] = count * weight
    found = expected_chance_pairs(moral, sites * weight, sites)
    assert found == pytest.approx(by_hand(votes, sites), rel=1e-9)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 6), st.integers(1, 9), st.integers(0, 99), st.integers(1, 3))
def test_a_pair_has_the_sites_that_see_it(n: int, sites: int, seed: int, weight: int) -> None:
    rng = np.random.default_rng(seed)
    moral, seen = np.zeros((2, n, n), dtype=np.int64)
    voters = {pair: int(rng.integers(0, sites + 1)) for pair in combinations(range(n), 2)}
    votes = {pair: int(rng.integers(0, many + 1)) for pair, many in voters.items()}
    for (a, b), many in voters.items():
        moral[a, b] = moral[b, a] = votes[a, b] * weight
        seen[a, b] = seen[b, a] = many * weight
    chance = [pair for pair, many in voters.items() if 2 * votes[pair] < many]
    joined, trials = sum(votes[p] for p in chance), sum(voters[p] for p in chance)
    share = (joined + 1) / (trials + 2)
    expected = sum(
        math.comb(many, k) * share**k * (1 - share) ** (many - k)
        for many in voters.values()
        if many > 0
        for k in range(many + 1)
        if 2 * k >= many
    )
    found = expected_chance_pairs(moral, sites * weight, sites, seen)
    assert found == pytest.approx(expected, rel=1e-9)


def test_random_graphs_have_as_many_as_expected() -> None:
    """Pure chance: sites join every pair with probability 0.2, whatever the others do."""
    rng = np.random.default_rng(0)
    n, sites = 40, 6
    expected, seen = [], []
    for _ in range(40):
        draws = rng.random((sites, n, n)) < 0.2
        upper = np.triu(draws.sum(axis=0), k=1)
        moral = (upper + upper.T).astype(np.int64)
        expected.append(expected_chance_pairs(moral, sites, sites))
        seen.append(int((2 * upper >= sites).sum()))
    assert 0.5 < np.mean(expected) / np.mean(seen) <= 1.1


def test_classes_are_taken_up_to_the_first_with_too_many_chance_pairs() -> None:
    assert class_by_chance([0.0]) == 0
    assert class_by_chance([0.01, 0.02, 0.05]) == 2
    assert class_by_chance([0.01, 0.06, 0.0]) == 0
    assert class_by_chance([1.0, 0.0]) == 0


@given(st.integers(1, 4), st.integers(2, 4), st.integers(0, 999))
@settings(deadline=None)
def test_families_that_nobody_pays_for_lose_what_the_smaller_weight_lacks(
    sites: int, rungs: int, seed: int
) -> None:
    """Against the definition, arc by arc; several structures of one weight are one bag of pairs."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdef")
    schema = Schema.categorical({n: "0123456789"[: rng.integers(1, 6)] for n in names})
    sent = [
        {
            1.0 + k: [
                random_dag(names, edges=int(rng.integers(0, min(15, 4 * (k + 1)) + 1)), rng=rng)
                for _ in range(rng.integers(1, 3))
            ]
            for k in range(rungs)
            if k == 0 or rng.random() < 0.9
        }
        for _ in range(sites)
    ]
    rows = Dataset(schema, np.zeros((1, len(names)), dtype=np.int64))

    def size(dag: DAG) -> int:
        return fit_parameters(dag, rows).n_parameters

    firsts = [median_low([size(dag) for dag in own[1.0]]) for own in sent]
    most = sites * median_low(firsts)
    bare = size(DAG.empty(names))

    def alone(node: str, family: set) -> int:
        """Parameters of the node with these parents."""
        own = schema.cardinalities[names.index(node)] - 1
        return size(DAG.from_edges(names, family)) - bare + own

    for own, paid in zip(sent, paid_structures(sent, schema), strict=True):
        assert [(k, len(dags)) for k, dags in paid.items()] == [(k, len(d)) for k, d in own.items()]
        pairs_before: set = set()
        for k in sorted(own):
            for before, after in zip(own[k], paid[k], strict=True):
                expected = set()
                for node in names:
                    family = {(p, c) for p, c in before.edges if c == node}
                    keeps = k == 1.0 or alone(node, family) <= most
                    known = {arc for arc in family if frozenset(arc) in pairs_before}
                    expected |= family if keeps else known
                assert set(after.edges) == expected
                lost = {frozenset(arc) for arc in set(before.edges) - expected}
                assert not lost & pairs_before
            pairs_before = {frozenset(arc) for dag in paid[k] for arc in dag.edges}


@given(dag_lists(max_nodes=5, max_dags=1), st.data())
@settings(deadline=None)
def test_a_structure_has_as_many_parameters_as_its_tables(
    dags: list[DAG], data: st.DataObject
) -> None:
    names = tuple(sorted(dags[0].names))
    draw = st.lists(st.integers(1, 4), min_size=len(names), max_size=len(names))
    sizes = dict(zip(names, data.draw(draw), strict=True))
    schema = Schema.categorical({name: [str(s) for s in range(r)] for name, r in sizes.items()})
    rows = Dataset(schema, np.zeros((1, len(names)), dtype=np.int64))
    expected = fit_parameters(dags[0].reorder(names), rows).n_parameters
    assert number_of_parameters(dags[0], schema) == expected


def test_numbers_have_a_coefficient_for_every_parent() -> None:
    dag = DAG.from_edges("abc", ["ab", "cb"])
    assert number_of_parameters(dag, Schema.gaussian("abc")) == 1 + 3 + 1
    mixed = Schema((Variable("a", ("x", "y", "z")), Variable("b", None), Variable("c", None)))
    assert number_of_parameters(dag, mixed) == 2 + (1 + 2 + 1) + 1


def test_a_turned_arc_is_no_lost_pair() -> None:
    """b -> a with k = 1, a -> b with k = 2, where the family of b is not paid."""
    names = "abcdef"
    few = DAG.from_edges(names, ["ba", "cd"])
    many = DAG.from_edges(names, ["ab", "cb", "eb", "fb", "cd"])
    schema = Schema.categorical(dict.fromkeys(names, "012345"))
    (found,) = paid_structures([{1.0: (few,), 2.0: (many,)}], schema)
    assert found[2.0][0].edges == (("a", "b"), ("c", "d"))


def test_errors_that_all_sites_share_are_seen_by_their_parameters() -> None:
    """All join the same pairs, so no vote is of chance. The rows of four sites cannot pay for three
    parents of 30 states each; for those of two states they can. The other family stays."""
    names = "abcdefghijkl"
    timid = DAG.from_edges(names, ["ae", "bc", "cd"])
    bold = DAG.from_edges(names, ["ae", "be", "ce", "fg"])
    replies = [
        ClientReply(site, (timid, bold), (1.0, 1.0), "complete", row_weights=(1.0, 2.0))
        for site in ("north", "south", "west", "east")
    ]
    for states, expected in ((30, ["ae", "fg"]), (2, ["ae", "be", "ce", "fg"])):
        schema = Schema.categorical({name: [f"{s:02}" for s in range(states)] for name in names})
        state = server_round(ServerState(schema, 4), replies, (), ConsensusSettings())
        assert state.result.row_weight == 2.0
        assert ["".join(arc) for arc in state.result.consensus.dag.edges] == expected
        told = [
            remark
            for remark in run_remarks(state.result)
            if "parameters than the rows of all sites support" in remark
        ]
        assert len(told) == (states == 30)
        assert all("at 4 sites of 4" in remark and remark.endswith(": 'e'") for remark in told)
        assert state.result.replies == tuple(sorted(replies, key=lambda reply: reply.client))
        assert {reply.dags[0] for reply in state.result.fused_replies} == {
            DAG.from_edges(names, expected)
        }


def test_child_takes_the_larger_weight_and_is_nearer_to_the_truth() -> None:
    from fedbn.graphs.distances import smhd
    from fedbn.networks.catalog import load_network

    case = federation("child", sites=10, rows=500, seed=1)
    truth = load_network("child").dag
    timid, bold = case.result.classes
    assert row_weight_of_structures(case.replies) == 2.0
    alone, taken = fuse_needed(case.replies, case.result.schema, ConsensusSettings())
    assert alone == (taken,)
    assert taken.consensus.dag == bold.consensus.dag
    assert case.result.row_weight == 2.0
    assert smhd(bold.consensus.dag, truth) < smhd(timid.consensus.dag, truth)
