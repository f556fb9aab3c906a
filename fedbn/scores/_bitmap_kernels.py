"""Counting by bitmaps: AND and popcount over 64 rows at a time, for few configurations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.graphs._bit_kernels import popcount
from fedbn.scores._tables import ZERO, Integer, Tables, inline


@inline
def split_bitmaps(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> bool:
    """classes[0] := bitmap per (configuration of P, state of y), configurations observed only.

    False where there are too many of them for bitmaps to pay.
    """
    words = t.bitmaps.shape[1]
    max_classes = t.classes.shape[1] // t.arities[y]
    if words == 0 or max_classes == 0:
        return False
    for w in range(words):
        t.classes[1, 0, w] = ~ZERO
    if t.n_rows & 63:
        t.classes[1, 0, words - 1] = (np.uint64(1) << np.uint64(t.n_rows & 63)) - np.uint64(1)
    number, source = np.int64(1), np.int64(1)
    for a in range(k):
        number = _split_by(t, source, number, parents[a], max_classes)
        if number < 0:
            return False
        source = 3 - source
    arity = t.arities[y]
    for c in range(number):
        for state in range(arity):
            bitmap = t.bitmaps[t.first_state[y] + state]
            count = ZERO
            for w in range(words):
                both = t.classes[source, c, w] & bitmap[w]
                t.classes[0, c * arity + state, w] = both
                count += popcount(both)
            t.class_counts[c * arity + state] = np.int64(count)
    t.context[0] = number
    return True


@inline
def _split_by(
    t: Tables, source: Integer, number: Integer, p: Integer, max_classes: Integer
) -> Integer:
    """Divide the classes of step `source` by the states of p; returns how many, -1 for too many."""
    target = 3 - source
    found = np.int64(0)
    for c in range(number):
        for state in range(t.arities[p]):
            if found == max_classes:
                return np.int64(-1)
            bitmap = t.bitmaps[t.first_state[p] + state]
            some = ZERO
            for w in range(bitmap.shape[0]):
                both = t.classes[source, c, w] & bitmap[w]
                t.classes[target, found, w] = both
                some |= both
            if some != ZERO:
                found += 1
    return found


@inline
def count_by_bitmaps(t: Tables, x: Integer, classes: Integer) -> None:
    """cells[class, state of x] by intersections; the mode gets what the others leave."""
    arity, mode = t.arities[x], t.modes[x]
    words = t.bitmaps.shape[1]
    for c in range(classes):
        rest = t.class_counts[c]
        for state in range(arity):
            count = ZERO
            if rest > 0 and state != mode:
                bitmap = t.bitmaps[t.first_state[x] + state]
                for w in range(words):
                    count += popcount(t.classes[0, c, w] & bitmap[w])
            t.cells[c * arity + state] = np.int32(count)
            rest -= np.int64(count)
        t.cells[c * arity + mode] = np.int32(rest)
