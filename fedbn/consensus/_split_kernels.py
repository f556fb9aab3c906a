"""Splitting the slots of families, on an element about which the inputs disagree."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._carry_kernels import carry
from fedbn.consensus._cut_kernels import find_path
from fedbn.consensus._difference_kernels import fill_reached_anew
from fedbn.consensus._engine import (
    ALIKE,
    ANC,
    CH,
    DEAD,
    DES,
    FAMILY,
    K_MAX,
    KIND,
    NA,
    NE,
    OPERATOR,
    ORIGIN,
    OWNER,
    PA,
    REST,
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
from fedbn.consensus._slot_kernels import (
    copy_slot,
    forget,
    is_clique,
    joins_all,
    operator_of,
    size_of,
)
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, popcount, set_bit
from fedbn.kernel_parts import inner

MAX_BLAMED = 160  # inputs that say on which element a family is split


@inner
def _given_neighbours(e: Engine, slot: int, out: Bits) -> None:
    """out := the elements of NA that are in F."""
    number = e.slots[slot, OWNER]
    for w in range(out.shape[0]):
        out[w] = e.sets[slot, F, w] & e.edge_sets[number, NA, w]


@inner
def _close(e: Engine, slot: int, s: Scratch) -> None:
    """Make the slot the one operator that leaves out just H; DEAD if NA \\ H is no clique."""
    for w in range(e.sets.shape[2]):
        e.sets[slot, F, w] |= e.sets[slot, U, w]
        e.sets[slot, U, w] = ZERO
    e.slots[slot, KIND] = OPERATOR
    _given_neighbours(e, slot, s.spare[4])
    if not is_clique(e, s.spare[4]):
        e.bound[slot] = DEAD


@inner
def split(e: Engine, slot: int, s: Scratch) -> int:
    """Split a FAMILY into its operator H and its REST; a REST into S with and without one u.

    The part that stays is in `slot`; the other is in a new slot, the result, or -1. Parts that
    hold no valid operator are DEAD (Chickering: NA \\ H is a clique).
    """
    if e.slots[slot, KIND] == REST:
        return _split_rest(e, slot, s)
    if size_of(e.sets[slot, H]) >= e.limits[K_MAX]:
        forget(e, slot)
        _close(e, slot, s)
        return -1
    made = copy_slot(e, slot)
    _close(e, made, s)
    if e.bound[made] != DEAD:
        carry(e, slot, made, s)
    e.slots[slot, KIND] = REST
    return made


@inner
def _split_rest(e: Engine, slot: int, s: Scratch) -> int:
    """Put u into S in `slot`, and leave it out in the new slot that is returned."""
    whole = operator_of(e, slot)
    u = _dividing_element(e, slot, whole, s)
    made = copy_slot(e, slot)
    clear_bit(e.sets[made, U], u)
    set_bit(e.sets[made, H], u)
    e.slots[made, KIND] = FAMILY
    if size_of(e.sets[made, U]) == 0 or size_of(e.sets[made, H]) >= e.limits[K_MAX]:
        _close(e, made, s)
    if e.bound[made] != DEAD:
        carry(e, slot, made, s)
    _keep_with(e, slot, whole, u, s)
    clear_bit(e.sets[slot, U], u)
    set_bit(e.sets[slot, F], u)
    _given_neighbours(e, slot, s.spare[4])
    if size_of(e.sets[slot, U]) == 0 or not joins_all(e, u, s.spare[4]):
        e.bound[slot] = DEAD
    return made


@inner
def _keep_with(e: Engine, slot: int, whole: int, u: int, s: Scratch) -> None:
    """Which values of a REST stay exact when u enters S, before it does.

    Those of inputs in which u was an ancestor already, and those that equal the cut of the
    operator H (`whole`), whose S is the largest in the family.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    low, alike = e.sets[slot, F], e.limits[ALIKE] <= e.weights.shape[0]
    mostly = False
    if alike:
        mostly = is_inside(e.typical, u, x, y, low)
        for w in range(low.shape[0]):
            s.spare[0, w] = ZERO
        set_bit(s.spare[0], u)
        fill_reached_anew(e, s.spare[0], x, y, low, s)
    for i in range(e.weights.shape[0]):
        value = e.cut[slot, i]
        inside = mostly
        if not alike or has_bit(s.inputs[UNLIKE], i):
            inside = is_inside(e.graphs[i], u, x, y, low)
        if value >= 0 and not inside:
            e.cut[slot, i] = -1 - value
            e.slots[slot, UNKNOWN] += 1
        if e.cut[slot, i] < 0 and whole >= 0 and e.cut[whole, i] == -1 - e.cut[slot, i]:
            e.cut[slot, i] = e.cut[whole, i]
            e.slots[slot, UNKNOWN] -= 1


@inner
def _dividing_element(e: Engine, slot: int, whole: int, s: Scratch) -> int:
    """The undecided element on which to split a REST.

    If NA \\ H is no clique: the one with most non-neighbours there. Otherwise the one that stands
    in the way of most weight: over the inputs in which the operator H is known to cost more than
    the bound, descendants of common children of x and y, which marry them when in S; if none, any
    element that is no ancestor. `whole` is the slot of that operator, or -1.
    """
    number = e.slots[slot, OWNER]
    for k in range(s.score.shape[0]):
        s.score[k] = 0
    in_s = s.spare[4]
    for w in range(in_s.shape[0]):
        high = e.sets[slot, F, w] | e.sets[slot, U, w]
        in_s[w] = high & e.edge_sets[number, NA, w]
    if not is_clique(e, in_s):
        _count_strangers(e, e.sets[slot, U], in_s, s)
    elif whole >= 0:
        blamed = 0
        for i in range(e.weights.shape[0]):
            known = max(e.cut[slot, i], -1 - e.cut[slot, i])
            extra = e.cut[whole, i] - known
            if e.cut[whole, i] >= 0 and extra > 0 and blamed < MAX_BLAMED:
                _blame(e, i, slot, e.weights[i] * extra, s)
                blamed += 1
    return _highest(e.sets[slot, U], s)


@inner
def _count_strangers(e: Engine, nodes: Bits, others: Bits, s: Scratch) -> None:
    """Add to the score of every one of `nodes` how many of `others` it is not adjacent to in P."""
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(nodes.shape[0]):
                joined = e.p[PA, u, k] | e.p[CH, u, k] | e.p[NE, u, k]
                s.score[u] += np.int64(popcount(others[k] & ~joined))


@inner
def _blame(e: Engine, i: int, slot: int, weight: int, s: Scratch) -> None:
    """Add `weight` to the undecided elements that make input i disagree with its bound.

    Descendants of common children of x and y; else what opens a path that F alone leaves closed;
    else any that is no ancestor.
    """
    g = e.graphs[i]
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    found = False
    for w in range(g.shape[2]):
        word = g[CH, x, w] & g[CH, y, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            found = _blame_below(e, g, slot, c, weight, s) or found
    if not found and not _blame_path(e, g, slot, weight, s):
        for w in range(g.shape[2]):
            word = e.sets[slot, U, w] & ~(g[ANC, x, w] | g[ANC, y, w])
            while word != ZERO:
                s.score[(w << 6) + np.int64(first_bit(word))] += weight
                word &= word - ONE


@inner
def _blame_below(e: Engine, g: Bits, slot: int, c: int, weight: int, s: Scratch) -> bool:
    """Add `weight` to the undecided descendants of c; whether there are any."""
    found = False
    for w in range(g.shape[2]):
        word = g[DES, c, w] & e.sets[slot, U, w]
        while word != ZERO:
            found = True
            s.score[(w << 6) + np.int64(first_bit(word))] += weight
            word &= word - ONE
    return found


@inner
def _blame_path(e: Engine, g: Bits, slot: int, weight: int, s: Scratch) -> bool:
    """Blame what opens a shortest path from x to y given F + U; whether there is such a thing.

    An edge of the path that is not there given F: an end or a common child of its ends enters the
    ancestral set with its undecided descendants.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    found, low = False, e.sets[slot, F]
    for w in range(low.shape[0]):
        s.spare[0, w] = low[w] | e.sets[slot, U, w]
        s.spare[1, w] = ZERO
    if not find_path(g, x, y, s.spare[0], s.spare[1], s):
        return False
    c = x
    while c != y:
        v = s.lists[ORIGIN, c]
        for w in range(g.shape[2]):
            word = g[CH, v, w] & g[CH, c, w]
            if w == v >> 6:
                word |= g[CH, c, w] & (ONE << np.uint64(v & 63))
            if w == c >> 6:
                word |= g[CH, v, w] & (ONE << np.uint64(c & 63))
            while word != ZERO:
                child = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                if not is_inside(g, child, x, y, low):
                    found = _blame_below(e, g, slot, child, weight, s) or found
        c = v
    return found


@inner
def _highest(nodes: Bits, s: Scratch) -> int:
    """The first of `nodes` with the highest score."""
    best = -1
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if best < 0 or s.score[u] > s.score[best]:
                best = u
    return best
