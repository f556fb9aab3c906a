"""One minimum cut for many inputs: those that differ from the typical graph out of its reach.

Many inputs are copies of one graph with a few arcs changed. The typical graph is such a graph; of
every input the engine keeps the arcs in which it differs from that one (`differs`). A flow reads
nothing of a graph but the rows of the nodes that it touches, T, in moral(A) - S, where A is
An({x, y} + low). If those rows are the same in an input, so are the flow, its value and its cut.
Let K be T and the children of T in the typical graph. The rows are the same if

1. every node of K is in A of both graphs or of neither;
2. those in A have the same parents, but for some in S;
3. the children that a node of T has in the input alone are not in A of the input.

For a row is the parents, the children in A, and the parents of those, without S.

To look at every input would cost more than the cut. `marks` tell which inputs have a difference
that leaves or enters a node, 64 inputs in a word: the few that must be looked at are found by or
and and (`fill_unlike`, `fill_reached_anew`).

The typical graph loses arcs like an input, and `differs` is kept, so this stays a good guess and
is always exact.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import cut_inside, is_inside
from fedbn.consensus._engine import (
    ANC,
    CH,
    DES,
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
from fedbn.consensus._slot_kernels import size_of
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, popcount, set_bit
from fedbn.kernel_parts import inner

MANY_NODES = 48  # the inputs of so many nodes are taken to be all
UNCERTAIN, KNOWN_A, SAME_CUT = 0, 1, 2


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
def compare_cut(e: Engine, slot: int, i: int, certain: bool, less: bool, s: Scratch) -> int:
    """What the differences of input i tell of its cut: SAME_CUT, KNOWN_A, or UNCERTAIN.

    A path from a node that is in one A only, to {x, y} + low or (certain) to an undecided element,
    has an arc that the other graph lacks: the last one that enters the other A, or the first one.
    Its tail is not in the other A. So A is the same if the tails of all such arcs are. Then a row
    of T differs only where an arc enters a node of K in A from outside of S, or is in the input
    alone and leads from T into A. If A only has more nodes in the input, and none of K, that holds
    as long as no arc of the input alone leads from T out of A. If each of its arcs that make A grow
    enters the typical A, A is that and the ancestors of their tails (`cut_in_known_a`).
    less: the cut cannot be below the typical one. Then arcs that the input lacks need no look, for
    they can only make it smaller; KNOWN_A says nothing.
    s: as `fill_unlike` left it, with T and K.
    """
    touched, near, inside = s.spare[4], s.spare[5], s.sets[INSIDE]
    same, grown, outwards, known = True, False, False, True
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        given, enters = has_bit(e.sets[slot, F], a), has_bit(inside, b)
        removed = has_bit(e.typical[PA, b], a)
        if less and removed:
            continue
        if removed:
            leads = enters or (certain and _has_free_below(e, slot, b))
            if leads and not given and not _stays_in_a(e, slot, i, a, certain):
                return UNCERTAIN
        else:
            if has_bit(touched, a):
                same, outwards = same and not enters, outwards or not enters
            if not has_bit(inside, a) and (enters or (certain and _may_lead(e, slot, i, b))):
                grown, known = True, known and enters
                same = same and not _moves_near(e, i, a, s)
        if enters and has_bit(near, b):
            same = same and (given or has_bit(e.sets[slot, U], a))
    if e.differing[i] < 0:
        return UNCERTAIN
    if same and not (grown and outwards):
        return SAME_CUT
    return KNOWN_A if known else UNCERTAIN


@inner
def cut_in_known_a(e: Engine, slot: int, i: int, s: Scratch) -> int:
    """The minimum cut in an input with KNOWN_A; the typical A is in s.spare[6]."""
    number, g, typical_a = e.slots[slot, OWNER], e.graphs[i], s.spare[6]
    for w in range(typical_a.shape[0]):
        s.sets[INSIDE, w] = typical_a[w]
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        if has_bit(typical_a, b) and not has_bit(typical_a, a) and has_bit(g[PA, b], a):
            for w in range(typical_a.shape[0]):
                s.sets[INSIDE, w] |= g[ANC, a, w]
    x, y = e.edges[number, X], e.edges[number, Y]
    return cut_inside(g, x, y, e.sets[slot, F], e.sets[slot, U], s)


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
    return _has_free_below(e, slot, v) or _has_alone(e, i, e.typical[DES, v], TAILS)


@inner
def _moves_near(e: Engine, i: int, a: int, s: Scratch) -> bool:
    """Whether a node of K that is not in A may be an ancestor of a in input i."""
    moved = ZERO
    for w in range(s.spare.shape[1]):
        moved |= e.typical[ANC, a, w] & s.spare[5, w] & ~s.sets[INSIDE, w]
    return moved != ZERO or _has_alone(e, i, e.typical[ANC, a], HEADS)


@inner
def _has_alone(e: Engine, i: int, nodes: Bits, side: int) -> bool:
    """Whether an arc that input i has alone leaves (TAILS) or enters (HEADS) one of `nodes`."""
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        v = a if side == TAILS else b
        if has_bit(nodes, v) and not has_bit(e.typical[PA, b], a):
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
def note_difference(e: Engine, i: int, a: int, b: int) -> None:
    """The arc a -> b left input i or the typical graph, and not the other one.

    An input with more differences than `differs` holds is compared no more.
    """
    count = e.differing[i]
    if count < 0:
        return
    for k in range(count):
        if e.differs[i, k, 0] == a and e.differs[i, k, 1] == b:
            e.differs[i, k, 0] = e.differs[i, count - 1, 0]
            e.differs[i, k, 1] = e.differs[i, count - 1, 1]
            e.differing[i] = count - 1
            clear_bit(e.marks[TAILS, a], i)
            clear_bit(e.marks[HEADS, b], i)
            mark_differences(e, i)
            return
    if count == e.differs.shape[1]:
        e.differing[i] = -1
    else:
        e.differs[i, count, 0] = a
        e.differs[i, count, 1] = b
        e.differing[i] = count + 1
    mark_differences(e, i)


@inner
def mark_differences(e: Engine, i: int) -> None:
    """Set the marks of input i, of which none is wrong."""
    for k in range(e.differing[i]):
        set_bit(e.marks[TAILS, e.differs[i, k, 0]], i)
        set_bit(e.marks[HEADS, e.differs[i, k, 1]], i)
    if e.differing[i] < 0:
        for side in range(2):
            for v in range(e.marks.shape[1]):
                set_bit(e.marks[side, v], i)


@inner
def _fill_joined(rows: Bits, nodes: Bits, out: Bits) -> None:
    """out := the union of the rows of `nodes`."""
    for w in range(out.shape[0]):
        out[w] = ZERO
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(out.shape[0]):
                out[k] |= rows[v, k]


@inner
def _fill_marked(e: Engine, side: int, nodes: Bits, out: Bits) -> None:
    """out := the inputs with a difference that leaves (TAILS) or enters (HEADS) one of `nodes`.

    All inputs, if the nodes are many: then nearly all have one.
    """
    count = 0
    for w in range(nodes.shape[0]):
        count += np.int64(popcount(nodes[w]))
    if count <= MANY_NODES:
        _fill_joined(e.marks[side], nodes, out)
        return
    for k in range(out.shape[0]):
        out[k] = ~ZERO


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
    _fill_joined(g[DES], touched, below)
    _fill_joined(g[CH], touched, near)
    for w in range(low.shape[0]):
        below[w] &= ~low[w]
        near[w] |= touched[w]
    _fill_marked(e, TAILS, below, unlike)
    if not certain:
        _fill_marked(e, HEADS, s.sets[INSIDE], some)
        for k in range(unlike.shape[0]):
            unlike[k] &= some[k]
    for w in range(low.shape[0]):
        some_nodes[w] = near[w] & s.sets[INSIDE, w]
    _fill_marked(e, HEADS, some_nodes, some)
    for w in range(low.shape[0]):
        some_nodes[w] = ~(low[w] | free[w])
    for v in range(g.shape[1], 64 * low.shape[0]):
        clear_bit(some_nodes, v)
    _fill_marked(e, TAILS, some_nodes, other)
    for k in range(unlike.shape[0]):
        unlike[k] |= some[k] & other[k]


@inner
def fill_reached_anew(e: Engine, nodes: Bits, x: int, y: int, given: Bits, s: Scratch) -> None:
    """s.inputs[UNLIKE] := all inputs but such as surely have the same ones of `nodes` in
    An({x, y} + given) as the typical graph.

    On a path that only one of the graphs has, the first difference leaves a node below `nodes`,
    and the last one enters an ancestor of {x, y} + given.
    """
    g = e.typical
    below, above = s.spare[6], s.spare[7]
    _fill_joined(g[DES], nodes, below)
    _fill_joined(g[ANC], given, above)
    for w in range(given.shape[0]):
        above[w] |= g[ANC, x, w] | g[ANC, y, w]
    _fill_marked(e, TAILS, below, s.inputs[UNLIKE])
    _fill_marked(e, HEADS, above, s.inputs[SOME])
    for k in range(s.inputs.shape[1]):
        s.inputs[UNLIKE, k] &= s.inputs[SOME, k]
