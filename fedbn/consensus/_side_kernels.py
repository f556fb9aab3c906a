"""Sides of the typical graph's cut that no new edge leaves in an input.

Let Y be a side of a minimum cut in moral(A) - S of the typical graph, A = An({x, y} + low): what y
reaches. In an input the edges that leave Y are no cut below its minimum. So where they are among
those of the typical graph, the input's cut is not above the typical one, and equal if it is known
to be no less. If the typical cut is 0, which is nothing to be known, that holds for the component
of x as for that of y, and one of the two is enough.

Let K be Y and its children in the typical graph, P the arcs that the input has alone, and A' the
ancestral set of the typical graph with P: A of the input is in A'. No new edge leaves Y unless

1. an arc of P leaves Y and its head is in A',
2. an arc of P enters a node of K in A from outside of S, or
3. a node of K that is not in A is in A'.

For let u - v be an edge of the input's graph, not of the typical one, v in Y, u not in Y or S. An
arc u -> v in both graphs would make u a node of A; one of P is case 2. An arc v -> u in both has u
in K: case 3; one of P is case 1. A common child c is in A': if v -> c is of P, case 1; else c is in
K, and not in A (case 3), or u -> c is of P (case 2).

Arcs that the input lacks need no look: they only take edges away.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import fill_component
from fedbn.consensus._difference_kernels import fill_joined, fill_marked
from fedbn.consensus._engine import (
    ALONE,
    ANC,
    CH,
    CROSSED,
    DES,
    HEADS,
    INSIDE,
    LEFT,
    OTHER,
    OWNER,
    PA,
    REACH,
    SOME,
    TAILS,
    Engine,
    F,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.graphs._bit_kernels import ZERO, clear_bit, has_bit
from fedbn.kernel_parts import inner


@inner
def fill_sides(e: Engine, slot: int, value: int, certain: bool, s: Scratch) -> None:
    """s.inputs[CROSSED] := all inputs but such as surely have no new edge that leaves a side.

    value: the cut of the typical graph; s: as `least_cut_bits` left it. The sides go to s.spare[2]
    and [3], their K to s.spare[6] and [7]; the second one is that of x, used for the value 0.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    crossed, other = s.inputs[CROSSED], s.inputs[LEFT]
    if value == 0:
        fill_component(e.typical, y, x, s)
    for w in range(s.spare.shape[1]):
        s.spare[2, w] = s.sets[REACH, w]
    _fill_crossed(e, slot, s.spare[2], s.spare[6], certain, s, crossed)
    if value == 0:
        fill_component(e.typical, x, y, s)
        for w in range(s.spare.shape[1]):
            s.spare[3, w] = s.sets[REACH, w]
        _fill_crossed(e, slot, s.spare[3], s.spare[7], certain, s, other)
        for k in range(crossed.shape[0]):
            crossed[k] &= other[k]


@inner
def _fill_crossed(
    e: Engine, slot: int, side: Bits, near: Bits, certain: bool, s: Scratch, out: Bits
) -> None:
    """out := all inputs but such as surely have no new edge that leaves `side`; near := K.

    Such inputs have (a) no arc of P that leaves the side or a descendant of K outside of A, or none
    that enters A; (b) no arc of P that enters a node of K in A, or none that leaves a node outside
    of S. For a node enters A by a path that has an arc of P, the last of which enters A.
    `certain`: A has nodes because of the number of their undecided descendants (bound 4). Then (a)
    is: no such arc leaves.
    """
    g, inside, nodes, below = e.typical, s.sets[INSIDE], s.spare[0], s.spare[1]
    some, other = s.inputs[SOME], s.inputs[OTHER]
    fill_joined(g[CH], side, near)
    for w in range(side.shape[0]):
        nodes[w] = near[w] & ~inside[w]
        near[w] |= side[w]
    fill_joined(g[DES], nodes, below)
    for w in range(side.shape[0]):
        below[w] |= side[w]
        nodes[w] = near[w] & inside[w]
    fill_marked(e.marks[ALONE, TAILS], below, out)
    if not certain:
        fill_marked(e.marks[ALONE, HEADS], inside, some)
        for k in range(out.shape[0]):
            out[k] &= some[k]
    fill_marked(e.marks[ALONE, HEADS], nodes, some)
    for w in range(side.shape[0]):
        nodes[w] = ~(e.sets[slot, F, w] | e.sets[slot, U, w])
    for v in range(g.shape[1], 64 * side.shape[0]):
        clear_bit(nodes, v)
    fill_marked(e.marks[ALONE, TAILS], nodes, other)
    for k in range(out.shape[0]):
        out[k] |= some[k] & other[k]


@inner
def may_cross(e: Engine, slot: int, i: int, value: int, certain: bool, s: Scratch) -> bool:
    """Whether input i may have new edges that leave a side, in each of the sides if they are two.

    s: as `fill_sides` left it.
    """
    if not _may_leave(e, slot, i, s.spare[2], s.spare[6], certain, s):
        return False
    return value > 0 or _may_leave(e, slot, i, s.spare[3], s.spare[7], certain, s)


@inner
def _may_leave(
    e: Engine, slot: int, i: int, side: Bits, near: Bits, certain: bool, s: Scratch
) -> bool:
    """Whether input i may have a new edge that leaves `side`, of which `near` is K.

    A node that is in A' alone has a path there that enters A, or (certain) leads to an undecided
    element, by an arc of P. The first such arc leaves a node outside of A, of which the node that
    moved is an ancestor by arcs outside of A.
    """
    inside = s.sets[INSIDE]
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        if has_bit(e.typical[PA, b], a):
            continue
        enters = has_bit(inside, b)
        if enters and has_bit(side, a):
            return True
        given = has_bit(e.sets[slot, F], a) or has_bit(e.sets[slot, U], a)
        if enters and has_bit(near, b) and not given:
            return True
        grows = not has_bit(inside, a) and (enters or (certain and may_lead(e, slot, i, b)))
        if grows and moves_near(e, i, a, near, inside):
            return True
    return e.differing[i] < 0


@inner
def has_free_below(e: Engine, slot: int, v: int) -> bool:
    """Whether an undecided element of the slot is a descendant of v in the typical graph."""
    below = ZERO
    for w in range(e.sets.shape[2]):
        below |= e.typical[DES, v, w] & e.sets[slot, U, w]
    return below != ZERO


@inner
def may_lead(e: Engine, slot: int, i: int, v: int) -> bool:
    """Whether an undecided element of the slot may be a descendant of v in input i."""
    if has_free_below(e, slot, v):
        return True
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        if has_bit(e.typical[DES, v], a) and not has_bit(e.typical[PA, b], a):
            return True
    return False


@inner
def moves_near(e: Engine, i: int, a: int, near: Bits, inside: Bits) -> bool:
    """Whether one of the nodes `near`, or of those that arcs of P enter, may be an ancestor of a in
    input i, by a path outside of A.

    inside: A of the typical graph. The last arc of P on such a path enters an ancestor there.
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
