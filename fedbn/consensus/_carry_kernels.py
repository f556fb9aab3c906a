"""What the cached cuts of one slot say of another one of the same edge: bound 5 of `_engine.py`."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._difference_kernels import fill_reached_anew
from fedbn.consensus._engine import (
    ALIKE,
    K_MAX,
    OWNER,
    UNKNOWN,
    UNLIKE,
    Engine,
    F,
    H,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._moral_kernels import is_inside
from fedbn.consensus._slot_kernels import at_least, change, size_of
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, has_bit, set_bit
from fedbn.kernel_parts import inner


@inner
def first_inside(g: Bits, nodes: Bits, x: int, y: int, given: Bits, wanted: bool) -> int:
    """The first of `nodes` that is (wanted), or is not, in An({x, y} + given) of input g; or -1."""
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if is_inside(g, v, x, y, given) == wanted:
                return v
    return -1


@inner
def _fill_changes(e: Engine, source: int, target: int, s: Scratch) -> None:
    """s.spare[0] to [3] := low' - low, high - high', low - low', high' - high."""
    for w in range(e.sets.shape[2]):
        low, old_low = e.sets[target, F, w], e.sets[source, F, w]
        high, old_high = low | e.sets[target, U, w], old_low | e.sets[source, U, w]
        s.spare[0, w] = old_low & ~low
        s.spare[1, w] = high & ~old_high
        s.spare[2, w] = low & ~old_low
        s.spare[3, w] = old_high & ~high


@inner
def _obstacle(g: Bits, x: int, y: int, low: Bits, old_low: Bits, s: Scratch) -> int:
    """A node by which the graph of (low', high') is no subgraph of that of (low, high), or -1."""
    v = first_inside(g, s.spare[0], x, y, low, False)
    return v if v >= 0 else first_inside(g, s.spare[1], x, y, old_low, True)


@inner
def _is_same(g: Bits, x: int, y: int, low: Bits, old_low: Bits, s: Scratch) -> bool:
    """Whether the two graphs are equal, if one is a subgraph."""
    if first_inside(g, s.spare[2], x, y, old_low, False) >= 0:
        return False
    return first_inside(g, s.spare[3], x, y, low, True) < 0


@inner
def carry(e: Engine, source: int, target: int, s: Scratch) -> None:
    """Bound 5: what is known of the cuts of `source`, for another slot of the same edge.

    The graph of (low', high') is a subgraph of that of (low, high) if low' - low is in
    An({x, y} + low) and nothing of high - high' in An({x, y} + low'), and the same graph if also
    low - low' is in An({x, y} + low') and nothing of high' - high in An({x, y} + low). The latter
    alone makes it a subgraph of the other, in which a cut of 0 is one, too. Where bound 4 may say
    more of the target than of the source, it is asked again.
    """
    number = e.slots[source, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    low, old_low = e.sets[target, F], e.sets[source, F]
    _fill_changes(e, source, target, s)
    carried, same = False, False
    more = e.limits[K_MAX] - size_of(e.sets[target, H])
    certain = size_of(e.sets[target, U]) > more
    if e.limits[ALIKE] <= e.weights.shape[0]:
        carried, same = _carry_alike(e, x, y, low, old_low, s)
    else:
        for k in range(s.inputs.shape[1]):
            s.inputs[UNLIKE, k] = ~ZERO
    for i in range(e.weights.shape[0]):
        if not carried and s.inputs[UNLIKE, i >> 6] == ZERO:
            continue
        cut, known = e.cut[source, i], e.cut[target, i]
        if known >= 0 or (cut < 0 and cut >= known):
            continue
        exact, g = same, e.graphs[i]
        if has_bit(s.inputs[UNLIKE], i):
            if cut != 0 and _obstacle(g, x, y, low, old_low, s) >= 0:
                continue
            exact = cut >= 0 and _is_same(g, x, y, low, old_low, s)
        elif not carried:
            continue
        bound = max(at_least(cut), -1 - known)
        if cut >= 0 and exact and not certain:
            change(e, target, i, -1 - known, bound)
            e.slots[target, UNKNOWN] -= 1
        else:
            change(e, target, i, -1 - known, -1 - bound)


@inner
def _carry_alike(
    e: Engine, x: int, y: int, low: Bits, old_low: Bits, s: Scratch
) -> tuple[bool, bool]:
    """Bound 5 in the typical graph, (subgraph, equal), and so in all inputs but those UNLIKE it."""
    nodes, given = s.spare[4], s.spare[5]
    obstacle = _obstacle(e.typical, x, y, low, old_low, s)
    for w in range(nodes.shape[0]):
        given[w] = low[w] | old_low[w]
        nodes[w] = s.spare[0, w] | s.spare[1, w] | s.spare[2, w] | s.spare[3, w]
        if obstacle >= 0:
            nodes[w] = ZERO
    if obstacle >= 0:
        set_bit(nodes, obstacle)
    fill_reached_anew(e, nodes, x, y, given, s)
    return obstacle < 0, obstacle < 0 and _is_same(e.typical, x, y, low, old_low, s)
