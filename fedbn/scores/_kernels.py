"""Counting and closed forms behind the local scores, as numba kernels.

All scores here give every member of an equivalence class the same total. So there is a function J
of *sets* with

    s(y, P) = J(P ∪ {y}) - J(P),

the log-score of a complete graph over the set. One stored number per set then serves every node
of the set as the child, and an operator's gain is a sum of four of them.

    BDeu       J(A) = Σ_cells [ln Γ(n_c + α) - ln Γ(α)], α = ess / Π_{a in A} r_a; the cells are
               the observed configurations of A, unseen ones contribute exactly 0
    BIC, AIC   J(A) = Σ_cells n_c ln n_c - penalty (Π_{a in A} r_a - 1)
    Gaussian   J(A) = constant[|A|] - exponent[|A|] ln det gram[A, A]   (BIC and BGe)

Counting visits the rows (merged, with weights), or intersects bitmaps of states, whichever is
cheaper for the pair at hand; tables that would be much larger than the number of rows are never
allocated, their cells are hashed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.graphs._kernels import popcount

Integer = Any  # int64 in compiled code, int or a numpy integer for the type checker

BDEU, INFORMATION, GAUSSIAN = 0, 1, 2
TABLE_COUNTS = 128  # counts below this have their term looked up
ZERO = np.uint64(0)
LOG_2_PI_HALF = 0.5 * math.log(2.0 * math.pi)
RELATIVE_FLOOR = 1e-12  # of a variance: what is left of a column that others determine
ABSOLUTE_FLOOR = 1e-300
BITMAP_WORD_COST = 0.12  # AND and popcount of one word, in units of one visited row


Function = TypeVar("Function", bound=Callable[..., Any])


def inner(function: Function) -> Function:
    """njit for kernels that only kernels call: without a door to Python they compile faster."""
    doors: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, njit(cache=True, nogil=True, **doors)(function))


class Tables(NamedTuple):
    """What the kernels read and the scratch they write; n variables, M merged rows."""

    kind: int  # BDEU, INFORMATION or GAUSSIAN
    n_rows: int
    parameter: float  # BDeu: ess; INFORMATION: per free parameter; GAUSSIAN: per parent, 0 in BGe
    codes: NDArray[np.uint16]  # [n, M]
    weights: NDArray[np.int32]  # [M] how many rows were merged
    merged: bool  # whether some weight exceeds 1
    arities: NDArray[np.int64]  # [n]
    first_state: NDArray[np.int64]  # [n]: where a variable's bitmaps begin
    bitmaps: NDArray[np.uint64]  # [states, words] over the rows before merging; or [0, 0]
    gram: NDArray[np.float64]  # [n, n]
    constant: NDArray[np.float64]  # [n + 1] by size of the set
    exponent: NDArray[np.float64]  # [n + 1] by size of the set
    signs: NDArray[np.uint64]  # [n, 2]: a set's key is the exclusive or of its members' signs
    keys: NDArray[np.uint64]  # [capacity, 2]: the store of J
    values: NDArray[np.float64]  # [capacity]
    counters: NDArray[np.int64]  # [4]: stored, counted sets, store emptied, spare
    term_size: NDArray[np.float64]  # [slots]: ln Π r that a row of `terms` belongs to, or -1
    terms: NDArray[np.float64]  # [slots, TABLE_COUNTS + 2]: terms, then α and ln Γ(α)
    context: NDArray[np.int64]  # [4]: configurations, whether bitmaps and rows are ready
    row_class: NDArray[np.int32]  # [M]: class of each row
    cells: NDArray[np.int32]  # [limit]: a dense table of counts
    hash_keys: NDArray[np.int64]  # [H]
    hash_labels: NDArray[np.int32]  # [H]
    classes: NDArray[np.uint64]  # [3, max_classes, words]: result and two steps of its making
    class_counts: NDArray[np.int64]  # [max_classes]
    factor: NDArray[np.float64]  # [n + 1, n + 1]: Cholesky factor
    members: NDArray[np.int64]  # [n + 2]


# ---- preparing rows --------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def merge_rows(codes: NDArray[np.uint16]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Which rows of codes [n, N] are the first of their kind, and how many equal each of them."""
    n, rows = codes.shape
    hashes = np.zeros(rows, dtype=np.uint64)
    for v in range(n):
        for i in range(rows):
            hashes[i] = (hashes[i] ^ np.uint64(codes[v, i])) * np.uint64(0x9E3779B97F4A7C15)
            hashes[i] ^= hashes[i] >> np.uint64(29)
    capacity = 16
    while capacity < 2 * rows:
        capacity *= 2
    slots = np.full(capacity, -1, dtype=np.int64)
    first = np.empty(rows, dtype=np.int64)
    weights = np.zeros(rows, dtype=np.int32)
    kinds = 0
    for i in range(rows):
        slot = np.int64(hashes[i] & np.uint64(capacity - 1))
        while True:
            kind = slots[slot]
            if kind < 0:
                slots[slot] = kinds
                first[kinds] = i
                weights[kinds] = 1
                kinds += 1
                break
            other = first[kind]
            same = hashes[other] == hashes[i]
            if same:
                for v in range(n):
                    if codes[v, i] != codes[v, other]:
                        same = False
                        break
            if same:
                weights[kind] += 1
                break
            slot = (slot + 1) & (capacity - 1)
    return first[:kinds].copy(), weights[:kinds].copy()


@njit(cache=True, nogil=True)
def state_bitmaps(
    codes: NDArray[np.uint16], first_state: NDArray[np.int64], states: Integer
) -> NDArray[np.uint64]:
    """One bitmap over the rows for each state of each variable."""
    n, rows = codes.shape
    bitmaps = np.zeros((states, (rows + 63) >> 6), dtype=np.uint64)
    for v in range(n):
        base = first_state[v]
        for i in range(rows):
            bitmaps[base + int(codes[v, i]), i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return bitmaps


# ---- the store -------------------------------------------------------------------------------


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
def _lookup(t: Tables, low: np.uint64, high: np.uint64) -> float:
    """J of the set with this key, or NaN."""
    slot = _find(t, low, high)
    if t.keys[slot, 0] == low and t.keys[slot, 1] == high:
        return float(t.values[slot])
    return np.nan


@inner
def _put(t: Tables, low: np.uint64, high: np.uint64, value: float) -> None:
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


# ---- terms of one cell -----------------------------------------------------------------------


@inner
def _log_gamma(z: float) -> float:
    """ln Γ(z) for z ≥ TABLE_COUNTS - 1 by Stirling's series (error below 1e-16 relative)."""
    inverse = 1.0 / z
    square = inverse * inverse
    series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square / 1260.0))
    return (z - 0.5) * math.log(z) - z + LOG_2_PI_HALF + series


@inner
def _terms_of(t: Tables, log_size: float) -> int:
    """The row of `terms` for sets with ln Π r = log_size, filled on first use.

    ln Γ(m + α) - ln Γ(α) = ln α + Σ_{0<i<m} ln(i + α), also where α underflows.
    """
    if t.kind == INFORMATION:
        log_size = 0.0
    slot = np.int64(log_size * 1e6) & (t.term_size.shape[0] - 1)
    if t.term_size[slot] == log_size:
        return int(slot)
    t.term_size[slot] = log_size
    row = t.terms[slot]
    row[0] = 0.0
    if t.kind == INFORMATION:
        for count in range(1, TABLE_COUNTS):
            row[count] = count * math.log(count)
        return int(slot)
    log_alpha = math.log(t.parameter) - log_size
    alpha = math.exp(log_alpha)
    total = log_alpha
    row[1] = total
    for count in range(2, TABLE_COUNTS):
        total += math.log(count - 1 + alpha)
        row[count] = total
    row[TABLE_COUNTS] = alpha
    row[TABLE_COUNTS + 1] = _log_gamma(TABLE_COUNTS - 1 + alpha) - total
    return int(slot)


@inner
def _term(t: Tables, slot: Integer, count: Integer) -> float:
    """What a cell with `count` rows adds to J."""
    if count < TABLE_COUNTS:
        return float(t.terms[slot, count])
    if t.kind == INFORMATION:
        return float(count * math.log(count))
    alpha = t.terms[slot, TABLE_COUNTS]
    return float(_log_gamma(count + alpha) - t.terms[slot, TABLE_COUNTS + 1])


@inner
def _penalty(t: Tables, log_size: float) -> float:
    """penalty (Π r - 1) of BIC and AIC; beyond e^690 it grows with the logarithm, without inf."""
    if t.kind != INFORMATION:
        return 0.0
    if log_size <= 690.0:
        return t.parameter * (math.exp(log_size) - 1.0)
    return t.parameter * math.exp(690.0) * (1.0 + log_size - 690.0)


# ---- one set ---------------------------------------------------------------------------------


@inner
def _hash(key: Integer) -> Integer:
    """Fibonacci hashing of a key that is not negative, to 44 bits."""
    return np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20))


@inner
def _hash_column(t: Tables, size: Integer, column: NDArray[np.uint16], arity: Integer) -> int:
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
def _index_rows(t: Tables, members: NDArray[np.int64], k: Integer) -> int:
    """row_class := configuration of the first k members for every merged row; returns the range."""
    size: Integer = np.int64(1)
    t.row_class[:] = 0
    for a in range(k):
        arity = t.arities[members[a]]
        column = t.codes[members[a]]
        if size * arity > t.cells.shape[0]:
            size = _hash_column(t, size, column, arity)
        else:
            for i in range(t.row_class.shape[0]):
                t.row_class[i] = t.row_class[i] * np.int32(arity) + np.int32(column[i])
            size *= arity
    return int(size)


@inner
def _count_set(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """J of the first k members, from the rows."""
    log_size = 0.0
    for a in range(k):
        log_size += math.log(t.arities[members[a]])
    size = _index_rows(t, members, k)
    for c in range(size):
        t.cells[c] = 0
    for i in range(t.row_class.shape[0]):
        t.cells[t.row_class[i]] += t.weights[i]
    slot = _terms_of(t, log_size)
    total = 0.0
    for c in range(size):
        if t.cells[c] > 0:
            total += _term(t, slot, np.int64(t.cells[c]))
    t.counters[1] += 1
    return total - _penalty(t, log_size)


@inner
def _factorise(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """factor := Cholesky factor of gram over the first k members; returns ln det."""
    log_det = 0.0
    for a in range(k):
        for b in range(a):
            rest = t.gram[members[a], members[b]]
            for c in range(b):
                rest -= t.factor[a, c] * t.factor[b, c]
            t.factor[a, b] = rest / t.factor[b, b]
        own = t.gram[members[a], members[a]]
        rest = own
        for c in range(a):
            rest -= t.factor[a, c] * t.factor[a, c]
        rest = max(rest, RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
        t.factor[a, a] = math.sqrt(rest)
        log_det += math.log(rest)
    return log_det


@inner
def joint(t: Tables, members: NDArray[np.int64], k: Integer) -> float:
    """J of the set of the first k members."""
    if t.kind == GAUSSIAN:
        return float(t.constant[k] - t.exponent[k] * _factorise(t, members, k))
    low, high = np.uint64(1), np.uint64(1)
    for a in range(k):
        low ^= t.signs[members[a], 0]
        high ^= t.signs[members[a], 1]
    value = _lookup(t, low, high)
    if math.isnan(value):
        value = _count_set(t, members, k)
        _put(t, low, high, value)
    return value


@inner
def local(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> float:
    """s(y, P) = J(P ∪ {y}) - J(P), P the first k of `parents`."""
    members = np.empty(k + 1, dtype=np.int64)
    members[:k] = parents[:k]
    members[k] = y
    return joint(t, members, k + 1) - joint(t, members, k)


# ---- one set with many additions -------------------------------------------------------------


@inner
def _split_bitmaps(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> bool:
    """classes[0] := bitmap per (configuration of P, state of y), configurations observed only.

    False where there are too many of them for bitmaps to pay.
    """
    words = t.bitmaps.shape[1]
    most = t.classes.shape[1] // t.arities[y]
    if words == 0 or most == 0:
        return False
    for w in range(words):
        t.classes[1, 0, w] = ~ZERO
    if t.n_rows & 63:
        t.classes[1, 0, words - 1] = (np.uint64(1) << np.uint64(t.n_rows & 63)) - np.uint64(1)
    number, source = 1, 1
    for a in range(k):
        target = 3 - source
        found = 0
        for c in range(number):
            for state in range(t.arities[parents[a]]):
                if found == most:
                    return False
                bitmap = t.bitmaps[t.first_state[parents[a]] + state]
                some = ZERO
                for w in range(words):
                    both = t.classes[source, c, w] & bitmap[w]
                    t.classes[target, found, w] = both
                    some |= both
                if some != ZERO:
                    found += 1
        number, source = found, target
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


@inner
def _split_rows(t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer) -> None:
    """row_class := class (observed configuration of P, state of y) of every merged row."""
    size = _index_rows(t, parents, k)
    for c in range(size):
        t.cells[c] = -1
    number = 0
    for i in range(t.row_class.shape[0]):
        if t.cells[t.row_class[i]] < 0:
            t.cells[t.row_class[i]] = number
            number += 1
        t.row_class[i] = t.cells[t.row_class[i]]
    t.context[0] = number
    t.context[2] = 1
    arity = np.int32(t.arities[y])
    column = t.codes[y]
    for i in range(t.row_class.shape[0]):
        t.row_class[i] = t.row_class[i] * arity + np.int32(column[i])


@inner
def _count_by_bitmaps(t: Tables, x: Integer, classes: Integer) -> None:
    """cells[class, state of x] by intersections; state 0 is what the others leave."""
    arity = t.arities[x]
    words = t.bitmaps.shape[1]
    for c in range(classes):
        rest = t.class_counts[c]
        for state in range(1, arity):
            count = ZERO
            if rest > 0:
                bitmap = t.bitmaps[t.first_state[x] + state]
                for w in range(words):
                    count += popcount(t.classes[0, c, w] & bitmap[w])
            t.cells[c * arity + state] = np.int32(count)
            rest -= np.int64(count)
        t.cells[c * arity] = np.int32(rest)


@inner
def _count_by_rows(t: Tables, x: Integer, classes: Integer) -> None:
    """cells[class, state of x] by visiting the merged rows."""
    arity = np.int32(t.arities[x])
    for c in range(classes * arity):
        t.cells[c] = 0
    column = t.codes[x]
    if t.merged:
        for i in range(t.row_class.shape[0]):
            t.cells[t.row_class[i] * arity + np.int32(column[i])] += t.weights[i]
    else:
        for i in range(t.row_class.shape[0]):
            t.cells[t.row_class[i] * arity + np.int32(column[i])] += 1


@inner
def _sum_cells(t: Tables, y: Integer, x: Integer, log_size: float) -> tuple[float, float]:
    """(J(P ∪ {y, x}), J(P ∪ {x})) from cells[configuration of P, state of y, state of x]."""
    r_y, r_x = t.arities[y], t.arities[x]
    part_size = log_size + math.log(r_x)
    full_size = part_size + math.log(r_y)
    part_slot, full, part = _terms_of(t, part_size), 0.0, 0.0
    for j in range(t.context[0]):
        for state in range(r_x):
            count = np.int64(0)
            for k in range(r_y):
                count += t.cells[(j * r_y + k) * r_x + state]
            if count > 0:
                part += _term(t, part_slot, count)
    full_slot = _terms_of(t, full_size)
    for c in range(t.context[0] * r_y * r_x):
        if t.cells[c] > 0:
            full += _term(t, full_slot, np.int64(t.cells[c]))
    t.counters[1] += 2
    return full - _penalty(t, full_size), part - _penalty(t, part_size)


@inner
def _hashed_cells(t: Tables, x: Integer, divisor: Integer, log_size: float) -> float:
    """J over the cells (row class // divisor, state of x) where a table would be too large."""
    mask = t.hash_keys.shape[0] - 1
    t.hash_keys[:] = -1
    arity, column = np.int64(t.arities[x]), t.codes[x]
    for i in range(t.row_class.shape[0]):
        key = np.int64(t.row_class[i])
        if divisor > 1:
            key //= divisor
        key = key * arity + np.int64(column[i])
        slot = _hash(key) & mask
        while t.hash_keys[slot] != key and t.hash_keys[slot] >= 0:
            slot = (slot + 1) & mask
        if t.hash_keys[slot] < 0:
            t.hash_keys[slot] = key
            t.hash_labels[slot] = 0
        t.hash_labels[slot] += t.weights[i]
    terms, total = _terms_of(t, log_size), 0.0
    for slot in range(mask + 1):
        if t.hash_keys[slot] >= 0:
            total += _term(t, terms, np.int64(t.hash_labels[slot]))
    return total - _penalty(t, log_size)


@inner
def _count_pair(
    t: Tables, y: Integer, parents: NDArray[np.int64], k: Integer, x: Integer, log_size: float
) -> tuple[float, float]:
    """(J(P ∪ {y, x}), J(P ∪ {x})) in the context of (y, P), by the cheapest way."""
    classes = t.context[0] * t.arities[y]
    table = classes * t.arities[x]
    if t.context[1] == 1:
        work = BITMAP_WORD_COST * (table - classes) * t.bitmaps.shape[1]
        if work <= t.row_class.shape[0] + table and table <= t.cells.shape[0]:
            _count_by_bitmaps(t, x, classes)
            return _sum_cells(t, y, x, log_size)
    if table <= t.cells.shape[0]:
        if t.context[2] == 0:
            _split_rows(t, y, parents, k)
        _count_by_rows(t, x, classes)
        return _sum_cells(t, y, x, log_size)
    if t.context[2] == 0:
        _split_rows(t, y, parents, k)
    part_size = log_size + math.log(t.arities[x])
    full_size = part_size + math.log(t.arities[y])
    t.counters[1] += 2
    return _hashed_cells(t, x, np.int64(1), full_size), _hashed_cells(t, x, t.arities[y], part_size)


@inner
def _gaussian_pairs(
    t: Tables,
    y: Integer,
    parents: NDArray[np.int64],
    k: Integer,
    xs: NDArray[np.int64],
    m: Integer,
    full: NDArray[np.float64],
    part: NDArray[np.float64],
) -> None:
    """`joint_pairs` from one Cholesky factor of gram over (P, y)."""
    t.members[:k] = parents[:k]
    t.members[k] = y
    whole = _factorise(t, t.members, k + 1)
    base = whole - 2.0 * math.log(t.factor[k, k])
    row = t.factor[k + 1]
    t.counters[1] += 2 * m
    for i in range(m):
        x = xs[i]
        own = t.gram[x, x]
        least = max(RELATIVE_FLOOR * own, ABSOLUTE_FLOOR)
        rest = own
        for a in range(k + 1):
            value = t.gram[t.members[a], x]
            for b in range(a):
                value -= t.factor[a, b] * row[b]
            row[a] = value / t.factor[a, a]
            if a < k:
                rest -= row[a] * row[a]
        part[i] = t.constant[k + 1] - t.exponent[k + 1] * (base + math.log(max(rest, least)))
        rest = max(rest - row[k] * row[k], least)
        full[i] = t.constant[k + 2] - t.exponent[k + 2] * (whole + math.log(rest))


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
        _gaussian_pairs(t, y, parents, k, xs, m, full, part)
        return
    low, high, log_size = np.uint64(1), np.uint64(1), 0.0
    for a in range(k):
        low ^= t.signs[parents[a], 0]
        high ^= t.signs[parents[a], 1]
        log_size += math.log(t.arities[parents[a]])
    ready = False
    for i in range(m):
        x = xs[i]
        part_low, part_high = low ^ t.signs[x, 0], high ^ t.signs[x, 1]
        full_low, full_high = part_low ^ t.signs[y, 0], part_high ^ t.signs[y, 1]
        full[i] = _lookup(t, full_low, full_high)
        part[i] = _lookup(t, part_low, part_high)
        if math.isnan(full[i]) or math.isnan(part[i]):
            if not ready:
                t.context[2] = 0
                t.context[1] = 1 if _split_bitmaps(t, y, parents, k) else 0
                if t.context[1] == 0:
                    _split_rows(t, y, parents, k)
                ready = True
            full[i], part[i] = _count_pair(t, y, parents, k, x, log_size)
            _put(t, full_low, full_high, full[i])
            _put(t, part_low, part_high, part[i])


@njit(cache=True, nogil=True)
def local_score(t: Tables, y: Integer, parents: NDArray[np.int64]) -> float:
    """s(y, P) for Python."""
    return float(local(t, y, parents, parents.size))
