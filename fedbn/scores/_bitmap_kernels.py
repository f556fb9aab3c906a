"""Counting by bitmaps: AND and popcount over 64 rows at a time, for few configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import popcount
from fedbn.kernel_parts import inner
from fedbn.scores._tables import CLASSES, RADIX, ZERO, Integer, Tables


@inner
def split_bitmaps(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> bool:
    """classes[0] := bitmap per (configuration of P, state of y), observed configurations only,
    ascending; configurations[0] says which.

    False where there are too many of them for bitmaps to pay.
    """
    words = t.bitmaps.shape[1]
    arity = t.arities[y]
    max_classes = t.classes.shape[1] // arity
    if words == 0 or max_classes == 0:
        return False
    for w in range(words):
        t.classes[1, 0, w] = ~ZERO
    t.configurations[1, 0] = 0
    number, source, radix = np.int64(1), np.int64(1), np.int64(1)
    for a in range(k):
        p = parents[a]
        number = _split(t, source, number, p, max_classes)
        if number < 0:
            return False
        source = 3 - source
        radix = min(radix * t.arities[p], t.cells.shape[0] + 1)
    for c in range(number):
        t.configurations[0, c] = t.configurations[source, c]
        for state in range(arity):
            t.class_counts[c * arity + state] = _intersect(
                t.classes[source, c],
                t.bitmaps[t.first_state[y] + state],
                t.classes[0, c * arity + state],
            )
    t.context[CLASSES] = number * arity
    t.context[RADIX] = radix
    return True


@inner
def _split(
    t: Tables, source: Integer, number: Integer, p: Integer, max_classes: Integer
) -> Integer:
    """Divide the classes of step `source` by the states of p; returns how many, -1 for too many."""
    target = 3 - source
    found = np.int64(0)
    for c in range(number):
        for state in range(t.arities[p]):
            if found == max_classes:
                return np.int64(-1)
            both = t.classes[target, found]
            bitmap = t.bitmaps[t.first_state[p] + state]
            if _intersect(t.classes[source, c], bitmap, both) > 0:
                before = t.configurations[source, c]
                t.configurations[target, found] = before * t.arities[p] + state
                found += 1
    return found


@inner
def _intersect(left: Bits, right: Bits, out: Bits) -> int:
    """out := left ∩ right; returns its size."""
    count = ZERO
    for w in range(left.shape[0]):
        both = left[w] & right[w]
        out[w] = both
        count += popcount(both)
    return int(count)


@inner
def count_by_bitmaps(
    classes: Bits,
    class_counts: NDArray[np.int32],
    number: Integer,
    states: Bits,
    mode: Integer,
    cells: NDArray[np.int32],
) -> None:
    """cells[class, state of x] by intersections; the mode gets what the others leave."""
    arity = states.shape[0]
    for c in range(number):
        rest = np.int64(class_counts[c])
        for state in range(arity):
            count = ZERO
            if rest > 0 and state != mode:
                for w in range(states.shape[1]):
                    count += popcount(classes[c, w] & states[state, w])
            cells[c * arity + state] = np.int32(count)
            rest -= np.int64(count)
        cells[c * arity + mode] = np.int32(rest)
