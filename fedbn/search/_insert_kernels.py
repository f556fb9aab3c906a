"""Insert(x, y, T): its enumeration. Definition: `operators.Insert`."""

from __future__ import annotations

import numpy as np

from fedbn.graphs._bit_kernels import popcount, set_bit
from fedbn.kernel_parts import inner, inner_with_arrays
from fedbn.scores._joint_kernels import joint_pairs, local
from fedbn.scores._tables import Integer, Tables
from fedbn.search._clique_kernels import family, next_clique
from fedbn.search._record_kernels import close_row, drop_stale, keep, void_row
from fedbn.search._set_kernels import first
from fedbn.search._state import INSERT, ZERO, Graph, Record, Rules, Scratch


@inner_with_arrays
def refresh_inserts(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Insert(x, y, T) for the stale pairs of row y, and for the others at the cliques
    that are new; False if the record is full."""
    drop_stale(record, np.int64(INSERT), y)
    for w in range(g.ne.shape[1]):
        scratch.choice[0, w] = g.ne[y, w]
        scratch.clique[w] = ZERO
    total = _candidates(g, record, rules, scratch, y, True)
    if not _look_at_cliques(t, g, record, rules, scratch, y, total):
        return False
    if record.grown[y, 0] >= 0:
        for w in range(g.ne.shape[1]):
            scratch.choice[0, w] = g.ne[y, w]
            scratch.clique[w] = ZERO
        for z in record.grown[y]:
            if z >= 0:
                set_bit(scratch.clique, z)
                for w in range(g.ne.shape[1]):
                    scratch.choice[0, w] &= g.adj[z, w]
        total = _candidates(g, record, rules, scratch, y, False)
        if not _look_at_cliques(t, g, record, rules, scratch, y, total):
            void_row(record, np.int64(INSERT), y)  # some are on record: begin again
            return False
    close_row(record, np.int64(INSERT), y)
    return True


@inner
def _candidates(
    g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer, stale: bool
) -> int:
    """candidates := the x of pairs that are stale, or are not, where x is not adjacent to y and
    may be; returns how many."""
    n, words = g.adj.shape
    k = 0
    for w in range(words):
        word = record.stale[INSERT, y, w] if stale else ~record.stale[INSERT, y, w]
        word &= ~g.adj[y, w] & ~rules.apart[y, w]
        while word != ZERO:
            x = first(w, word)
            word &= word - np.uint64(1)
            if x < n and x != y:
                scratch.candidates[k] = x
                k += 1
    return k


@inner
def _look_at_cliques(
    t: Tables,
    g: Graph,
    record: Record,
    rules: Rules,
    scratch: Scratch,
    y: Integer,
    total: Integer,
) -> bool:
    """Keep what gains of the candidates' Inserts, over the cliques that grow from `clique` by
    nodes of choice[0]; False if the record is full."""
    depth: Integer = np.int64(0 if total > 0 else -1)
    while depth >= 0:
        k = np.int64(family(g, y, scratch.clique, scratch.parents))
        m = np.int64(_find_ends(g, rules, scratch, y, total))
        if m > 0 and k >= rules.max_parents:
            rules.hit[0] += 1
        elif m > 0 and not _keep_gains(t, g, record, rules, scratch, y, k, m):
            return False
        depth = next_clique(g, scratch, depth, bool(k < rules.max_parents))
    return True


@inner_with_arrays
def _find_ends(g: Graph, rules: Rules, scratch: Scratch, y: Integer, total: Integer) -> int:
    """xs := the candidates x with NA_yx ⊆ S, S the clique, and T = S \\ NA_yx not too large."""
    m = 0
    for i in range(total):
        x = scratch.candidates[i]
        outside = ZERO
        size = ZERO
        for w in range(g.ne.shape[1]):
            na = g.ne[y, w] & g.adj[x, w]
            outside |= na & ~scratch.clique[w]
            size += popcount(scratch.clique[w] & ~na)
        if outside == ZERO:
            if np.int64(size) > rules.max_t:
                rules.hit[1] += 1
            else:
                scratch.xs[m] = x
                m += 1
    return m


@inner_with_arrays
def _keep_gains(
    t: Tables,
    g: Graph,
    record: Record,
    rules: Rules,
    scratch: Scratch,
    y: Integer,
    k: Integer,
    m: Integer,
) -> bool:
    """Score the m operators of one clique and keep those that gain; False if there is no room."""
    joint_pairs(t, y, scratch.parents, k, scratch.xs, m, scratch.full, scratch.part)
    base = local(t, y, scratch.parents, k)
    for i in range(m):
        gain = scratch.full[i] - scratch.part[i] - base
        if gain > rules.floor:
            x = scratch.xs[i]
            for w in range(g.adj.shape[1]):
                scratch.subset[w] = scratch.clique[w] & ~g.adj[x, w]
            if not keep(record, np.int64(INSERT), y, x, gain, scratch.subset):
                return False
    return True
