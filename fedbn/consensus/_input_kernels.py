"""The inputs while they lose arcs: ancestors, moral graphs, and the pruning of one deletion."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import cut_arcs_bits, min_cut_bits, moral_bits
from fedbn.consensus._engine import (
    ANC,
    CH,
    DES,
    MOR,
    PA,
    REMOVED_ARCS,
    STEPS,
    Engine,
    F,
    Scratch,
    U,
)
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, inner, set_bit


@inner
def prune_inputs(
    e: Engine,
    slot: int,
    x: int,
    y: int,
    s: Scratch,
    lost: NDArray[np.int32],
    gone: Bits,
    found: NDArray[np.int32],
) -> int:
    """Remove the arcs of the cut nearest to y from every input: number of inputs that lost arcs.

    lost[k]: such an input; gone[k]: the descendants, before, of the heads of its lost arcs.
    """
    changed = 0
    for i in range(e.weights.shape[0]):
        if e.cut[slot, i] == 0:
            continue
        g = e.graphs[i]
        min_cut_bits(g, x, y, e.sets[slot, F], e.sets[slot, U], s)
        count = cut_arcs_bits(g, s, found)
        if count == 0:
            continue
        lost[changed] = i
        for w in range(gone.shape[1]):
            gone[changed, w] = ZERO
            for k in range(count):
                gone[changed, w] |= g[DES, found[k, 1], w]
        _remove_arcs(e, i, found, count, gone[changed], s)
        changed += 1
    return changed


@inner
def _remove_arcs(
    e: Engine, i: int, found: NDArray[np.int32], count: int, gone: Bits, s: Scratch
) -> None:
    """Take arcs out of input i, record them, and repair votes, moral rows and ancestors."""
    g = e.graphs[i]
    words = g.shape[2]
    stale = s.spare[0]
    for w in range(words):
        stale[w] = ZERO
    for k in range(count):
        a, b = np.int64(found[k, 0]), np.int64(found[k, 1])
        for w in range(words):
            stale[w] |= g[PA, b, w]
        set_bit(stale, b)
        clear_bit(g[PA, b], a)
        clear_bit(g[CH, a], b)
        e.votes[a, b] -= e.weights[i]
        e.votes[b, a] -= e.weights[i]
        if e.edge[a, b] >= 0:
            e.joined[e.edge[a, b], i] = 0
        record = e.counters[REMOVED_ARCS]
        e.arcs[record, 0] = e.counters[STEPS]
        e.arcs[record, 1] = i
        e.arcs[record, 2] = a
        e.arcs[record, 3] = b
        e.counters[REMOVED_ARCS] = record + 1
    for w in range(words):
        word = stale[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            moral_bits(g[PA], g[CH], v, g[MOR, v])
    for place in range(g.shape[1]):
        v = e.topo[i, place]
        if has_bit(gone, v):
            _renew_ancestors(g, v, s.spare[0])


@inner
def _renew_ancestors(g: Bits, v: int, before: Bits) -> None:
    """Ancestors of v from those of its parents; v leaves DES of what is no ancestor any more."""
    words = g.shape[2]
    for w in range(words):
        before[w] = g[ANC, v, w]
        g[ANC, v, w] = ZERO
    set_bit(g[ANC, v], v)
    for w in range(words):
        word = g[PA, v, w]
        while word != ZERO:
            p = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                g[ANC, v, k] |= g[ANC, p, k]
    for w in range(words):
        word = before[w] & ~g[ANC, v, w]
        while word != ZERO:
            clear_bit(g[DES, (w << 6) + np.int64(first_bit(word))], v)
            word &= word - ONE
