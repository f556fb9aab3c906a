"""States by reference and parts of kernels, against the same functions in Python."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from fedbn.kernel_parts import inner, inner_with_arrays
from fedbn.kernel_state import by_reference


@by_reference
class State(NamedTuple):
    counts: NDArray[np.int32]  # [a]
    table: NDArray[np.float64]  # [a, b]
    cube: NDArray[np.uint64]  # [2, a, b]
    turned: NDArray[np.float64]  # [b, a], columns first
    sparse: NDArray[np.int64]  # [a], every other entry of another array
    flags: NDArray[np.bool_]  # [a]
    limit: int
    rate: float
    strict: bool


def _weigh(s, i, j):
    """One entry of everything, in a number that tells them apart."""
    value = s.table[i, j] + 3.0 * s.turned[j, i] + 5.0 * s.counts[i] + 7.0 * s.sparse[i]
    if s.strict and s.flags[i]:
        value += s.rate * s.limit
    return value + float(s.cube[1, i, j])


def _row_sum(row):
    total = 0.0
    for j in range(row.shape[0]):
        total += row[j]
    return total


def _mark(s, i):
    copy = s.counts[i : i + 1].copy()
    s.counts[i] = copy[0] + 1
    s.flags[i] = not s.flags[i]
    s.cube[0, i, 0] = np.uint64(9)


weigh, row_sum, mark = inner(_weigh), inner(_row_sum), inner_with_arrays(_mark)


@njit
def _walk(s, out):
    rows, columns = s.table.shape
    for i in range(rows):
        for j in range(columns):
            out[i] += weigh(s, i, j)
        out[i] += row_sum(s.table[i]) + row_sum(s.turned[:, i]) + s.sparse.size
        mark(s, i)
        s.turned[0, i] = -1.0
        s.sparse[i] += 2


def _slow_walk(s, out):
    rows, columns = s.table.shape
    for i in range(rows):
        for j in range(columns):
            out[i] += _weigh(s, i, j)
        out[i] += _row_sum(s.table[i]) + _row_sum(s.turned[:, i]) + s.sparse.size
        _mark(s, i)
        s.turned[0, i] = -1.0
        s.sparse[i] += 2


def _random_state(seed: int, rows: int, columns: int) -> State:
    rng = np.random.default_rng(seed)
    return State(
        rng.integers(-9, 9, rows).astype(np.int32),
        rng.normal(size=(rows, columns)),
        rng.integers(0, 99, (2, rows, columns)).astype(np.uint64),
        np.asfortranarray(rng.normal(size=(columns, rows))),
        rng.integers(-9, 9, 2 * rows)[::2],
        rng.integers(0, 2, rows).astype(np.bool_),
        int(rng.integers(-9, 9)),
        float(rng.normal()),
        bool(rng.integers(0, 2)),
    )


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_kernels_read_and_write_a_state_as_python_does(seed: int, rows: int, columns: int) -> None:
    fast, slow = (_random_state(seed, rows, columns) for _ in range(2))
    sums, slow_sums = np.zeros(rows), np.zeros(rows)
    _walk(fast, sums)
    _slow_walk(slow, slow_sums)
    np.testing.assert_allclose(sums, slow_sums, rtol=1e-12)
    for array, expected in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(array, expected)


def test_rows_first_or_columns_first_is_read_as_it_is() -> None:
    sums, again = np.zeros(3), np.zeros(3)
    _walk(_random_state(1, 3, 2), sums)
    state = _random_state(1, 3, 2)
    _walk(state._replace(turned=np.ascontiguousarray(state.turned)), again)
    np.testing.assert_array_equal(again, sums)


def test_a_kernel_cannot_read_what_the_state_has_not() -> None:
    from numba.core.errors import TypingError

    @njit
    def read(s):
        return s.nothing

    with pytest.raises(TypingError, match="nothing"):
        read(_random_state(1, 2, 2))


def test_python_cannot_call_a_part() -> None:
    with pytest.raises(TypeError, match="not callable"):
        row_sum(np.zeros(3))
