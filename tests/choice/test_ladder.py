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
    ClassSigns,
    class_by_chance,
    expected_chance_pairs,
    median_parameters,
    number_of_parameters,
)
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.federation.rounds import fuse_needed, row_weight_of_structures
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
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


def taken(pairs: list[float], parameters: list[int]) -> int:
    return class_by_chance(list(map(ClassSigns, pairs, parameters)), sites=3)


def test_classes_are_taken_up_to_the_first_with_too_many_chance_pairs() -> None:
    assert taken([0.0], [7]) == 0
    assert taken([0.01, 0.02, 0.05], [7, 7, 7]) == 2
    assert taken([0.01, 0.06, 0.0], [7, 7, 7]) == 0
    assert taken([1.0, 0.0], [7, 7]) == 0


def test_classes_are_taken_up_to_the_first_with_more_parameters_than_all_rows_pay_for() -> None:
    assert taken([0.0, 0.0, 0.0], [10, 15, 30]) == 2
    assert taken([0.0, 0.0, 0.0], [10, 31, 16]) == 0
    assert taken([0.0, 0.0, 0.0], [10, 8, 31]) == 1


@given(dag_lists(max_nodes=5, max_dags=5), st.data())
@settings(deadline=None)
def test_the_median_input_has_as_many_parameters_as_a_table_of_it(
    dags: list[DAG], data: st.DataObject
) -> None:
    names = sorted(dags[0].names)
    draw = st.lists(st.integers(1, 4), min_size=len(names), max_size=len(names))
    sizes = dict(zip(names, data.draw(draw), strict=True))
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(dags), max_size=len(dags)))
    schema = Schema.categorical({name: [str(s) for s in range(r)] for name, r in sizes.items()})
    repeated = []
    for dag, weight in zip(dags, weights, strict=True):
        rows = Dataset(schema, np.zeros((1, len(names)), dtype=np.int64))
        network = fit_parameters(dag.reorder(tuple(names)), rows)
        assert number_of_parameters(dag, schema) == network.n_parameters
        repeated += [network.n_parameters] * weight
    assert median_parameters(merge_inputs(dags, weights), schema) == median_low(repeated)


def test_numbers_have_a_coefficient_for_every_parent() -> None:
    dag = DAG.from_edges("abc", ["ab", "cb"])
    assert number_of_parameters(dag, Schema.gaussian("abc")) == 1 + 3 + 1
    mixed = Schema((Variable("a", ("x", "y", "z")), Variable("b", None), Variable("c", None)))
    assert number_of_parameters(dag, mixed) == 2 + (1 + 2 + 1) + 1


def test_errors_that_all_sites_share_are_seen_by_their_parameters() -> None:
    """All join the same pairs, so no vote is of chance. The rows of four sites cannot pay for three
    parents of 30 states each; for those of two states they can."""
    names = "abcdefghijkl"
    timid = DAG.from_edges(names, ["ae", "bc", "cd"])
    bold = DAG.from_edges(names, ["ae", "be", "ce"])
    replies = [
        ClientReply(site, (timid, bold), (1.0, 1.0), "complete", row_weights=(1.0, 2.0))
        for site in ("north", "south", "west", "east")
    ]
    for states, expected in ((30, 1.0), (2, 2.0)):
        schema = Schema.categorical({name: [f"{s:02}" for s in range(states)] for name in names})
        assert row_weight_of_structures(replies, schema) == expected


def test_child_takes_the_larger_weight_and_is_nearer_to_the_truth() -> None:
    from fedbn.graphs.distances import smhd
    from fedbn.networks.catalog import load_network

    case = federation("child", sites=10, rows=500, seed=1)
    truth = load_network("child").dag
    timid, bold = case.result.classes
    assert row_weight_of_structures(case.replies, case.result.schema) == 2.0
    alone, taken = fuse_needed(case.replies, case.result.schema, ConsensusSettings())
    assert alone == (taken,)
    assert taken.consensus.dag == bold.consensus.dag
    assert case.result.row_weight == 2.0
    assert smhd(bold.consensus.dag, truth) < smhd(timid.consensus.dag, truth)
