"""The cached cuts of the slots: computing and invalidating them exactly."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._carry_kernels import carry
from fedbn.consensus._cut_kernels import least_cut_bits
from fedbn.consensus._engine import (
    AFTER,
    ALIKE,
    CLIP,
    CROSSED,
    DEAD,
    FAMILY,
    FIRST,
    K_MAX,
    KIND,
    LEFT,
    MEDIAN,
    NA,
    OPERATOR,
    OWNER,
    PAX,
    UNKNOWN,
    UNLIKE,
    USED_SLOTS,
    Engine,
    F,
    H,
    Scratch,
    U,
    X,
    Y,
)
from fedbn.consensus._slot_kernels import (
    at_least,
    change,
    free_chain,
    median_bound,
    new_slot,
    size_of,
)
from fedbn.consensus._typical_kernels import fill_unlike, may_change, may_cross
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, has_bit, set_bit
from fedbn.kernel_parts import inner


@inner
def evaluate(e: Engine, slot: int, limit: int, stride: int, s: Scratch) -> int:
    """Replace bounds by minimum cuts, input by input, until the bound exceeds `limit`; cuts made.

    Only every `stride`-th input is looked at.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    more = e.limits[K_MAX] - size_of(e.sets[slot, H])
    made = 0
    left = s.inputs[LEFT]
    if e.slots[slot, UNKNOWN] >= e.limits[ALIKE] * stride:
        made = _evaluate_alike(e, slot, limit, stride, s)
    else:
        _fill_unknown(e, slot, stride, left)
    for k in range(left.shape[0]):
        word = left[k]
        while word != ZERO and e.bound[slot] <= limit:
            i = (k << 6) + np.int64(first_bit(word))
            word &= word - ONE
            value = least_cut_bits(e.graphs[i], x, y, e.sets[slot, F], e.sets[slot, U], more, s)
            change(e, slot, i, -1 - e.cut[slot, i], min(value, e.limits[CLIP]))
            e.slots[slot, UNKNOWN] -= 1
            made += 1
    return made


@inner
def _fill_unknown(e: Engine, slot: int, stride: int, out: Bits) -> None:
    """out := of every `stride`-th input, those whose cut is not known."""
    for k in range(out.shape[0]):
        out[k] = ZERO
    for i in range(0, e.weights.shape[0], stride):
        if e.cut[slot, i] < 0:
            set_bit(out, i)


@inner
def _evaluate_alike(e: Engine, slot: int, limit: int, stride: int, s: Scratch) -> int:
    """The minimum cut of the typical graph, for all inputs that have the same; cuts made, one.

    The others are in s.inputs[LEFT]. An input of which as much is known as the typical cut has that
    one if no new edges leave a side of it; one of which less is known, if all rows are the same.
    """
    number = e.slots[slot, OWNER]
    x, y = e.edges[number, X], e.edges[number, Y]
    low, free = e.sets[slot, F], e.sets[slot, U]
    more = e.limits[K_MAX] - size_of(e.sets[slot, H])
    value = min(least_cut_bits(e.typical, x, y, low, free, more, s), e.limits[CLIP])
    certain = size_of(free) > more
    fill_unlike(e, slot, value, certain, s)
    left = s.inputs[LEFT]
    for k in range(left.shape[0]):
        left[k] = ZERO
    for i in range(0, e.weights.shape[0], stride):
        known = -1 - e.cut[slot, i]
        if known < 0:
            continue
        if known == value:
            other = has_bit(s.inputs[CROSSED], i) and may_cross(e, slot, i, value, certain, s)
        elif known < value:
            other = has_bit(s.inputs[UNLIKE], i) and may_change(e, slot, i, certain, s)
        else:
            other = True
        if other:
            set_bit(left, i)
            continue
        change(e, slot, i, known, value)
        e.slots[slot, UNKNOWN] -= 1
        if e.bound[slot] > limit:
            break
    return 1


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
        e.bound[slot] = median_bound(e, slot)
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
                change(e, slot, i, at_least(value), -1 - joined)
