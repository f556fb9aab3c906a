"""Minimum cuts in moral ancestral graphs. Public caller: `min_cut.py`.

`g` is one input, uint64 [5, n, W]: PA, CH, ANC, DES, MOR (see `_engine.py`).
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._engine import (
    ALLOWED,
    ANC,
    CH,
    DES,
    HAVE,
    INSIDE,
    MOR,
    ORIGIN,
    PA,
    QUEUE,
    REACH,
    ROW,
    TOUCHED,
    USED,
    Scratch,
)
from fedbn.consensus._moral_kernels import fill_graph
from fedbn.consensus._slot_kernels import size_of
from fedbn.graphs._bit_kernels import (
    ONE,
    ZERO,
    clear_bit,
    first_bit,
    has_bit,
    popcount,
    set_bit,
)
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner


@inner
def _fetch_row(g: Bits, v: int, s: Scratch) -> None:
    """Row of v in the moral graph of the ancestral subgraph minus S, into its ROW."""
    words = g.shape[2]
    s.lists[HAVE, v] = 1
    s.lists[TOUCHED, s.size[0]] = v
    s.size[0] += 1
    whole = True
    for w in range(words):
        if g[CH, v, w] & ~s.sets[INSIDE, w] != ZERO:
            whole = False
    if whole:
        for w in range(words):
            s.rows[ROW, v, w] = g[MOR, v, w] & s.sets[ALLOWED, w]
        return
    for w in range(words):
        s.rows[ROW, v, w] = g[PA, v, w]
    for w in range(words):
        word = g[CH, v, w] & s.sets[INSIDE, w]
        s.rows[ROW, v, w] |= word
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                s.rows[ROW, v, k] |= g[PA, c, k]
    clear_bit(s.rows[ROW, v], v)
    for w in range(words):
        s.rows[ROW, v, w] &= s.sets[ALLOWED, w]


@inner
def _use_path(y: int, x: int, s: Scratch) -> None:
    """Send one unit along the path from y to x that ORIGIN holds."""
    c = x
    while c != y:
        v = s.lists[ORIGIN, c]
        if has_bit(s.rows[USED, c], v):
            clear_bit(s.rows[USED, c], v)
        else:
            set_bit(s.rows[USED, v], c)
        c = v


@inner
def _augment(g: Bits, y: int, x: int, s: Scratch) -> bool:
    """One augmenting path from y to x in the residual graph; else REACH is what y reaches."""
    words = g.shape[2]
    for w in range(words):
        s.sets[REACH, w] = ZERO
    set_bit(s.sets[REACH], y)
    s.lists[QUEUE, 0] = y
    start, end = 0, 1
    while start < end:
        v = s.lists[QUEUE, start]
        start += 1
        if s.lists[HAVE, v] == 0:
            _fetch_row(g, v, s)
        for w in range(words):
            fresh = s.rows[ROW, v, w] & ~s.rows[USED, v, w] & ~s.sets[REACH, w]
            s.sets[REACH, w] |= fresh
            while fresh != ZERO:
                c = (w << 6) + np.int64(first_bit(fresh))
                fresh &= fresh - ONE
                s.lists[ORIGIN, c] = v
                s.lists[QUEUE, end] = c
                end += 1
        if has_bit(s.sets[REACH], x):
            _use_path(y, x, s)
            return True
    return False


@inner
def _short_paths(g: Bits, x: int, y: int, s: Scratch) -> int:
    """Send one unit over the edge x - y and over every common neighbour; how many that are."""
    value = 0
    if has_bit(s.rows[ROW, y], x):
        value += 1
        set_bit(s.rows[USED, y], x)
    for w in range(g.shape[2]):
        word = s.rows[ROW, y, w] & s.rows[ROW, x, w]
        s.rows[USED, y, w] |= word
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            _fetch_row(g, c, s)
            set_bit(s.rows[USED, c], x)
            value += 1
    return value


@inner
def _is_empty(row: Bits) -> bool:
    union = ZERO
    for w in range(row.shape[0]):
        union |= row[w]
    return union == ZERO


@inner
def min_cut_bits(g: Bits, x: int, y: int, low: Bits, free: Bits, s: Scratch) -> int:
    """Minimum cut between x and y in moral(An({x, y} + low)) - (low + free), unit capacities.

    Afterwards, for a value > 0, REACH is the side of y of the minimum cut nearest to y: what y
    reaches in the residual graph of a maximum flow from y (unique).
    """
    _fill_inside(g, x, y, low, s)
    return cut_inside(g, x, y, low, free, s)


@inner
def least_cut_bits(g: Bits, x: int, y: int, low: Bits, free: Bits, more: int, s: Scratch) -> int:
    """The same for a family, of which at most `more` of the undecided elements `free` are left out
    of S: with the nodes that are in An({x, y} + S) for every S (bounds 1 and 4)."""
    _fill_inside(g, x, y, low, s)
    if size_of(free) > more:
        for v in range(g.shape[1]):
            below = 0
            for w in range(g.shape[2]):
                below += np.int64(popcount(g[DES, v, w] & free[w]))
            if below > more:
                set_bit(s.sets[INSIDE], v)
    return cut_inside(g, x, y, low, free, s)


@inner
def _fill_inside(g: Bits, x: int, y: int, low: Bits, s: Scratch) -> None:
    """INSIDE := An({x, y} + low)."""
    words = g.shape[2]
    for w in range(words):
        s.sets[INSIDE, w] = g[ANC, x, w] | g[ANC, y, w]
    for w in range(words):
        word = low[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                s.sets[INSIDE, k] |= g[ANC, v, k]


@inner
def cut_inside(g: Bits, x: int, y: int, low: Bits, free: Bits, s: Scratch) -> int:
    """Minimum cut between x and y in moral(INSIDE) - (low + free); INSIDE has its ancestors."""
    words = g.shape[2]
    for w in range(words):
        s.sets[ALLOWED, w] = s.sets[INSIDE, w] & ~(low[w] | free[w])
    s.size[0] = 0
    value = 0
    _fetch_row(g, x, s)
    if not _is_empty(s.rows[ROW, x]):
        _fetch_row(g, y, s)
        if not _is_empty(s.rows[ROW, y]):
            value = _short_paths(g, x, y, s)
            while _augment(g, y, x, s):
                value += 1
    _forget_rows(s)
    return value


@inner
def _forget_rows(s: Scratch) -> None:
    """No row is fetched, no edge used; TOUCHED stays."""
    for i in range(s.size[0]):
        v = s.lists[TOUCHED, i]
        s.lists[HAVE, v] = 0
        for w in range(s.rows.shape[2]):
            s.rows[USED, v, w] = ZERO


@inner
def fill_component(g: Bits, v: int, other: int, s: Scratch) -> None:
    """REACH := the nodes that v reaches in the graph of the last cut, of which `other` is none."""
    s.size[0] = 0
    _augment(g, v, other, s)
    _forget_rows(s)


@inner
def find_path(g: Bits, x: int, y: int, low: Bits, free: Bits, s: Scratch) -> bool:
    """Whether x and y are joined in the graph of `min_cut_bits`; ORIGIN leads from x back to y."""
    if min_cut_bits(g, x, y, low, free, s) == 0:
        return False
    s.size[0] = 0
    found = _augment(g, y, x, s)
    _forget_rows(s)
    return found


@inner
def cut_arcs_bits(g: Bits, s: Scratch, out: NDArray[np.int32]) -> int:
    """Arcs (a, b) of the input across the cut that `min_cut_bits` left in `s`; their number."""
    words = g.shape[2]
    count = 0
    for w in range(words):
        word = s.sets[REACH, w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                over = s.sets[ALLOWED, k] & ~s.sets[REACH, k]
                up = g[PA, v, k] & over
                while up != ZERO:
                    out[count, 0] = (k << 6) + np.int64(first_bit(up))
                    out[count, 1] = v
                    count += 1
                    up &= up - ONE
                down = g[CH, v, k] & over
                while down != ZERO:
                    out[count, 0] = v
                    out[count, 1] = (k << 6) + np.int64(first_bit(down))
                    count += 1
                    down &= down - ONE
    return count


@door_to_sets
def cut_of_dag(
    g: Bits, x: int, y: int, given: Bits, s: Scratch, out: NDArray[np.int32]
) -> tuple[int, int]:
    """The cut of one DAG given S: (size, number of arcs in `out`). PA and CH of `g` are given."""
    fill_graph(g)
    none = np.zeros(given.shape[0], dtype=np.uint64)
    size = min_cut_bits(g, x, y, given, none, s)
    return size, cut_arcs_bits(g, s, out) if size > 0 else 0
