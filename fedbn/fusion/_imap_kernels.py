"""Minimal directed I-maps and their union on bitsets, as in `_order_kernels.py`.

Public callers: `minimal_imap.py`, `union.py` and the refusion reading of the consensus.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, set_bit
from fedbn.graphs._cpdag_kernels import ancestors_bits
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner, inner_with_arrays


@door_to_sets
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


@door_to_sets
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


@door_to_sets
def quorum_bits(maps: Bits, members: Ints, quorum: int) -> Bits:
    """The arcs of at least `quorum` inputs: bits [r, n, W] to [n, W].

    members [r]: how many inputs every map stands for.
    """
    r, n, words = maps.shape
    out = np.zeros((n, words), dtype=np.uint64)
    votes = np.zeros(n, dtype=np.int64)
    for v in range(n):
        for p in range(n):
            votes[p] = 0
        for i in range(r):
            for w in range(words):
                word = maps[i, v, w]
                while word != ZERO:
                    votes[(w << 6) + np.int64(first_bit(word))] += members[i]
                    word &= word - ONE
        for p in range(n):
            if votes[p] >= quorum:
                set_bit(out[v], p)
    return out


@door_to_sets
def union_bits(pa: Bits) -> Bits:
    """Union of parent sets over inputs: bits [r, n, W] to [n, W]."""
    r, n, words = pa.shape
    out = np.zeros((n, words), dtype=np.uint64)
    for i in range(r):
        for v in range(n):
            for w in range(words):
                out[v, w] |= pa[i, v, w]
    return out
