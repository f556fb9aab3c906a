"""The record of operators: what is put into it, and what a step makes void."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import has_bit, set_bit
from fedbn.kernel_parts import inner, inner_with_arrays
from fedbn.scores._tables import Integer
from fedbn.search._set_kernels import first
from fedbn.search._state import ALL, INSERT, TURN, ZERO, Graph, Record


@inner
def drop_stale(record: Record, kind: Integer, y: Integer) -> None:
    """Forget the operators of the stale pairs of row y."""
    for w in range(record.stale.shape[2]):
        word = record.stale[kind, y, w]
        while word != ZERO:
            x = first(w, word)
            word &= word - np.uint64(1)
            if x >= record.head.shape[1]:
                break
            entry = record.head[kind, y, x]
            while entry >= 0:
                following = record.following[entry]
                record.following[entry] = np.int32(record.free[0])
                record.free[0] = entry
                entry = following
            record.head[kind, y, x] = -1
            record.best[kind, y, x] = -np.inf


@inner
def keep(record: Record, kind: Integer, y: Integer, x: Integer, gain: float, chosen: Bits) -> bool:
    """Put an operator on record; False if there is no room."""
    entry = record.free[0]
    if entry < 0:
        return False
    record.free[0] = record.following[entry]
    record.gain[entry] = gain
    for w in range(chosen.shape[0]):
        record.sets[entry, w] = chosen[w]
    record.path_length[entry] = 0
    record.barred[entry] = False
    record.following[entry] = record.head[kind, y, x]
    record.head[kind, y, x] = np.int32(entry)
    if gain > record.best[kind, y, x]:
        record.best[kind, y, x] = gain
    if gain > record.ceiling[kind, y]:
        record.ceiling[kind, y] = gain
    return True


@inner
def close_row(record: Record, kind: Integer, y: Integer) -> None:
    """Row y is up to date."""
    best = float(-np.inf)
    for x in range(record.best.shape[2]):
        best = max(best, float(record.best[kind, y, x]))
    record.row_best[kind, y] = best
    for w in range(record.stale.shape[2]):
        record.stale[kind, y, w] = ZERO
    if kind == INSERT:
        record.grown[y, 0] = -1


@inner_with_arrays
def raise_ceilings(record: Record) -> None:
    """Paths may have closed: any operator may have become valid."""
    for kind in range(record.ceiling.shape[0]):
        for y in range(record.ceiling.shape[1]):
            record.ceiling[kind, y] = record.row_best[kind, y]


@inner
def void_row(record: Record, kind: Integer, y: Integer) -> None:
    """All pairs of row y must be looked at again."""
    for w in range(record.stale.shape[2]):
        record.stale[kind, y, w] = ALL
    if kind == INSERT:
        record.grown[y, 0] = -1


@inner_with_arrays
def _grow(record: Record, y: Integer, z: Integer, other: Integer) -> None:
    """The cliques of Ne(y) with z, and with `other` unless that is -1, are new."""
    if record.grown[y, 0] >= 0:
        void_row(record, np.int64(INSERT), y)
    else:
        record.grown[y, 0] = z
        record.grown[y, 1] = other


@inner
def mark_stale(
    record: Record, g: Graph, kind: Integer, changed: Bits, y: Integer, x: Integer, by: Integer
) -> None:
    """Void the pairs whose operators may have changed by an operator on x and y of kind `by`.

    `changed` has the nodes v with another Pa(v) or Ne(v). With the skeleton, NA_vx changes where
    y is in Ne(v), NA_vy where x is, and the cliques of Ne(v) where both are.
    """
    n, words = g.adj.shape
    for v in range(n):
        near_x, near_y = has_bit(g.ne[v], x), has_bit(g.ne[v], y)
        if has_bit(changed, v):
            void_row(record, kind, v)
        elif by != TURN and near_x and near_y:
            if by == INSERT and kind == INSERT:
                _grow(record, v, x, y)
            else:
                void_row(record, kind, v)
        elif kind == TURN:  # its gain has a term of x
            for w in range(words):
                record.stale[kind, v, w] |= changed[w]
        if by != TURN:
            if near_y or v == y:
                set_bit(record.stale[kind, v], x)
            if near_x or v == x:
                set_bit(record.stale[kind, v], y)


@inner_with_arrays
def mark_new_neighbour(record: Record, g: Graph, v: Integer, z: Integer) -> None:
    """Void the Inserts of row v that change if nothing but z was added to Ne(v): NA_vc of the c
    adjacent to z; cliques with z are new."""
    for w in range(g.adj.shape[1]):
        record.stale[INSERT, v, w] |= g.adj[z, w]
    _grow(record, v, z, np.int64(-1))
