"""Words are wide enough: no sum is lost, whatever the sites hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.graphs.dag import DAG
from fedbn.secure.answers import answer
from fedbn.secure.masks import Key, mask, pair_keys, unmasked_sum
from fedbn.secure.path import secure_path
from fedbn.secure.requests import (
    CountRequest,
    OrderRequest,
    ScatterRequest,
    UnionRequest,
    VoteRequest,
)
from fedbn.secure.words import largest_sum, word_of
from tests.strategies import dag_lists


@given(dag_lists(max_nodes=6, max_dags=4))
@settings(max_examples=30, deadline=None)
def test_no_sum_of_costs_cuts_or_votes_is_beyond_the_largest(dags: list[DAG]) -> None:
    search = secure_path(dags[0].names, len(dags), 1, look_ahead=2)
    request, bound = next(search), largest_sum(dags[0].n, len(dags), 1)
    try:
        while True:
            sums = sum(answer(request, [dag], [1]) for dag in dags)
            assert isinstance(request, UnionRequest) or np.abs(sums).max(initial=0) <= bound
            request = search.send(sums)
    except StopIteration:
        pass


@given(st.sampled_from([np.uint16, np.uint32, np.uint64]), st.data())
@settings(deadline=None)
def test_sums_of_words_are_the_sums(word: type[np.unsignedinteger], data: st.DataObject) -> None:
    half = 2 ** (8 * np.dtype(word).itemsize - 1)
    keys = [Key(bytes([i + 1]) * 32) for i in range(3)]
    roster = [key.public for key in keys]
    drawn = st.lists(st.integers(-(half // 4), half // 4), min_size=4, max_size=4)
    values = [np.array(data.draw(drawn), dtype=np.int64) for _ in keys]
    parts = [
        mask(own, pair_keys(key, roster, bytes(32)), bytes(32), word)
        for own, key in zip(values, keys, strict=True)
    ]
    assert {part.dtype for part in parts} == {np.dtype(word)}
    assert unmasked_sum(parts).tolist() == np.sum(values, axis=0).tolist()


def test_the_width_follows_from_the_bound() -> None:
    order, votes = OrderRequest(((),), ()), VoteRequest(None, False)
    assert word_of(order, 37, 10, 1) is np.uint16
    assert word_of(votes, 70, 20, 1) is np.uint32
    assert word_of(order, 70, 20, 10**6) is np.uint64
    assert word_of(UnionRequest(((),), ()), 3, 3, 1) is np.uint64
    assert word_of(CountRequest((), False), 3, 3, 1) is np.uint64
    assert word_of(ScatterRequest(()), 3, 3, 1) is np.uint64


@pytest.mark.parametrize(
    ("sites", "units", "bound", "word"),
    [
        (2**14 - 1, 1, 2**15 - 2, np.uint16),
        (2**14, 1, 2**15, np.uint32),
        (1, 2**30 - 1, 2**31 - 2, np.uint32),
        (1, 2**30, 2**31, np.uint64),
    ],
)
def test_a_word_is_as_narrow_as_the_largest_sum_allows(
    sites: int, units: int, bound: int, word: type[np.unsignedinteger]
) -> None:
    """A word of w bits holds sums from -2^(w - 1) to 2^(w - 1) - 1, in both directions."""
    assert largest_sum(1, sites, units) == bound
    assert word_of(VoteRequest(None, False), 1, sites, units) is word
    key = [Key(bytes([i + 1]) * 32) for i in range(2)]
    roster = [each.public for each in key]
    for value in (bound, -bound):
        parts = [
            mask(np.array([share]), pair_keys(own, roster, bytes(32)), bytes(32), word)
            for share, own in zip((value, 0), key, strict=True)
        ]
        assert unmasked_sum(parts).tolist() == [value]
