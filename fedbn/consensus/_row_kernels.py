"""Whether the differences of one input reach the rows of some nodes: see `_typical_kernels.py`."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._engine import (
    ALONE,
    ANC,
    CH,
    DES,
    INSIDE,
    K_MAX,
    OWNER,
    PA,
    Engine,
    F,
    H,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._moral_kernels import is_inside
from fedbn.consensus._slot_kernels import size_of
from fedbn.graphs._bit_kernels import ZERO, has_bit, popcount
from fedbn.kernel_parts import inner


@inner
def may_change_rows(
    e: Engine, slot: int, i: int, kind: int, nodes: Bits, near: Bits, certain: bool, s: Scratch
) -> bool:
    """Whether input i may have other rows of the nodes N than the typical graph, whose A is INSIDE,
    or (kind ALONE) more in them: arcs that it lacks need no look then. near: K.

    A path from a node that is in one A only, to {x, y} + low or (certain) to an undecided element,
    has an arc that the other graph lacks: the last one that enters the other A, or the first one.
    Its tail is not in the other A. So A is the same if the tails of all such arcs are. Then a row
    of N differs only where an arc enters a node of K in A from outside of S, or is in the input
    alone and leads from N into A. That holds, too, if A only has more nodes in the input, none of
    K and none that an arc of the input alone enters.
    """
    inside = s.sets[INSIDE]
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        lacked, enters = has_bit(e.typical[PA, b], a), has_bit(inside, b)
        if lacked and kind == ALONE:
            continue
        given = has_bit(e.sets[slot, F], a)
        if enters and has_bit(near, b) and not given and not has_bit(e.sets[slot, U], a):
            return True
        if lacked:
            leads = enters or (certain and _has_free_below(e, slot, b))
            if leads and not given and not _stays_in_a(e, slot, i, a, certain):
                return True
            continue
        if enters and has_bit(nodes, a):
            return True
        grows = not has_bit(inside, a) and (enters or (certain and _may_lead(e, slot, i, b)))
        if grows and _moves_near(e, i, a, near, inside):
            return True
    return e.differing[i] < 0


@inner
def _has_free_below(e: Engine, slot: int, v: int) -> bool:
    """Whether an undecided element of the slot is a descendant of v in the typical graph."""
    below = ZERO
    for w in range(e.sets.shape[2]):
        below |= e.typical[DES, v, w] & e.sets[slot, U, w]
    return below != ZERO


@inner
def _may_lead(e: Engine, slot: int, i: int, v: int) -> bool:
    """Whether an undecided element of the slot may be a descendant of v in input i."""
    if _has_free_below(e, slot, v):
        return True
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        if has_bit(e.typical[DES, v], a) and not has_bit(e.typical[PA, b], a):
            return True
    return False


@inner
def _moves_near(e: Engine, i: int, a: int, near: Bits, inside: Bits) -> bool:
    """Whether one of the nodes `near`, or of those that arcs of input i alone enter, may be an
    ancestor of a there, by a path outside of A.

    inside: A of the typical graph. The last such arc on the path enters an ancestor in that graph.
    """
    moved = ZERO
    for w in range(near.shape[0]):
        moved |= e.typical[ANC, a, w] & near[w] & ~inside[w]
    if moved != ZERO:
        return True
    for k in range(e.differing[i]):
        p, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        outside = has_bit(e.typical[ANC, a], b) and not has_bit(inside, b)
        if outside and not has_bit(e.typical[PA, b], p):
            return True
    return False


@inner
def _stays_in_a(e: Engine, slot: int, i: int, a: int, certain: bool) -> bool:
    """Whether a, in A of the typical graph or above an undecided element, is in A of input i.

    It is if more of its children there are in low than the input can lack.
    """
    children = 0
    for w in range(e.sets.shape[2]):
        children += np.int64(popcount(e.typical[CH, a, w] & e.sets[slot, F, w]))
    return children > e.differing[i] or _is_in_a(e, slot, e.graphs[i], a, certain)


@inner
def _is_in_a(e: Engine, slot: int, g: Bits, v: int, certain: bool) -> bool:
    """Whether v is in An({x, y} + S) for every S of a slot, as far as bounds 1 and 4 tell."""
    number = e.slots[slot, OWNER]
    if is_inside(g, v, e.edges[number, X], e.edges[number, Y], e.sets[slot, F]):
        return True
    if not certain:
        return False
    below = 0
    for w in range(g.shape[2]):
        below += np.int64(popcount(g[DES, v, w] & e.sets[slot, U, w]))
    return below > e.limits[K_MAX] - size_of(e.sets[slot, H])
