"""The store of J: open addressing by 128-bit keys of sets."""

from __future__ import annotations

import numpy as np

from fedbn.scores._tables import ZERO, Tables, inner


@inner
def _find(t: Tables, low: np.uint64, high: np.uint64) -> int:
    """The slot of a key: its own, or the free one where it would go."""
    mask = t.values.shape[0] - 1
    slot = np.int64(low & np.uint64(mask))
    while True:
        if t.keys[slot, 0] == low and t.keys[slot, 1] == high:
            return int(slot)
        if t.keys[slot, 0] == ZERO and t.keys[slot, 1] == ZERO:
            return int(slot)
        slot = (slot + 1) & mask


@inner
def lookup(t: Tables, low: np.uint64, high: np.uint64) -> float:
    """J of the set with this key, or NaN."""
    slot = _find(t, low, high)
    if t.keys[slot, 0] == low and t.keys[slot, 1] == high:
        return float(t.values[slot])
    return np.nan


@inner
def put(t: Tables, low: np.uint64, high: np.uint64, value: float) -> None:
    """Store J of a set; a store that is three quarters full is emptied first."""
    capacity = t.values.shape[0]
    if 4 * t.counters[0] >= 3 * capacity:
        t.keys[:] = ZERO
        t.counters[0] = 0
        t.counters[2] += 1
    slot = _find(t, low, high)
    if t.keys[slot, 0] == ZERO and t.keys[slot, 1] == ZERO:
        t.counters[0] += 1
    t.keys[slot, 0] = low
    t.keys[slot, 1] = high
    t.values[slot] = value
