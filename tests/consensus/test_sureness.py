"""The probability of an edge against its twin, and its order."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbn.consensus.sureness import Pairs, pairs_of, probabilities
from tests import naive_consensus


def random_votes(n: int, sites: int, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.integers(0, sites + 1, size=(n, n)) * (rng.random((n, n)) < 0.6), k=1)
    return upper + upper.T


@given(st.integers(2, 7), st.integers(1, 9), st.integers(0, 10_000))
def test_pairs_have_the_votes_around_them(n: int, sites: int, seed: int) -> None:
    votes = random_votes(n, sites, np.random.default_rng(seed))
    pairs = pairs_of(votes, sites)
    expected = naive_consensus.surroundings(votes, sites)
    assert list(zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)) == list(expected)
    assert np.allclose(np.transpose(pairs[2:]), list(expected.values()) or np.zeros((0, 4)))


@given(st.integers(2, 7), st.integers(1, 9), st.integers(0, 10_000))
def test_probabilities_are_those_of_the_twin(n: int, sites: int, seed: int) -> None:
    votes = random_votes(n, sites, np.random.default_rng(seed))
    found = probabilities(pairs_of(votes, sites), sites, n)
    assert np.allclose(found, list(naive_consensus.probabilities(votes, sites).values()))


@given(st.integers(0, 10_000))
def test_probabilities_do_not_depend_on_the_order_of_variables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes, turned = random_votes(6, 5, rng), rng.permutation(6)
    pairs, other = pairs_of(votes, 5), pairs_of(votes[np.ix_(turned, turned)], 5)
    found = {
        frozenset((int(turned[a]), int(turned[b]))): p
        for a, b, p in zip(other.one, other.other, probabilities(other, 5, 6), strict=True)
    }
    for a, b, p in zip(pairs.one, pairs.other, probabilities(pairs, 5, 6), strict=True):
        assert abs(found[frozenset((int(a), int(b)))] - p) < 1e-12


def test_an_edge_without_company_is_surer_than_one_in_a_cluster() -> None:
    """And one that more of the sites join is surer than one that fewer do."""
    none = np.zeros(2, dtype=np.int64)
    alone = [np.zeros(2), np.full(2, np.log(3)), np.zeros(2)]
    crowded = [np.full(2, np.log(4)), np.full(2, np.log(9)), np.ones(2)]
    for sites in (3, 10, 20):
        joining = np.array([sites // 2, sites])
        lonely, packed = (
            probabilities(Pairs(none, none, joining, *around), sites, 30)
            for around in (alone, crowded)
        )
        assert lonely[0] < lonely[1]
        assert packed[0] < packed[1] < lonely[1]
