"""Kernels of the fusion on bitsets: rows of uint64 words, bit j of word j >> 6.

Public callers: `order.py`, `minimal_imap.py`, `union.py` and the refusion reading of the consensus.
Arrays of several inputs are [r, n, W]: `pa[i, v]` and `ch[i, v]` are the parents and the children
of node v in input i. Node indices are in name order, so the smallest index is the smallest name.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.graphs._kernels import (
    ONE,
    ZERO,
    Bits,
    clear_bit,
    first_bit,
    popcount,
    set_bit,
    topological_bits,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Function = TypeVar("Function", bound=Callable[..., Any])


DOORLESS: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
UNCOUNTED: dict[str, Any] = {**DOORLESS, "_nrt": False}


def inner(function: Function) -> Function:
    """njit for kernels that only kernels call and that make no arrays.

    Without a door to Python they compile faster; without reference counts on the rows that they
    look at, which would be half of their time, they run faster.
    """
    return cast(Function, njit(**UNCOUNTED)(function))


def inner_with_arrays(function: Function) -> Function:
    """njit for kernels that only kernels call."""
    return cast(Function, njit(**DOORLESS)(function))


@njit(cache=True, nogil=True)
def ancestors_bits(pa: Bits, ch: Bits) -> Bits:
    """Ancestors of every node of one DAG, the node itself included, as bits [n, W]."""
    n, words = pa.shape
    anc = np.zeros((n, words), dtype=np.uint64)
    order = topological_bits(pa, ch)
    for i in range(n):
        v = order[i]
        set_bit(anc[v], v)
        for w in range(words):
            word = pa[v, w]
            while word != ZERO:
                p = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for u in range(words):
                    anc[v, u] |= anc[p, u]
    return anc


@inner
def _cost(pa: Bits, ch: Bits, v: int, marry: Bits) -> int:
    """What making v a sink costs in one DAG, as in the order heuristic; `marry` is scratch.

    (children - 1) + #{(p, c): p parent, c child, not adjacent}
    + #{q: other parent of a child of v, not adjacent to v}.
    """
    words = pa.shape[1]
    cost = -1
    for w in range(words):
        marry[w] = ZERO
    for w in range(words):
        word = ch[v, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            cost += 1
            for u in range(words):
                cost += np.int64(popcount(pa[v, u] & ~(pa[c, u] | ch[c, u])))
                marry[u] |= pa[c, u]
    for u in range(words):
        others = marry[u] & ~(pa[v, u] | ch[v, u])
        if u == v >> 6:
            others &= ~(ONE << np.uint64(v & 63))
        cost += np.int64(popcount(others))
    return cost


@inner
def _first_reversible_child(ch: Bits, v: int, below: Bits, new: Bits) -> int:
    """The smallest child c of v such that v -> c is the only directed path, or -1 for a sink.

    `below` (scratch) collects the strict descendants of the children of v, from those in `new`.
    """
    words = ch.shape[1]
    for w in range(words):
        below[w] = ZERO
        new[w] = ch[v, w]
    growing = True
    while growing:
        growing = False
        for w in range(words):
            word = new[w]
            new[w] = ZERO
            while word != ZERO:
                u = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for k in range(words):
                    fresh = ch[u, k] & ~below[k]
                    if fresh != ZERO:
                        below[k] |= fresh
                        new[k] |= fresh
                        growing = True
    for w in range(words):
        free = ch[v, w] & ~below[w]
        if free != ZERO:
            return (w << 6) + np.int64(first_bit(free))
    return -1


@inner
def _reverse_covered(pa: Bits, ch: Bits, v: int, c: int, changed: Bits) -> None:
    """Cover v -> c (c gets the parents of v, v the other parents of c) and reverse it."""
    words = pa.shape[1]
    clear_bit(pa[c], v)
    clear_bit(ch[v], c)
    for w in range(words):
        to_c = pa[v, w] & ~pa[c, w]
        to_v = pa[c, w] & ~pa[v, w]
        pa[c, w] |= to_c
        pa[v, w] |= to_v
        changed[w] |= to_c | to_v
        while to_c != ZERO:
            p = (w << 6) + np.int64(first_bit(to_c))
            to_c &= to_c - ONE
            set_bit(ch[p], c)
        while to_v != ZERO:
            q = (w << 6) + np.int64(first_bit(to_v))
            to_v &= to_v - ONE
            set_bit(ch[q], v)
    set_bit(pa[v], c)
    set_bit(ch[c], v)
    set_bit(changed, v)
    set_bit(changed, c)


@inner
def _remove_as_sink(pa: Bits, ch: Bits, v: int, changed: Bits, scratch: Bits) -> None:
    """Make v a sink by covered reversals, then remove it; `changed` = nodes with new edges."""
    words = pa.shape[1]
    for w in range(words):
        changed[w] = ZERO
    while True:
        c = _first_reversible_child(ch, v, scratch[0], scratch[1])
        if c < 0:
            break
        _reverse_covered(pa, ch, v, c, changed)
    for w in range(words):
        word = pa[v, w]
        changed[w] |= word
        while word != ZERO:
            p = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            clear_bit(ch[p], v)
        pa[v, w] = ZERO
    clear_bit(changed, v)


@njit(cache=True, nogil=True)
def order_bits(pa: Bits, ch: Bits, weights: Ints, draws: Floats) -> Ints:
    """The order of Puerta et al. (2021), built from last to first, as indices [n].

    `draws`: floats in [0, 1), one per node, that choose among tied nodes; empty: smallest index.
    """
    r, n, _ = pa.shape
    costs = np.zeros((r + 1, n), dtype=np.int64)
    order = np.full(n, -1, dtype=np.int64)
    extend_order(pa.copy(), ch.copy(), weights, draws, costs, order, n)
    return order


@njit(cache=True, nogil=True)
def extend_order(
    pa: Bits, ch: Bits, weights: Ints, draws: Floats, costs: Ints, order: Ints, count: int
) -> int:
    """Fill up to `count` more places of an order, in place, from the last; how many are empty.

    pa, ch: the graphs without the nodes that have their place. order [n]: -1 where empty.
    costs [r + 1, n], zeros at first: costs of every node in every graph, and their sums, kept and
    computed again only where a neighbourhood changed.
    """
    r, n, words = pa.shape
    scratch = np.zeros((2, words), dtype=np.uint64)
    changed = np.zeros(words, dtype=np.uint64)
    dirty = np.zeros(words, dtype=np.uint64)
    left = np.ones(n, dtype=np.bool_)
    empty = n
    while empty > 0 and order[empty - 1] >= 0:
        empty -= 1
        left[order[empty]] = False
    if empty == n:
        for i in range(r):
            for v in range(n):
                _update_cost(pa[i], ch[i], v, i, weights, costs, scratch[0])
    for place in range(empty - 1, max(empty - count, 0) - 1, -1):
        v = _cheapest(costs[r], left, draws, place)
        order[place] = v
        left[v] = False
        for i in range(r):
            _remove_as_sink(pa[i], ch[i], v, changed, scratch)
            _collect_dirty(pa[i], ch[i], changed, dirty)
            for w in range(words):
                word = dirty[w]
                while word != ZERO:
                    u = (w << 6) + np.int64(first_bit(word))
                    word &= word - ONE
                    _update_cost(pa[i], ch[i], u, i, weights, costs, scratch[0])
    return max(empty - count, 0)


@inner
def _update_cost(
    pa: Bits, ch: Bits, v: int, i: int, weights: Ints, costs: Ints, scratch: Bits
) -> None:
    """The cost of v in graph i, and the sum over the graphs."""
    new = _cost(pa, ch, v, scratch)
    costs[-1, v] += weights[i] * (new - costs[i, v])
    costs[i, v] = new


@inner
def _collect_dirty(pa: Bits, ch: Bits, changed: Bits, dirty: Bits) -> None:
    """dirty := the nodes in `changed` and their neighbours."""
    for w in range(changed.shape[0]):
        dirty[w] = changed[w]
    for w in range(changed.shape[0]):
        word = changed[w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(changed.shape[0]):
                dirty[k] |= pa[u, k] | ch[u, k]


@inner
def _cheapest(total: Ints, left: NDArray[np.bool_], draws: Floats, place: int) -> int:
    """The node of smallest total cost among those left; ties by index or by draw."""
    best = -1
    ties = 0
    for v in range(total.shape[0]):
        if left[v]:
            if best < 0 or total[v] < total[best]:
                best = v
                ties = 1
            elif total[v] == total[best]:
                ties += 1
    if draws.shape[0] == 0 or ties == 1:
        return best
    wanted = int(draws[place] * ties)
    for v in range(best, total.shape[0]):
        if left[v] and total[v] == total[best]:
            if wanted == 0:
                return v
            wanted -= 1
    return best


@njit(cache=True, nogil=True)
def imap_bits(pa: Bits, ch: Bits, order: Ints) -> Bits:
    """Parents, as bits [n, W], in the minimal directed I-map of one DAG under `order`."""
    out = np.zeros(pa.shape, dtype=np.uint64)
    write_imap(pa, ch, order, out)
    return out


@inner_with_arrays
def write_imap(pa: Bits, ch: Bits, order: Ints, out: Bits) -> None:
    """`imap_bits` into `out`.

    w is a parent of v iff some path v..w in the moral graph of An(pred(v) + v) has no inner node
    in pred(v): a flood from v through non-predecessors collects the predecessors that it touches.
    """
    n, words = pa.shape
    anc = ancestors_bits(pa, ch)
    before = np.zeros(words, dtype=np.uint64)
    inside = np.zeros(words, dtype=np.uint64)
    scratch = np.zeros((2, words), dtype=np.uint64)
    stack = np.empty(n, dtype=np.int64)
    for place in range(n):
        v = order[place]
        for w in range(words):
            inside[w] |= anc[v, w]
            out[v, w] = ZERO
        _flood(pa, ch, v, before, inside, out[v], scratch, stack)
        set_bit(before, v)


@inner
def _flood(
    pa: Bits, ch: Bits, v: int, before: Bits, inside: Bits, out: Bits, scratch: Bits, stack: Ints
) -> None:
    """Add to `out` the nodes of `before` that v reaches through others in the moral graph."""
    words = pa.shape[1]
    seen, row = scratch[0], scratch[1]
    for w in range(words):
        seen[w] = ZERO
    set_bit(seen, v)
    stack[0] = v
    size = 1
    while size > 0:
        size -= 1
        u = stack[size]
        for w in range(words):
            row[w] = pa[u, w]
        for w in range(words):
            word = ch[u, w] & inside[w]
            row[w] |= word
            while word != ZERO:
                c = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for k in range(words):
                    row[k] |= pa[c, k]
        for w in range(words):
            out[w] |= row[w] & before[w]
            fresh = row[w] & ~before[w] & ~seen[w]
            seen[w] |= fresh
            while fresh != ZERO:
                stack[size] = (w << 6) + np.int64(first_bit(fresh))
                size += 1
                fresh &= fresh - ONE


@njit(cache=True, nogil=True)
def imaps_bits(pa: Bits, ch: Bits, order: Ints) -> Bits:
    """`imap_bits` of every input, as bits [r, n, W]."""
    out = np.empty(pa.shape, dtype=np.uint64)
    for i in range(pa.shape[0]):
        write_imap(pa[i], ch[i], order, out[i])
    return out


@inner
def copy_rows(rows: Bits, out: Bits) -> None:
    """out := rows, both [n, W]."""
    for v in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            out[v, w] = rows[v, w]


@njit(cache=True, nogil=True)
def union_bits(pa: Bits) -> Bits:
    """Union of parent sets over inputs: bits [r, n, W] to [n, W]."""
    r, n, words = pa.shape
    out = np.zeros((n, words), dtype=np.uint64)
    for i in range(r):
        for v in range(n):
            for w in range(words):
                out[v, w] |= pa[i, v, w]
    return out
