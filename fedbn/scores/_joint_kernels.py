"""J of one set, and of one set with many additions (see `_tables.py`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fedbn.kernel_door import door
from fedbn.kernel_parts import inner, inner_in_place
from fedbn.scores._bitmap_kernels import count_by_bitmaps, split_bitmaps
from fedbn.scores._cell_kernels import add_counts, settle, slot_of
from fedbn.scores._gaussian_kernels import factorise, gaussian_local, gaussian_pairs
from fedbn.scores._row_kernels import count_by_rows, count_hashed, index_rows, split_rows
from fedbn.scores._store_kernels import lookup, place
from fedbn.scores._tables import (
    CLASSES,
    COUNTED,
    GAUSSIAN,
    INFORMATION,
    WITH_BITMAPS,
    WITH_ROWS,
    Integer,
    Tables,
)

__all__ = [
    "GAUSSIAN",
    "INFORMATION",
    "Integer",
    "Tables",
    "inner",
    "joint",
    "joint_pairs",
    "local",
    "local_score",
]

WORD_COST = 0.085  # AND and popcount of one word, in visited rows
SPLIT_COST, INDEX_COST = 0.6, 0.2  # classes of rows, for each row and parent, in visited rows
EXACT = 2.0**53  # whole numbers below this are exact in double precision


@inner
def _log_size(product: Integer, logs: float) -> float:
    """ln Π r: of the product while it is exact, so that no order of the members matters."""
    return math.log(product) if product < EXACT else logs


@inner_in_place
def _keep(
    t: Tables,
    low: Integer,
    high: Integer,
    counts: NDArray[np.int32],
    size: Integer,
    log_size: float,
) -> float:
    """Put J of a set, from the counts of its cells, into the store; returns it."""
    t.counters[COUNTED] += 1
    add_counts(t.terms, slot_of(t.terms, log_size), counts, size)
    row = place(t.keys, t.values, t.counters, low, high)
    settle(t.terms, log_size, t.values[row])
    return float(t.values[row, t.rung])


@inner
def joint(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """J of the set of the first k members."""
    if t.kind == GAUSSIAN:
        return float(t.constant[k] - t.exponent[k] * factorise(t, members, k))
    low, high = np.uint64(1), np.uint64(1)
    for a in range(k):
        low ^= t.signs[members[a], 0]
        high ^= t.signs[members[a], 1]
    value = lookup(t, low, high)
    if math.isnan(value):
        value = _count_set(t, members, k, low, high)
    return float(value)


@inner
def _count_set(
    t: Tables, members: NDArray[np.int64], k: Integer, low: Integer, high: Integer
) -> float:
    """J of the first k members, from the rows."""
    product, logs = 1.0, 0.0
    for a in range(k):
        product *= t.arities[members[a]]
        logs += math.log(t.arities[members[a]])
    size = index_rows(t, members, k)
    for c in range(size):
        t.cells[c] = 0
    for i in range(t.row_class.shape[0]):
        t.cells[t.row_class[i]] += t.weights[i]
    return float(_keep(t, low, high, t.cells, size, _log_size(product, logs)))


@inner
def local(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> float:
    """s(y, P) = J(P ∪ {y}) - J(P), P the first k of `parents`."""
    for a in range(k):
        t.members[a] = parents[a]
    t.members[k] = y
    if t.kind == GAUSSIAN:
        return float(gaussian_local(t, t.members, k))
    return float(joint(t, t.members, k + 1) - joint(t, t.members, k))


@inner
def _cost_by_bitmaps(t: Tables, x: Integer) -> float:
    """What counting (P, y, x) by bitmaps takes, in visited rows."""
    intersections = t.context[CLASSES] * (t.arities[x] - 1)
    return float(intersections * (1.0 + WORD_COST * t.bitmaps.shape[1]))


@inner
def _cost_by_rows(t: Tables, x: Integer) -> float:
    """What counting (P, y, x) by rows takes, in visited rows."""
    return float(t.other_start[x + 1] - t.other_start[x] + t.context[CLASSES] * t.arities[x])


@inner
def _open_context(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    xs: NDArray[np.int64],
    m: Integer,
) -> None:
    """Make what all pairs of (y, P) share: bitmaps if they may pay, classes of rows if they will
    for the m candidates xs together."""
    with_bitmaps = split_bitmaps(t, y, parents, k)
    t.context[WITH_BITMAPS] = with_bitmaps
    t.context[WITH_ROWS] = 0
    saved = np.inf
    if with_bitmaps:
        saved = -t.row_class.shape[0] * (SPLIT_COST + k * INDEX_COST)
        for i in range(m):
            saved += max(0.0, _cost_by_bitmaps(t, xs[i]) - _cost_by_rows(t, xs[i]))
    if saved > 0.0:
        split_rows(t, y, parents, k)


@inner
def _count_pair(
    t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer, x: Integer
) -> Integer:
    """Count (P, y, x) in the context of (y, P) by the cheapest way; returns the size of the dense
    table cells[configuration of P, state of y, state of x], or -1 if it would be too large."""
    classes = t.context[CLASSES]
    table = classes * t.arities[x]
    if table > t.cells.shape[0]:
        if t.context[WITH_ROWS] == 0:
            split_rows(t, y, parents, k)
        return np.int64(-1)
    by_bitmaps = t.context[WITH_BITMAPS] != 0
    if by_bitmaps and t.context[WITH_ROWS] != 0:
        by_bitmaps = _cost_by_bitmaps(t, x) <= _cost_by_rows(t, x)
    if by_bitmaps:
        states = t.bitmaps[t.first_state[x] : t.first_state[x] + t.arities[x]]
        count_by_bitmaps(t.classes[0], t.class_counts, classes, states, t.modes[x], t.cells)
    else:
        count_by_rows(t, x, classes)
    return table


@inner
def _sum_over_y(t: Tables, r_y: Integer, r_x: Integer) -> Integer:
    """margin[j, x] := Σ_y cells[j, y, x]; returns its size."""
    number = t.context[CLASSES] // r_y
    for j in range(number):
        base = j * r_y * r_x
        for state in range(r_x):
            total = t.cells[base + state]
            for k in range(1, r_y):
                total += t.cells[base + k * r_x + state]
            t.margin[j * r_x + state] = total
    return number * r_x


@inner
def joint_pairs(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    xs: NDArray[np.int64],
    m: Integer,
    full: NDArray[np.float64],
    part: NDArray[np.float64],
) -> None:
    """full[i] := J(P ∪ {y, xs[i]}) and part[i] := J(P ∪ {xs[i]}), P the first k parents.

    What (y, P) need is made once, when some set is not in the store.
    """
    if t.kind == GAUSSIAN:
        gaussian_pairs(t, y, parents, k, xs, m, full, part)
        return
    low, high = np.uint64(1), np.uint64(1)
    for a in range(k):
        low ^= t.signs[parents[a], 0]
        high ^= t.signs[parents[a], 1]
    missing = False
    for i in range(m):
        part_low, part_high = low ^ t.signs[xs[i], 0], high ^ t.signs[xs[i], 1]
        part[i] = lookup(t, part_low, part_high)
        full[i] = lookup(t, part_low ^ t.signs[y, 0], part_high ^ t.signs[y, 1])
        missing = missing or math.isnan(full[i]) or math.isnan(part[i])
    if missing:
        _open_context(t, y, parents, k, xs, m)
        _count_pairs(t, y, parents, k, xs, m, full, part, low, high)


@inner_in_place
def _count_pairs(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    xs: NDArray[np.int64],
    m: Integer,
    full: NDArray[np.float64],
    part: NDArray[np.float64],
    low: Integer,
    high: Integer,
) -> None:
    """The values of `joint_pairs` that are NaN; (low, high) is the key of P."""
    product, logs = 1.0, 0.0
    for a in range(k):
        product *= t.arities[parents[a]]
        logs += math.log(t.arities[parents[a]])
    r_y: Integer = t.arities[y]
    for i in range(m):
        if not (math.isnan(full[i]) or math.isnan(part[i])):
            continue
        x = xs[i]
        table = _count_pair(t, y, parents, k, x)
        for whole in range(2):
            values = full if whole else part
            if not math.isnan(values[i]):
                continue
            key_low, key_high = low ^ t.signs[x, 0], high ^ t.signs[x, 1]
            counts, size, more = t.cells, table, t.arities[x] * r_y
            if whole:
                key_low, key_high = key_low ^ t.signs[y, 0], key_high ^ t.signs[y, 1]
            else:
                more = t.arities[x]
                if table >= 0:
                    counts, size = t.margin, _sum_over_y(t, r_y, t.arities[x])
            if table < 0:
                counts, size = t.hash_labels, count_hashed(t, x, t.arities[x] * r_y // more)
            log_size = _log_size(product * more, logs + math.log(more))
            values[i] = _keep(t, key_low, key_high, counts, size, log_size)


@door
def local_score(t: Tables, y: Integer, parents: NDArray[np.int64]) -> float:
    """s(y, P) for Python."""
    return float(local(t, y, parents, parents.size))
