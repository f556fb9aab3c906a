"""One minimum cut for many inputs: those that differ from the typical graph out of its reach.

Many inputs are copies of one graph with a few arcs changed. The typical graph is such a graph; of
every input the engine keeps the arcs in which it differs from that one (`_difference_kernels.py`).

Let A be An({x, y} + low), the row of a node its neighbours in moral(A) - S, N some nodes of the
typical graph's A - S, and K be N and its children there. The rows of N are the same in an input if

1. every node of K is in A of both graphs or of neither;
2. those in A have the same parents, but for some in S;
3. the children that a node of N has in the input alone are not in A of the input.

For a row is the parents, the children in A, and the parents of those, without S. If arcs that the
input lacks are all that stands against 1 and 2, its rows of N have nothing more than the typical
ones: such arcs only take nodes from A, and edges away.

- The flow of a minimum cut reads nothing of a graph but the rows of the nodes that it touches, T.
  If those are the same in an input, so are the flow, its value and its cut.
- Let Y be what y reaches when the typical flow is at its maximum: the edges that leave Y are a
  minimum cut. If the rows of Y have nothing more in an input, only such edges leave Y there, and
  its cut is no larger. So it is the typical one if it is known to be no smaller. Where the typical
  cut is 0, nothing need be known, and the component of x, X, will do as well as that of y.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import fill_component
from fedbn.consensus._difference_kernels import fill_joined, fill_marked
from fedbn.consensus._engine import (
    ALONE,
    CH,
    CROSSED,
    DES,
    DIFFERENT,
    HEADS,
    INSIDE,
    LEFT,
    OTHER,
    OWNER,
    REACH,
    SOME,
    TAILS,
    TOUCHED,
    UNLIKE,
    Engine,
    F,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._row_kernels import may_change_rows
from fedbn.graphs._bit_kernels import ZERO, clear_bit, set_bit
from fedbn.kernel_parts import inner


@inner
def fill_unlike(e: Engine, slot: int, value: int, certain: bool, s: Scratch) -> None:
    """s.inputs[UNLIKE] := the inputs in which rows of T may be others; CROSSED := those in which
    rows of Y, and of X if the typical cut is 0, may have more in them.

    value: the cut of the typical graph; s: as `least_cut_bits` left it. If it is 0, T is not looked
    at. T, Y and X go to s.spare[2], [4] and [6], each followed by its K.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    crossed, other = s.inputs[CROSSED], s.inputs[LEFT]
    if value == 0:
        fill_component(e.typical, y, x, s)
    else:
        for w in range(s.spare.shape[1]):
            s.spare[2, w] = ZERO
        for k in range(s.size[0]):
            set_bit(s.spare[2], s.lists[TOUCHED, k])
        _fill_reached(
            e, slot, e.marks[DIFFERENT], s.spare[2], s.spare[3], certain, s, s.inputs[UNLIKE]
        )
    for w in range(s.spare.shape[1]):
        s.spare[4, w] = s.sets[REACH, w]
    _fill_reached(e, slot, e.marks[ALONE], s.spare[4], s.spare[5], certain, s, crossed)
    if value == 0:
        fill_component(e.typical, x, y, s)
        for w in range(s.spare.shape[1]):
            s.spare[6, w] = s.sets[REACH, w]
        _fill_reached(e, slot, e.marks[ALONE], s.spare[6], s.spare[7], certain, s, other)
        for k in range(crossed.shape[0]):
            crossed[k] &= other[k]


@inner
def _fill_reached(
    e: Engine, slot: int, marks: Bits, nodes: Bits, near: Bits, certain: bool, s: Scratch, out: Bits
) -> None:
    """out := all inputs but such as surely have the same rows of `nodes` as the typical graph, by
    marks of DIFFERENT, or nothing more in them, by marks of ALONE (own arcs alone). near := K.

    Let A be that of the typical graph, below the descendants of the nodes N. All others have (a) no
    difference that leaves below - low, or none that enters A; (b) no difference that enters a node
    of K in A, or none that leaves a node outside of S.
    1. A node c of K is in A of both graphs or of neither. Else a path from c to {x, y} + low is in
       one graph only. Its first difference leaves a node below c, which is not in low, or c were in
       A of both; its last one enters A.
    2. By (b).
    3. No node of N is in low, so a child that it has in the input only is a difference that leaves
       below - low. If the child is in A of the input, the last difference on the path over it to
       {x, y} + low enters A.
    `certain`: A has nodes because of the number of their undecided descendants (bound 4). Then (a)
    is: no difference leaves below - low. So c has the same descendants, or was in A anyway.
    """
    g, inside, below, some_nodes = e.typical, s.sets[INSIDE], s.spare[0], s.spare[1]
    some, other = s.inputs[SOME], s.inputs[OTHER]
    fill_joined(g[DES], nodes, below)
    fill_joined(g[CH], nodes, near)
    for w in range(nodes.shape[0]):
        below[w] &= ~e.sets[slot, F, w]
        near[w] |= nodes[w]
        some_nodes[w] = near[w] & inside[w]
    fill_marked(marks[TAILS], below, out)
    if not certain:
        fill_marked(marks[HEADS], inside, some)
        for k in range(out.shape[0]):
            out[k] &= some[k]
    fill_marked(marks[HEADS], some_nodes, some)
    for w in range(nodes.shape[0]):
        some_nodes[w] = ~(e.sets[slot, F, w] | e.sets[slot, U, w])
    for v in range(g.shape[1], 64 * nodes.shape[0]):
        clear_bit(some_nodes, v)
    fill_marked(marks[TAILS], some_nodes, other)
    for k in range(out.shape[0]):
        out[k] |= some[k] & other[k]


@inner
def may_change(e: Engine, slot: int, i: int, certain: bool, s: Scratch) -> bool:
    """Whether rows of T may be others in input i. s: as `fill_unlike` left it."""
    return may_change_rows(e, slot, i, DIFFERENT, s.spare[2], s.spare[3], certain, s)


@inner
def may_cross(e: Engine, slot: int, i: int, value: int, certain: bool, s: Scratch) -> bool:
    """Whether rows of Y, and of X if `value` is 0, may have more in them in input i.

    s: as `fill_unlike` left it.
    """
    if not may_change_rows(e, slot, i, ALONE, s.spare[4], s.spare[5], certain, s):
        return False
    return value > 0 or may_change_rows(e, slot, i, ALONE, s.spare[6], s.spare[7], certain, s)
