"""Turn(x, y, C): its enumeration. Definition: `operators.Turn`."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, popcount
from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._joint_kernels import local
from fedbn.scores._tables import Integer, Tables
from fedbn.search._clique_kernels import family, family_without, next_clique
from fedbn.search._record_kernels import close_row, drop_stale, keep
from fedbn.search._set_kernels import first, members, size_of
from fedbn.search._state import TURN, ZERO, Graph, Record, Rules, Scratch


@inner_with_arrays
def refresh_turns(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Turn(x, y, C) for the stale pairs of row y; False if the record is full."""
    drop_stale(record, np.int64(TURN), y)
    for w in range(g.ne.shape[1]):
        scratch.subset[w] = record.stale[TURN, y, w] & (g.ch[y, w] | g.ne[y, w])
        scratch.choice[0, w] = g.ne[y, w]
        scratch.clique[w] = ZERO
    total = members(scratch.subset, scratch.candidates)
    depth: Integer = np.int64(0 if total > 0 else -1)
    while depth >= 0:
        k = np.int64(size_of(g.pa[y])) + depth
        for i in range(total):
            x = scratch.candidates[i]
            if not _fits(g, rules, y, x, scratch.clique):
                continue
            if k >= rules.max_parents:
                rules.hit[0] += 1
                continue
            gain = _gain(t, g, scratch, y, x)
            if gain > rules.floor and not keep(record, np.int64(TURN), y, x, gain, scratch.clique):
                return False
        depth = next_clique(g, scratch, depth, bool(k < rules.max_parents))
    close_row(record, np.int64(TURN), y)
    return True


@inner_with_arrays
def _fits(g: Graph, rules: Rules, y: Integer, x: Integer, clique: Bits) -> bool:
    """The conditions of Turn(x, y, C) on Ne(y) alone: C is a clique of Ne(y) by construction."""
    if has_bit(clique, x):
        return False
    outside = ZERO
    beyond = ZERO
    for w in range(clique.shape[0]):
        na = g.ne[y, w] & g.adj[x, w]
        outside |= na & ~clique[w]
        beyond += popcount(clique[w] & ~na)
    if has_bit(g.ne[y], x):
        if beyond == ZERO or not _separates(g, y, x, clique):
            return False
    elif outside != ZERO:
        return False
    if np.int64(beyond) > rules.max_t:
        rules.hit[1] += 1
        return False
    return True


@inner_with_arrays
def _separates(g: Graph, y: Integer, x: Integer, clique: Bits) -> bool:
    """Whether C ∩ NA_yx separates C \\ NA_yx and NA_yx \\ C in the graph over Ne(y) \\ {x}."""
    words = clique.shape[0]
    reached = np.empty(words, dtype=np.uint64)
    around = np.empty(words, dtype=np.uint64)
    for w in range(words):
        na = g.ne[y, w] & g.adj[x, w]
        reached[w] = clique[w] & ~na
        around[w] = g.ne[y, w] & ~(clique[w] & na)
    clear_bit(around, x)
    grown = True
    while grown:
        grown = False
        for w in range(words):
            word = reached[w]
            while word != ZERO:
                v = first(w, word)
                word &= word - np.uint64(1)
                for u in range(words):
                    more = g.adj[v, u] & around[u] & ~reached[u]
                    if more != ZERO:
                        reached[u] |= more
                        grown = True
    met = ZERO
    for w in range(words):
        met |= reached[w] & g.ne[y, w] & g.adj[x, w] & ~clique[w]
    return bool(met == ZERO)


@inner_with_arrays
def _gain(t: Tables, g: Graph, scratch: Scratch, y: Integer, x: Integer) -> float:
    """The gain of Turn(x, y, C): two terms, of y and of x."""
    k = np.int64(family(g, y, scratch.clique, scratch.parents))
    gain = -local(t, y, scratch.parents, k)
    scratch.parents[k] = x
    gain += local(t, y, scratch.parents, k + 1)
    undirected = has_bit(g.ne[y], x)
    for w in range(scratch.clique.shape[0]):
        scratch.subset[w] = scratch.clique[w] & g.adj[x, w] if undirected else ZERO
    k = np.int64(family_without(g, x, scratch.subset, y, scratch.parents))
    gain += local(t, x, scratch.parents, k)
    scratch.parents[k] = y
    return float(gain - local(t, x, scratch.parents, k + 1))
