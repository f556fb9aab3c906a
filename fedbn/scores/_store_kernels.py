"""The store of J: open addressing by 128-bit keys of sets.

It grows with use. Of the arrays, with twice as many rows as sets may be stored, the rows
[size, 2 size) are in use, size a power of two; when half of them are taken, their sets move to the
next rows, twice as many. So a small search touches little memory. At its largest it is emptied
when three quarters are taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_parts import inner, inner_in_place
from fedbn.scores._tables import EMPTIED, SIZE, STORED, ZERO, Integer, Tables


@inner_in_place
def find(keys: Bits, size: Integer, low: Integer, high: Integer) -> int:
    """The row of a key: its own, or the free one where it would go."""
    mask = size - 1
    slot = np.int64(low & np.uint64(mask))
    while True:
        row = size + slot
        if keys[row, 0] == low and keys[row, 1] == high:
            return int(row)
        if keys[row, 0] == ZERO and keys[row, 1] == ZERO:
            return int(row)
        slot = (slot + 1) & mask


@inner_in_place
def lookup(t: Tables, low: Integer, high: Integer) -> float:
    """J of the set with this key, or NaN."""
    row = find(t.keys, t.counters[SIZE], low, high)
    if t.keys[row, 0] == low and t.keys[row, 1] == high:
        return float(t.values[row, t.rung])
    return np.nan


@inner
def _grow(keys: Bits, values: NDArray[np.float64], counters: NDArray[np.int64]) -> None:
    """Move all sets to twice as many rows."""
    size = counters[SIZE]
    keys[2 * size : 4 * size] = ZERO
    for row in range(size, 2 * size):
        low, high = keys[row, 0], keys[row, 1]
        if low != ZERO or high != ZERO:
            moved = find(keys, 2 * size, low, high)
            keys[moved, 0] = low
            keys[moved, 1] = high
            for rung in range(values.shape[1]):
                values[moved, rung] = values[row, rung]
    counters[SIZE] = 2 * size


@inner_in_place
def place(
    keys: Bits,
    values: NDArray[np.float64],
    counters: NDArray[np.int64],
    low: Integer,
    high: Integer,
) -> int:
    """The row for J of a set that may be new; a store without room grows, or is emptied first."""
    size = counters[SIZE]
    if 2 * size < keys.shape[0]:
        if 2 * counters[STORED] >= size:
            _grow(keys, values, counters)
    elif 4 * counters[STORED] >= 3 * size:
        keys[size : 2 * size] = ZERO
        counters[STORED] = 0
        counters[EMPTIED] += 1
    row = find(keys, counters[SIZE], low, high)
    if keys[row, 0] == ZERO and keys[row, 1] == ZERO:
        counters[STORED] += 1
    keys[row, 0] = low
    keys[row, 1] = high
    return int(row)
