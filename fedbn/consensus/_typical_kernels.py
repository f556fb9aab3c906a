"""One minimum cut for many inputs: those that differ from the typical graph out of its reach.

Many inputs are copies of one graph with a few arcs changed. The typical graph is such a graph; of
every input the engine keeps the arcs in which it differs from that one (`_difference_kernels.py`).
A flow reads nothing of a graph but the rows of the nodes that it touches, T, in moral(A) - S, where
A is An({x, y} + low). If those rows are the same in an input, so are the flow, its value and its
cut. Let K be T and the children of T in the typical graph. The rows are the same if

1. every node of K is in A of both graphs or of neither;
2. those in A have the same parents, but for some in S;
3. the children that a node of T has in the input alone are not in A of the input.

For a row is the parents, the children in A, and the parents of those, without S.

Where a cut is known to be the typical one at least, less is enough: `_side_kernels.py`.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._difference_kernels import fill_joined, fill_marked
from fedbn.consensus._engine import (
    CH,
    DES,
    DIFFERENT,
    HEADS,
    INSIDE,
    K_MAX,
    OTHER,
    OWNER,
    PA,
    SOME,
    TAILS,
    TOUCHED,
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
from fedbn.consensus._side_kernels import has_free_below, may_lead, moves_near
from fedbn.consensus._slot_kernels import size_of
from fedbn.graphs._bit_kernels import ZERO, clear_bit, has_bit, popcount, set_bit
from fedbn.kernel_parts import inner


@inner
def _fill_touched(s: Scratch, touched: Bits) -> None:
    """touched := the nodes that the last minimum cut read the rows of."""
    for w in range(touched.shape[0]):
        touched[w] = ZERO
    for k in range(s.size[0]):
        set_bit(touched, s.lists[TOUCHED, k])


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


@inner
def has_same_cut(e: Engine, slot: int, i: int, certain: bool, s: Scratch) -> bool:
    """Whether the differences of input i leave the rows of T what they are.

    A path from a node that is in one A only, to {x, y} + low or (certain) to an undecided element,
    has an arc that the other graph lacks: the last one that enters the other A, or the first one.
    Its tail is not in the other A. So A is the same if the tails of all such arcs are. Then a row
    of T differs only where an arc enters a node of K in A from outside of S, or is in the input
    alone and leads from T into A. That holds, too, if A only has more nodes in the input, none of
    K and none that an arc of the input alone enters.
    s: as `fill_unlike` left it, with T and K.
    """
    touched, near, inside = s.spare[4], s.spare[5], s.sets[INSIDE]
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        given, enters = has_bit(e.sets[slot, F], a), has_bit(inside, b)
        if enters and has_bit(near, b) and not given and not has_bit(e.sets[slot, U], a):
            return False
        if has_bit(e.typical[PA, b], a):
            leads = enters or (certain and has_free_below(e, slot, b))
            if leads and not given and not _stays_in_a(e, slot, i, a, certain):
                return False
            continue
        if enters and has_bit(touched, a):
            return False
        grows = not has_bit(inside, a) and (enters or (certain and may_lead(e, slot, i, b)))
        if grows and moves_near(e, i, a, near, inside):
            return False
    return e.differing[i] >= 0


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
def fill_unlike(e: Engine, low: Bits, free: Bits, certain: bool, s: Scratch) -> None:
    """s.inputs[UNLIKE] := all inputs but such as surely have the typical graph's cut.

    Let T, K and A be those of the typical graph, below the descendants of T. All others have (a) no
    difference that leaves below - low, or none that enters A; (b) no difference that enters a node
    of K in A, or none that leaves a node out of low + free. So the rows of T are the same:
    1. A node c of K is in A of both graphs or of neither. Else a path from c to {x, y} + low is in
       one graph only. Its first difference leaves a node below c, which is not in low, or c were in
       A of both; its last one enters A.
    2. By (b).
    3. No t of T is in low, so a child that t has in the input only is a difference that leaves
       below - low. If the child is in A of the input, the last difference on the path from t over
       it to {x, y} + low enters A.
    `certain`: A has nodes because of the number of their undecided descendants (bound 4). Then (a)
    is: no difference leaves below - low. So c has the same descendants, or was in A anyway.
    s: as `least_cut_bits` of the typical graph left it; T goes to spare[4], K to spare[5].
    """
    g = e.typical
    below, some_nodes, touched, near = s.spare[0], s.spare[1], s.spare[4], s.spare[5]
    unlike, some, other = s.inputs[UNLIKE], s.inputs[SOME], s.inputs[OTHER]
    _fill_touched(s, touched)
    fill_joined(g[DES], touched, below)
    fill_joined(g[CH], touched, near)
    for w in range(low.shape[0]):
        below[w] &= ~low[w]
        near[w] |= touched[w]
    fill_marked(e.marks[DIFFERENT, TAILS], below, unlike)
    if not certain:
        fill_marked(e.marks[DIFFERENT, HEADS], s.sets[INSIDE], some)
        for k in range(unlike.shape[0]):
            unlike[k] &= some[k]
    for w in range(low.shape[0]):
        some_nodes[w] = near[w] & s.sets[INSIDE, w]
    fill_marked(e.marks[DIFFERENT, HEADS], some_nodes, some)
    for w in range(low.shape[0]):
        some_nodes[w] = ~(low[w] | free[w])
    for v in range(g.shape[1], 64 * low.shape[0]):
        clear_bit(some_nodes, v)
    fill_marked(e.marks[DIFFERENT, TAILS], some_nodes, other)
    for k in range(unlike.shape[0]):
        unlike[k] |= some[k] & other[k]
