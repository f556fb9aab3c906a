"""Counting by rows: every merged row has a class, cells are counted one row at a time.

Configurations are numbered by mixed radix while the numbers stay below the size of `cells`, and by
hashing the observed ones beyond: no table is much larger than the number of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_parts import inner
from fedbn.scores._tables import CLASSES, RADIX, WITH_BITMAPS, WITH_ROWS, Integer, Tables


@inner
def _hash(key: Integer) -> Integer:
    """Fibonacci hashing of a key that is not negative, to 44 bits."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20))


@inner
def _hash_column(t: Tables, column: NDArray[np.uint16], arity: Integer) -> int:
    """row_class := label of (row_class, column) among the observed pairs; returns how many."""
    capacity = t.hash_keys.shape[0]
    t.hash_keys[:] = -1
    labels = 0
    for i in range(t.row_class.shape[0]):
        key = np.int64(t.row_class[i]) * arity + np.int64(column[i])
        slot = _hash(key) & (capacity - 1)
        while t.hash_keys[slot] != key:
            if t.hash_keys[slot] < 0:
                t.hash_keys[slot] = key
                t.hash_labels[slot] = labels
                labels += 1
                break
            slot = (slot + 1) & (capacity - 1)
        t.row_class[i] = t.hash_labels[slot]
    return labels


@inner
def _append(row_class: NDArray[np.int32], column: NDArray[np.uint16], arity: Integer) -> None:
    """row_class := (row_class, column) by mixed radix."""
    for i in range(row_class.shape[0]):
        row_class[i] = row_class[i] * np.int32(arity) + np.int32(column[i])


@inner
def index_rows(t: Tables, members: NDArray[np.int64], k: Integer) -> int:
    """row_class := configuration of the first k members for every merged row; returns the range."""
    size: Integer = np.int64(1)
    t.row_class[:] = 0
    for a in range(k):
        arity = t.arities[members[a]]
        column = t.codes[members[a]]
        if size * arity > t.cells.shape[0]:
            size = np.int64(_hash_column(t, column, arity))
        else:
            _append(t.row_class, column, arity)
            size *= arity
    return int(size)


@inner
def split_rows(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> None:
    """row_class := class (observed configuration of P, state of y) of every merged row, and
    row_counts := rows per class; both are known where the context has bitmaps."""
    size = np.int64(index_rows(t, parents, k))
    arity = t.arities[y]
    t.context[WITH_ROWS] = 1
    known = t.context[WITH_BITMAPS] != 0 and t.context[RADIX] == size
    if known:
        for c in range(t.context[CLASSES] // arity):
            t.cells[t.configurations[0, c]] = np.int32(c)
    else:
        t.context[CLASSES] = _number_classes(t.row_class, t.cells, size) * arity
    _divide(t.row_class, t.cells, t.codes[y], arity)
    if known:
        for c in range(t.context[CLASSES]):
            t.row_counts[c] = t.class_counts[c]
    elif t.context[CLASSES] <= t.row_counts.shape[0]:
        for c in range(t.context[CLASSES]):
            t.row_counts[c] = 0
        for i in range(t.row_class.shape[0]):
            t.row_counts[t.row_class[i]] += t.weights[i]


@inner
def _divide(
    row_class: NDArray[np.int32],
    number: NDArray[np.int32],
    column: NDArray[np.uint16],
    arity: Integer,
) -> None:
    """row_class := (number of the class, state of y)."""
    for i in range(row_class.shape[0]):
        row_class[i] = number[row_class[i]] * np.int32(arity) + np.int32(column[i])


@inner
def _number_classes(
    row_class: NDArray[np.int32], number: NDArray[np.int32], size: Integer
) -> Integer:
    """Number the classes that occur, in the order in which they do; returns how many."""
    for c in range(size):
        number[c] = -1
    found = np.int64(0)
    for i in range(row_class.shape[0]):
        if number[row_class[i]] < 0:
            number[row_class[i]] = found
            found += 1
    return found


@inner
def count_by_rows(t: Tables, x: Integer, classes: Integer) -> None:
    """cells[class, state of x] by visiting the rows where x is not in its mode; the mode gets
    what they leave."""
    arity, mode = np.int32(t.arities[x]), t.modes[x]
    for c in range(classes * arity):
        t.cells[c] = 0
    if t.merged:
        for i in range(t.other_start[x], t.other_start[x + 1]):
            row = t.other_rows[i]
            t.cells[t.row_class[row] * arity + np.int32(t.other_codes[i])] += t.weights[row]
    else:
        for i in range(t.other_start[x], t.other_start[x + 1]):
            t.cells[t.row_class[t.other_rows[i]] * arity + np.int32(t.other_codes[i])] += 1
    for c in range(classes):
        rest = t.row_counts[c]
        for state in range(arity):
            rest -= t.cells[c * arity + state]
        t.cells[c * arity + mode] = rest


@inner
def count_hashed(t: Tables, x: Integer, divisor: Integer) -> Integer:
    """hash_labels[:size] := counts of the cells (row class // divisor, state of x), for tables
    that would be too large; returns their number."""
    mask = t.hash_keys.shape[0] - 1
    t.hash_keys[:] = -1
    t.hash_labels[:] = 0
    arity, column = np.int64(t.arities[x]), t.codes[x]
    for i in range(t.row_class.shape[0]):
        key = np.int64(t.row_class[i]) // divisor * arity + np.int64(column[i])
        slot = _hash(key) & mask
        while t.hash_keys[slot] != key and t.hash_keys[slot] >= 0:
            slot = (slot + 1) & mask
        t.hash_keys[slot] = key
        t.hash_labels[slot] += t.weights[i]
    return np.int64(mask + 1)
