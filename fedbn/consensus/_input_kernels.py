"""The inputs while they lose arcs: ancestors, moral graphs, and the pruning of one deletion."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import cut_arcs_bits, min_cut_bits
from fedbn.consensus._difference_kernels import note_difference
from fedbn.consensus._engine import (
    ALIKE,
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
from fedbn.consensus._moral_kernels import moral_bits
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, set_bit
from fedbn.kernel_parts import inner


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

    lost[k]: such an input; gone[k]: the descendants, before, of the heads of its lost arcs. The
    typical graph loses the arcs of its own cut.
    """
    changed = 0
    low, free = e.sets[slot, F], e.sets[slot, U]
    for i in range(e.weights.shape[0]):
        if e.cut[slot, i] == 0:
            continue
        g = e.graphs[i]
        min_cut_bits(g, x, y, low, free, s)
        count = cut_arcs_bits(g, s, found)
        if count == 0:
            continue
        lost[changed] = i
        _remove_arcs(g, e.topo[i], found, count, gone[changed], s.spare[0])
        _record_arcs(e, i, found, count)
        changed += 1
    alike = e.limits[ALIKE] <= e.weights.shape[0]
    if alike and min_cut_bits(e.typical, x, y, low, free, s) > 0:
        count = cut_arcs_bits(e.typical, s, found)
        _remove_arcs(e.typical, e.typical_topo, found, count, gone[changed], s.spare[0])
        for i in range(e.weights.shape[0]):
            for k in range(count):
                note_difference(e, i, np.int64(found[k, 0]), np.int64(found[k, 1]))
    return changed


@inner
def _remove_arcs(
    g: Bits, topo: NDArray[np.int64], found: NDArray[np.int32], count: int, gone: Bits, stale: Bits
) -> None:
    """Take arcs out of a graph and repair moral rows and ancestors; `stale` is scratch.

    gone := the descendants, before, of the heads of the arcs.
    """
    words = g.shape[2]
    for w in range(words):
        stale[w] = ZERO
        gone[w] = ZERO
        for k in range(count):
            gone[w] |= g[DES, found[k, 1], w]
    for k in range(count):
        a, b = np.int64(found[k, 0]), np.int64(found[k, 1])
        for w in range(words):
            stale[w] |= g[PA, b, w]
        set_bit(stale, b)
        clear_bit(g[PA, b], a)
        clear_bit(g[CH, a], b)
    for w in range(words):
        word = stale[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            moral_bits(g[PA], g[CH], v, g[MOR, v])
    for place in range(g.shape[1]):
        v = topo[place]
        if has_bit(gone, v):
            _renew_ancestors(g, v, stale)


@inner
def _record_arcs(e: Engine, i: int, found: NDArray[np.int32], count: int) -> None:
    """Write down what input i lost, and keep votes, pairs that are joined, and differences."""
    for k in range(count):
        a, b = np.int64(found[k, 0]), np.int64(found[k, 1])
        e.votes[a, b] -= e.weights[i]
        e.votes[b, a] -= e.weights[i]
        if e.edge[a, b] >= 0:
            e.joined[e.edge[a, b], i] = 0
        note_difference(e, i, a, b)
        record = e.counters[REMOVED_ARCS]
        e.arcs[record, 0] = e.counters[STEPS]
        e.arcs[record, 1] = i
        e.arcs[record, 2] = a
        e.arcs[record, 3] = b
        e.counters[REMOVED_ARCS] = record + 1


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
