"""Insert(x, y, T): its enumeration. Definition: `operators.Insert`."""

from __future__ import annotations

import numpy as np

from fedbn.graphs._kernels import popcount
from fedbn.scores._kernels import joint_pairs, local
from fedbn.scores._tables import Integer, Tables, inlined
from fedbn.search._clique_kernels import family, next_clique
from fedbn.search._record_kernels import close_row, drop_stale, keep
from fedbn.search._set_kernels import first
from fedbn.search._state import INSERT, ZERO, Graph, Record, Rules, Scratch


@inlined
def refresh_inserts(
    t: Tables, g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer
) -> bool:
    """Look at Insert(x, y, T) for the stale pairs of row y; False if the record is full."""
    drop_stale(record, np.int64(INSERT), y)
    total = _candidates(g, record, rules, scratch, y)
    for w in range(g.ne.shape[1]):
        scratch.choice[0, w] = g.ne[y, w]
        scratch.clique[w] = ZERO
    depth: Integer = np.int64(0 if total > 0 else -1)
    while depth >= 0:
        k = np.int64(family(g, y, scratch.clique, scratch.parents))
        m = np.int64(_served(g, rules, scratch, y, total))
        if m > 0 and k >= rules.max_parents:
            rules.hit[0] += 1
        elif m > 0 and not _keep_gains(t, g, record, rules, scratch, y, k, m):
            return False
        depth = next_clique(g, scratch, depth, bool(k < rules.max_parents))
    close_row(record, np.int64(INSERT), y)
    return True


@inlined
def _candidates(g: Graph, record: Record, rules: Rules, scratch: Scratch, y: Integer) -> int:
    """candidates := the x of stale pairs that are not adjacent to y and may be; how many."""
    n, words = g.adj.shape
    k = 0
    for w in range(words):
        word = record.stale[INSERT, y, w] & ~g.adj[y, w] & ~rules.apart[y, w]
        while word != ZERO:
            x = first(w, word)
            word &= word - np.uint64(1)
            if x < n and x != y:
                scratch.candidates[k] = x
                k += 1
    return k


@inlined
def _served(g: Graph, rules: Rules, scratch: Scratch, y: Integer, total: Integer) -> int:
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


@inlined
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
