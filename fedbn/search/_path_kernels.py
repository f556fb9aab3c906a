"""Condition (2): semi-directed paths from y to x that an operator must block."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit
from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._tables import Integer
from fedbn.search._set_kernels import first
from fedbn.search._state import INSERT, PATH_NODES, TURN, ZERO, Graph, Record


@inner_with_arrays
def is_valid(
    g: Graph, record: Record, kind: Integer, y: Integer, x: Integer, entry: Integer
) -> bool:
    """What is left to test when an operator on record is to be used.

    An Insert must block with NA_yx ∪ T, the Turn of y -> x with C ∪ Ne(x); others are valid.
    """
    if kind != INSERT and (kind != TURN or has_bit(g.ne[y], x)):
        return True
    if _is_open(g, record, entry):
        return False
    unseen = np.empty(g.ne.shape[1], dtype=np.uint64)
    for w in range(unseen.shape[0]):
        with_ = g.ne[y, w] & g.adj[x, w] if kind == INSERT else g.ne[x, w]
        unseen[w] = ~(record.sets[entry, w] | with_)
    return not _find_path(g, record, entry, y, x, unseen, kind == INSERT)


@inner_with_arrays
def _is_open(g: Graph, record: Record, entry: Integer) -> bool:
    """Whether the path on record is still semi-directed; what it avoids has not changed."""
    length = record.path_length[entry]
    if length == 0:
        return False
    for i in range(length - 1):
        a, b = record.path[entry, i], record.path[entry, i + 1]
        if not (has_bit(g.ch[a], b) or has_bit(g.ne[a], b)):
            return False
    return True


@inner_with_arrays
def _find_path(
    g: Graph, record: Record, entry: Integer, y: Integer, x: Integer, unseen: Bits, direct: bool
) -> bool:
    """A shortest semi-directed path from y to x inside `unseen`, put on record.

    Without `direct` the edge from y to x itself does not count.
    """
    clear_bit(unseen, y)
    head, tail = 0, 1
    g.queue[0] = y
    while head < tail:
        u = g.queue[head]
        head += 1
        for w in range(unseen.shape[0]):
            word = (g.ch[u, w] | g.ne[u, w]) & unseen[w]
            while word != ZERO:
                v = first(w, word)
                word &= word - np.uint64(1)
                if v == x and u == y and not direct:
                    continue
                clear_bit(unseen, v)
                g.before[v] = u
                if v == x:
                    _note_path(g, record, entry, y, x)
                    return True
                g.queue[tail] = v
                tail += 1
    record.path_length[entry] = 0
    return False


@inner_with_arrays
def _note_path(g: Graph, record: Record, entry: Integer, y: Integer, x: Integer) -> None:
    """Keep the path that `before` spells, if it is short enough."""
    length, v = 1, x
    while v != y:
        v = g.before[v]
        length += 1
    record.path_length[entry] = length if length <= PATH_NODES else 0
    if length <= PATH_NODES:
        v = x
        for i in range(length - 1, -1, -1):
            record.path[entry, i] = v
            v = g.before[v]
