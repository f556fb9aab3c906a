"""The rule that takes a row-weight class from structures alone."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.choice.ladder import class_by_chance, expected_chance_pairs
from fedbn.federation.rounds import fuse_needed, row_weight_of_structures
from fedbn.federation.settings import ConsensusSettings
from tests.choice.cases import federation


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


def test_classes_are_taken_up_to_the_first_with_too_many() -> None:
    assert class_by_chance([0.0]) == 0
    assert class_by_chance([0.01, 0.02, 0.05]) == 2
    assert class_by_chance([0.01, 0.06, 0.0]) == 0
    assert class_by_chance([1.0, 0.0]) == 0


def test_child_takes_the_larger_weight_and_is_nearer_to_the_truth() -> None:
    from fedbn.graphs.distances import smhd
    from fedbn.networks.catalog import load_network

    case = federation("child", sites=10, rows=500, seed=1)
    truth = load_network("child").dag
    timid, bold = case.result.classes
    assert row_weight_of_structures(case.replies) == 2.0
    alone, taken = fuse_needed(case.replies, ConsensusSettings())
    assert alone == (taken,)
    assert taken.consensus.dag == bold.consensus.dag
    assert case.result.row_weight == 2.0
    assert smhd(bold.consensus.dag, truth) < smhd(timid.consensus.dag, truth)
