"""Masks cancel in the sum of all, and in nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fedbn.errors import MessageError
from fedbn.secure.masks import Key, hide, mask, pair_keys, request_digest, unmasked_sum

KEYS = [Key(bytes([i]) * 32) for i in range(1, 6)]
ROSTER = [key.public for key in KEYS]
SESSION = bytes(range(32))
PAIRS = [pair_keys(key, ROSTER, SESSION) for key in KEYS]
DIGEST = request_digest(b"a request")


@given(arrays(np.int64, (5, 7), elements=st.integers(-(2**58), 2**58)))
@settings(max_examples=30)
def test_the_sum_is_exact(values: np.ndarray) -> None:
    parts = [mask(row, pairs, DIGEST) for row, pairs in zip(values, PAIRS, strict=True)]
    assert np.array_equal(unmasked_sum(parts), values.sum(axis=0))


def test_a_masked_vector_has_no_trace_of_the_values() -> None:
    nothing, ones = np.zeros(4000, np.int64), np.ones(4000, np.int64)
    first, second = mask(nothing, PAIRS[0], DIGEST), mask(ones, PAIRS[0], DIGEST)
    assert np.array_equal(second - first, ones.view(np.uint64))
    bits = np.unpackbits(first.view(np.uint8))
    assert abs(bits.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(bits))


def test_without_one_site_nothing_is_right() -> None:
    values = np.arange(1000)
    parts = [mask(values, pairs, DIGEST) for pairs in PAIRS]
    assert not np.isin(unmasked_sum(parts[:-1]), 4 * values).any()


def test_one_changed_bit_of_a_request_gives_noise() -> None:
    values = np.arange(1000)
    parts = [mask(values, pairs, DIGEST) for pairs in PAIRS]
    parts[2] = mask(values, PAIRS[2], request_digest(b"b request"))
    assert not np.isin(unmasked_sum(parts), 5 * values).any()


def test_the_same_request_gives_the_same_bytes() -> None:
    values = np.arange(10)
    assert np.array_equal(mask(values, PAIRS[1], DIGEST), mask(values, PAIRS[1], DIGEST))


def test_presence_hides_how_many() -> None:
    presence = np.array([0, 1, 1, 0] * 500)
    parts = [hide(presence, key, DIGEST) for key in KEYS]
    assert np.array_equal(sum(parts) != 0, presence != 0)
    assert len(np.unique(np.concatenate(parts))) == 5 * 1000 + 1


def test_rosters_and_parts_that_cannot_be() -> None:
    with pytest.raises(MessageError, match="once"):
        pair_keys(KEYS[0], ROSTER[1:], SESSION)
    with pytest.raises(MessageError, match="once"):
        pair_keys(KEYS[0], [*ROSTER, ROSTER[2]], SESSION)
    with pytest.raises(MessageError, match="public key"):
        pair_keys(KEYS[0], [ROSTER[0], b"short"], SESSION)
    with pytest.raises(MessageError, match="public key"):
        pair_keys(KEYS[0], [ROSTER[0], bytes(32)], SESSION)  # of small order
    with pytest.raises(MessageError, match="one length"):
        unmasked_sum([np.zeros(2, np.uint64), np.zeros(3, np.uint64)])
    with pytest.raises(MessageError, match="one length"):
        unmasked_sum([])
