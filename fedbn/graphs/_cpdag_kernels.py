"""Orders, ancestors and equivalence classes on bitsets: rows of uint64 words, bit j of word j >> 6.

`pa[v]`, `ch[v]`, `ne[v]` are the sets of parents, children and undirected neighbours of v, as
arrays [n, W] with W = ceil(n / 64). Public callers: `pdag.py`, the search and the consensus.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import (
    ONE,
    ZERO,
    clear_bit,
    first_bit,
    popcount,
    set_bit,
    transpose_bits,
)
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner, inner_with_arrays


@door_to_sets
def topological_bits(pa: Bits, ch: Bits) -> NDArray[np.int64]:
    """Topological order of a DAG (first in, first out from the smallest indices)."""
    n, words = pa.shape
    waiting = np.zeros(n, dtype=np.int64)
    order = np.empty(n, dtype=np.int64)
    tail = 0
    for v in range(n):
        count = 0
        for w in range(words):
            count += int(popcount(pa[v, w]))
        waiting[v] = count
        if count == 0:
            order[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = order[head]
        head += 1
        for w in range(words):
            word = ch[v, w]
            while word != ZERO:
                c = (w << 6) + int(first_bit(word))
                word &= word - ONE
                waiting[c] -= 1
                if waiting[c] == 0:
                    order[tail] = c
                    tail += 1
    return order[:tail]


@inner
def label_parents(pa: Bits, com: Bits, rank: NDArray[np.int64], y: int, known: Bits) -> None:
    """com[y] := the compelled parents of y, from those of its parents; `known` is scratch.

    rank [n]: the place of every node in a topological order. See `cpdag_bits`.
    """
    words = pa.shape[1]
    for w in range(words):
        known[w] = ZERO
        com[y, w] = ZERO
    while True:
        x = -1
        for w in range(words):
            word = pa[y, w] & ~known[w]
            while word != ZERO:
                p = (w << 6) + int(first_bit(word))
                word &= word - ONE
                if x < 0 or rank[p] > rank[x]:
                    x = p
        if x < 0:
            return
        all_compelled = False
        for w in range(words):
            if com[x, w] & ~pa[y, w] != ZERO:
                all_compelled = True
        if all_compelled:
            for w in range(words):
                com[y, w] = pa[y, w]
            return
        for w in range(words):
            com[y, w] |= com[x, w]
            known[w] |= com[x, w]
        collider = False
        for w in range(words):
            others = pa[y, w] & ~pa[x, w]
            if w == x >> 6:
                others &= ~(ONE << np.uint64(x & 63))
            if others != ZERO:
                collider = True
        for w in range(words):
            if collider:
                com[y, w] |= pa[y, w] & ~known[w]
            known[w] = pa[y, w]


@door_to_sets
def cpdag_bits(pa: Bits, ch: Bits) -> tuple[Bits, Bits, Bits]:
    """The CPDAG of a DAG as (pa, ch, ne).

    Chickering (1995), Order-Edges and Label-Edges: edges x -> y are visited with y ascending
    and, for one y, x descending in a topological order. `com[y]` collects the compelled parents.
    For the edge x -> y that is visited first and unlabelled: (a) if some w -> x is compelled and
    w is no parent of y, every edge into y is compelled, else w -> y is compelled; (b) if y has a
    parent z other than x that is no parent of x, x -> y and all unlabelled edges into y are
    compelled; else they all are reversible.
    """
    n, words = pa.shape
    order = topological_bits(pa, ch)
    com = np.zeros((n, words), dtype=np.uint64)
    rank = np.empty(n, dtype=np.int64)
    for i in range(n):
        rank[order[i]] = i
    known = np.zeros(words, dtype=np.uint64)
    for i in range(n):
        label_parents(pa, com, rank, order[i], known)
    rev = np.empty((n, words), dtype=np.uint64)
    for v in range(n):
        for w in range(words):
            rev[v, w] = pa[v, w] & ~com[v, w]
    back = transpose_bits(rev)
    for v in range(n):
        for w in range(words):
            rev[v, w] |= back[v, w]
    return com, transpose_bits(com), rev


@inner
def _is_removable_sink(x: int, pa: Bits, ch: Bits, ne: Bits, left: Bits) -> bool:
    """Dor and Tarsi's conditions for x inside the nodes that are left.

    (a) x has no child left; (b) every undirected neighbour of x is adjacent to all other nodes
    adjacent to x.
    """
    words = pa.shape[1]
    for w in range(words):
        if ch[x, w] & left[w] != ZERO:
            return False
    for w in range(words):
        word = ne[x, w] & left[w]
        while word != ZERO:
            z = (w << 6) + int(first_bit(word))
            word &= word - ONE
            for u in range(words):
                around = (pa[x, u] | ne[x, u]) & left[u]
                if u == z >> 6:
                    around &= ~(ONE << np.uint64(z & 63))
                if around & ~(pa[z, u] | ch[z, u] | ne[z, u]) != ZERO:
                    return False
    return True


@door_to_sets
def extend_bits(pa: Bits, ch: Bits, ne: Bits) -> tuple[bool, Bits, Bits]:
    """A consistent DAG extension (Dor and Tarsi 1992) as (found, pa, ch).

    Repeatedly takes the smallest removable sink, directs its undirected edges into it and removes
    it. Only neighbours of a removed node can become removable, so only they are looked at again.
    """
    n, words = pa.shape
    dag_pa = pa.copy()
    left = np.zeros(words, dtype=np.uint64)
    look = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        set_bit(left, v)
        set_bit(look, v)
    removed = 0
    while removed < n:
        x = -1
        for w in range(words):
            while look[w] != ZERO and x < 0:
                v = (w << 6) + int(first_bit(look[w]))
                look[w] &= look[w] - ONE
                if _is_removable_sink(v, pa, ch, ne, left):
                    x = v
            if x >= 0:
                break
        if x < 0:
            return False, dag_pa, transpose_bits(dag_pa)
        clear_bit(left, x)
        removed += 1
        for w in range(words):
            dag_pa[x, w] |= ne[x, w] & left[w]
            look[w] |= (pa[x, w] | ne[x, w]) & left[w]
    return True, dag_pa, transpose_bits(dag_pa)


@inner_with_arrays
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
