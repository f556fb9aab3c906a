"""J of one set, and of one set with many additions (see `_tables.py`)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.scores._bitmap_kernels import count_by_bitmaps, split_bitmaps
from fedbn.scores._cell_kernels import sum_counts, sum_margins
from fedbn.scores._gaussian_kernels import factorise, gaussian_local, gaussian_pairs
from fedbn.scores._row_kernels import count_by_rows, count_hashed, index_rows, split_rows
from fedbn.scores._store_kernels import lookup, put
from fedbn.scores._tables import GAUSSIAN, INFORMATION, Integer, Tables, inline, inner

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

BITMAP_WORD_COST = 0.12  # AND and popcount of one word, in units of one visited row
EXACT = 2.0**53  # whole numbers below this are exact in double precision


@inner
def _log_size(product: float, logs: float) -> float:
    """ln Π r: of the product while it is exact, so that no order of the members matters."""
    return math.log(product) if product < EXACT else logs


@inline
def _count_set(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
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
    t.counters[1] += 1
    return float(sum_counts(t, t.cells, size, _log_size(product, logs)))


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
        value = _count_set(t, members, k)
        put(t, low, high, value)
    return float(value)


@inner
def local(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> float:
    """s(y, P) = J(P ∪ {y}) - J(P), P the first k of `parents`."""
    for a in range(k):
        t.members[a] = parents[a]
    t.members[k] = y
    if t.kind == GAUSSIAN:
        return float(gaussian_local(t, t.members, k))
    return float(joint(t, t.members, k + 1) - joint(t, t.members, k))


@inline
def _count_pair(
    t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer, x: Integer
) -> Integer:
    """Count (P, y, x) in the context of (y, P) by the cheapest way; returns the size of the dense
    table cells[configuration of P, state of y, state of x], or -1 if it would be too large."""
    classes = t.context[0] * t.arities[y]
    table = classes * t.arities[x]
    if t.context[1] == 1 and table <= t.cells.shape[0]:
        work = BITMAP_WORD_COST * (table - classes) * t.bitmaps.shape[1]
        if work <= t.other_start[x + 1] - t.other_start[x] + table:
            count_by_bitmaps(t, x, classes)
            return table
    if t.context[2] == 0:
        split_rows(t, y, parents, k)
    if table > t.cells.shape[0]:
        return np.int64(-1)
    count_by_rows(t, x, classes)
    return table


@inline
def _open_context(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> None:
    """Make what all pairs of (y, P) share: bitmaps if they may pay, otherwise classes of rows."""
    t.context[2] = 0
    t.context[1] = 1 if split_bitmaps(t, y, parents, k) else 0
    if t.context[1] == 0:
        split_rows(t, y, parents, k)


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

    What (y, P) need is made once, when the first set is not in the store.
    """
    if t.kind == GAUSSIAN:
        gaussian_pairs(t, y, parents, k, xs, m, full, part)
        return
    low, high, product, logs = np.uint64(1), np.uint64(1), 1.0, 0.0
    for a in range(k):
        low ^= t.signs[parents[a], 0]
        high ^= t.signs[parents[a], 1]
        product *= t.arities[parents[a]]
        logs += math.log(t.arities[parents[a]])
    ready = False
    for i in range(m):
        x = xs[i]
        part_low, part_high = low ^ t.signs[x, 0], high ^ t.signs[x, 1]
        full_low, full_high = part_low ^ t.signs[y, 0], part_high ^ t.signs[y, 1]
        full[i] = lookup(t, full_low, full_high)
        part[i] = lookup(t, part_low, part_high)
        if not (math.isnan(full[i]) or math.isnan(part[i])):
            continue
        if not ready:
            _open_context(t, y, parents, k)
            ready = True
        table = _count_pair(t, y, parents, k, x)
        if math.isnan(part[i]):
            part[i] = _sum_part(t, y, x, table, product, logs)
            put(t, part_low, part_high, part[i])
        if math.isnan(full[i]):
            full[i] = _sum_full(t, y, x, table, product, logs)
            put(t, full_low, full_high, full[i])


@inline
def _sum_full(
    t: Tables, y: Integer, x: Integer, table: Integer, product: float, logs: float
) -> float:
    """J(P ∪ {y, x}) of what `_count_pair` counted; `product` is Π r over P, `logs` its log."""
    t.counters[1] += 1
    both = float(t.arities[x] * t.arities[y])
    log_size = _log_size(product * both, logs + math.log(both))
    if table >= 0:
        return float(sum_counts(t, t.cells, table, log_size))
    size = count_hashed(t, x, np.int64(1))
    return float(sum_counts(t, t.hash_labels, size, log_size))


@inline
def _sum_part(
    t: Tables, y: Integer, x: Integer, table: Integer, product: float, logs: float
) -> float:
    """J(P ∪ {x}) of what `_count_pair` counted."""
    t.counters[1] += 1
    log_size = _log_size(float(product * t.arities[x]), logs + math.log(t.arities[x]))
    if table >= 0:
        return float(sum_margins(t, y, x, log_size))
    size = count_hashed(t, x, t.arities[y])
    return float(sum_counts(t, t.hash_labels, size, log_size))


@njit(cache=True, nogil=True)
def local_score(t: Tables, y: Integer, parents: NDArray[np.int64]) -> float:
    """s(y, P) for Python."""
    return float(local(t, y, parents, parents.size))
