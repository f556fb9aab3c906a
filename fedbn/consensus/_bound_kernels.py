"""The cached cuts of the slots: computing, carrying over, and invalidating them exactly."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import is_inside, min_cut_bits
from fedbn.consensus._engine import (
    AFTER,
    ALIKE,
    CH,
    CLIP,
    DEAD,
    DES,
    FAMILY,
    FIRST,
    INSIDE,
    K_MAX,
    KIND,
    MEDIAN,
    NA,
    OPERATOR,
    OWNER,
    PAX,
    ROW,
    UNKNOWN,
    USED_SLOTS,
    Engine,
    F,
    H,
    Integer,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._slot_kernels import free_chain, new_slot, size_of
from fedbn.consensus._typical_kernels import fill_touched, has_same_cut
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, has_bit, inner, popcount


@inner
def _at_least(cut: Integer) -> int:
    """What is known of a cut, exact or not."""
    return np.int64(cut) if cut >= 0 else -1 - np.int64(cut)


@inner
def _median_bound(e: Engine, slot: int) -> int:
    """The sum of the weights times the lower weighted median of what is known of the cuts."""
    total = 0
    for i in range(e.weights.shape[0]):
        total += e.weights[i]
    value = 0
    while True:
        below = 0
        for i in range(e.weights.shape[0]):
            if _at_least(e.cut[slot, i]) <= value:
                below += e.weights[i]
        if 2 * below >= total:
            return value * total
        value += 1


@inner
def _change(e: Engine, slot: int, i: int, old: int, cut: int) -> None:
    """Write a cut of which `old` was known and keep the bound."""
    new = cut if cut >= 0 else -1 - cut
    e.cut[slot, i] = cut
    if e.limits[MEDIAN] == 0:
        e.bound[slot] += e.weights[i] * (new - old)
    elif new != old:
        e.bound[slot] = _median_bound(e, slot)


@inner
def evaluate(e: Engine, slot: int, limit: int, stride: int, s: Scratch) -> int:
    """Replace bounds by minimum cuts, input by input, until the bound exceeds `limit`; cuts made.

    Only every `stride`-th input is looked at.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    more = e.limits[K_MAX] - size_of(e.sets[slot, H])
    made = 0
    if e.slots[slot, UNKNOWN] >= e.limits[ALIKE] * stride:
        made = _evaluate_alike(e, slot, limit, stride, s)
        if e.bound[slot] > limit:
            return made
    for i in range(0, e.weights.shape[0], stride):
        if e.cut[slot, i] >= 0:
            continue
        g = e.graphs[i]
        value = min_cut_bits(g, x, y, e.sets[slot, F], e.sets[slot, U], s)
        if e.slots[slot, KIND] != OPERATOR and _surely_married(g, x, y, e.sets[slot, U], more, s):
            value += 1
        _change(e, slot, i, -1 - e.cut[slot, i], min(value, e.limits[CLIP]))
        e.slots[slot, UNKNOWN] -= 1
        made += 1
        if e.bound[slot] > limit:
            break
    return made


@inner
def _evaluate_alike(e: Engine, slot: int, limit: int, stride: int, s: Scratch) -> int:
    """The minimum cut of the typical graph, for all inputs that have the same; cuts made, one.

    The slot's family is married for sure in an input or not: that is looked at in every one.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    low, touched = e.sets[slot, F], s.spare[4]
    more = e.limits[K_MAX] - size_of(e.sets[slot, H])
    found = min_cut_bits(e.typical, x, y, low, e.sets[slot, U], s)
    fill_touched(s, touched)
    for i in range(0, e.weights.shape[0], stride):
        if e.cut[slot, i] >= 0 or not has_same_cut(e, i, x, y, low, touched, s):
            continue
        value, g = found, e.graphs[i]
        if e.slots[slot, KIND] != OPERATOR and _surely_married(g, x, y, e.sets[slot, U], more, s):
            value += 1
        _change(e, slot, i, -1 - e.cut[slot, i], min(value, e.limits[CLIP]))
        e.slots[slot, UNKNOWN] -= 1
        if e.bound[slot] > limit:
            break
    return 1


@inner
def _surely_married(g: Bits, x: int, y: int, undecided: Bits, more: int, s: Scratch) -> bool:
    """Bound 4, after the family's cut in input g was computed: whether x - y is one more edge."""
    if has_bit(s.rows[ROW, x], y):
        return False
    for w in range(g.shape[2]):
        word = g[CH, x, w] & g[CH, y, w] & ~s.sets[INSIDE, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            below = 0
            for k in range(g.shape[2]):
                below += np.int64(popcount(g[DES, c, k] & undecided[k]))
            if below > more:
                return True
    return False


@inner
def all_inside(g: Bits, nodes: Bits, x: int, y: int, given: Bits) -> bool:
    """Whether all of `nodes` are in An({x, y} + given) of input g."""
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if not is_inside(g, v, x, y, given):
                return False
    return True


@inner
def _some_inside(g: Bits, nodes: Bits, x: int, y: int, given: Bits) -> bool:
    """Whether one of `nodes` is in An({x, y} + given) of input g."""
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if is_inside(g, v, x, y, given):
                return True
    return False


@inner
def carry(e: Engine, source: int, target: int, s: Scratch) -> None:
    """Bound 5: what is known of the cuts of `source`, for another slot of the same edge.

    The graph of (low', high') is a subgraph of that of (low, high) if low' - low is in
    An({x, y} + low) and nothing of high - high' in An({x, y} + low'), and the same graph if also
    low - low' is in An({x, y} + low') and nothing of high' - high in An({x, y} + low).
    """
    number = e.slots[source, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    low, old_low = e.sets[target, F], e.sets[source, F]
    low_lost, low_new, high_lost, high_new = s.spare[0], s.spare[1], s.spare[2], s.spare[3]
    for w in range(low.shape[0]):
        high, old_high = low[w] | e.sets[target, U, w], old_low[w] | e.sets[source, U, w]
        low_lost[w] = old_low[w] & ~low[w]
        low_new[w] = low[w] & ~old_low[w]
        high_lost[w] = old_high & ~high
        high_new[w] = high & ~old_high
    for i in range(e.weights.shape[0]):
        cut, known = e.cut[source, i], e.cut[target, i]
        if known >= 0 or (cut < 0 and cut >= known):
            continue
        g = e.graphs[i]
        if not all_inside(g, low_lost, x, y, low) or _some_inside(g, high_new, x, y, old_low):
            continue
        bound = max(_at_least(cut), -1 - known)
        if (
            cut >= 0
            and all_inside(g, low_new, x, y, old_low)
            and not _some_inside(g, high_lost, x, y, low)
        ):
            _change(e, target, i, -1 - known, bound)
            e.slots[target, UNKNOWN] -= 1
        else:
            _change(e, target, i, -1 - known, -1 - bound)


@inner
def make_root(e: Engine, number: int, s: Scratch) -> None:
    """Replace the slots of an edge by the one slot that stands for all H.

    Its bounds are those of adjacency, and what the operator that left nothing out, if known, says.
    """
    source = e.edges[number, FIRST]
    while source >= 0 and not _carries(e, source):
        source = e.slots[source, AFTER]
    slot = new_slot(e, number) if source >= 0 else -1
    if slot < 0:
        source = -1
        free_chain(e, e.edges[number, FIRST])
        e.edges[number, FIRST] = -1
        slot = new_slot(e, number)
    for w in range(e.sets.shape[2]):
        e.sets[slot, H, w] = ZERO
        e.sets[slot, F, w] = e.edge_sets[number, PAX, w]
        e.sets[slot, U, w] = e.edge_sets[number, NA, w]
    e.slots[slot, KIND] = FAMILY if size_of(e.edge_sets[number, NA]) > 0 else OPERATOR
    e.slots[slot, UNKNOWN] = e.weights.shape[0]
    for i in range(e.weights.shape[0]):
        e.cut[slot, i] = -1 - e.joined[number, i]
    if e.limits[MEDIAN] == 0:
        e.bound[slot] = e.votes[e.edges[number, X], e.edges[number, Y]]
    else:
        e.bound[slot] = _median_bound(e, slot)
    if source >= 0:
        carry(e, source, slot, s)
        free_chain(e, e.slots[slot, AFTER])
        e.slots[slot, AFTER] = -1


@inner
def _carries(e: Engine, slot: int) -> bool:
    """Whether it is a valid operator with an empty H."""
    operator = e.slots[slot, KIND] == OPERATOR and e.bound[slot] != DEAD
    return operator and size_of(e.sets[slot, H]) == 0


@inner
def invalidate(e: Engine, lost: NDArray[np.int32], changed: int, gone: Bits) -> None:
    """Bound 3: cached values that the lost arcs of an input touch become bounds.

    gone: a row for every such input, and one more for their union.
    """
    union = gone[changed]
    for w in range(gone.shape[1]):
        union[w] = ZERO
        for k in range(changed):
            union[w] |= gone[k, w]
    for slot in range(e.counters[USED_SLOTS]):
        number = e.slots[slot, OWNER]
        if number < 0 or e.bound[slot] == DEAD:
            continue
        x, y = e.edges[number, X], e.edges[number, Y]
        touched = has_bit(union, x) or has_bit(union, y)
        for w in range(gone.shape[1]):
            high = e.sets[slot, F, w] | e.sets[slot, U, w]
            touched = touched or union[w] & high != ZERO
        if not touched:
            continue
        for k in range(changed):
            i = np.int64(lost[k])
            value = e.cut[slot, i]
            if value == 0 or value == -1:
                continue
            joined = e.joined[number, i]
            if value == 1 and joined == 1:
                continue
            touched = has_bit(gone[k], x) or has_bit(gone[k], y)
            for w in range(gone.shape[1]):
                high = e.sets[slot, F, w] | e.sets[slot, U, w]
                touched = touched or gone[k, w] & high != ZERO
            if touched:
                if value >= 0:
                    e.slots[slot, UNKNOWN] += 1
                _change(e, slot, i, _at_least(value), -1 - joined)
