"""The slots: a chain per edge of P, their bounds, and the order in which the search takes them."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._engine import (
    AFTER,
    CH,
    FIRST,
    FREE,
    KIND,
    MEDIAN,
    NE,
    OPERATOR,
    OWNER,
    PA,
    REST,
    UNKNOWN,
    USED_SLOTS,
    Engine,
    F,
    H,
    Integer,
    U,
    X,
    Y,
)
from fedbn.graphs._bit_kernels import ONE, ZERO, first_bit, popcount
from fedbn.kernel_parts import inner


@inner
def size_of(row: Bits) -> int:
    """Number of elements."""
    count = 0
    for w in range(row.shape[0]):
        count += np.int64(popcount(row[w]))
    return count


@inner
def lowest(row: Bits) -> int:
    """The smallest element, or -1."""
    for w in range(row.shape[0]):
        if row[w] != ZERO:
            return (w << 6) + np.int64(first_bit(row[w]))
    return -1


@inner
def joins_all(e: Engine, v: int, nodes: Bits) -> bool:
    """Whether v is adjacent in P to every other one of `nodes`."""
    for w in range(nodes.shape[0]):
        rest = nodes[w] & ~(e.p[PA, v, w] | e.p[CH, v, w] | e.p[NE, v, w])
        if w == v >> 6:
            rest &= ~(ONE << np.uint64(v & 63))
        if rest != ZERO:
            return False
    return True


@inner
def is_clique(e: Engine, nodes: Bits) -> bool:
    """Whether all of `nodes` are adjacent to one another in P."""
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if not joins_all(e, v, nodes):
                return False
    return True


@inner
def new_slot(e: Engine, number: int) -> int:
    """Take a free slot and chain it to the edge; -1 when none is free."""
    slot = e.counters[FREE]
    if slot < 0:
        return -1
    e.counters[FREE] = e.slots[slot, AFTER]
    e.counters[USED_SLOTS] = max(e.counters[USED_SLOTS], slot + 1)
    e.slots[slot, OWNER] = number
    e.slots[slot, AFTER] = e.edges[number, FIRST]
    e.edges[number, FIRST] = slot
    return slot


@inner
def free_chain(e: Engine, slot: int) -> None:
    """Give a slot and all that follow it in its chain back."""
    while slot >= 0:
        following = e.slots[slot, AFTER]
        e.slots[slot, OWNER] = -1
        e.slots[slot, AFTER] = e.counters[FREE]
        e.counters[FREE] = slot
        slot = following


@inner
def copy_slot(e: Engine, slot: int) -> int:
    """A new slot of the same edge with the bounds of `slot`, none of them exact."""
    made = new_slot(e, e.slots[slot, OWNER])
    e.slots[made, KIND] = e.slots[slot, KIND]
    e.bound[made] = e.bound[slot]
    for part in range(3):
        for w in range(e.sets.shape[2]):
            e.sets[made, part, w] = e.sets[slot, part, w]
    for i in range(e.cut.shape[1]):
        e.cut[made, i] = e.cut[slot, i]
    forget(e, made)
    return made


@inner
def forget(e: Engine, slot: int) -> None:
    """Exact values of a family are only bounds for its parts."""
    for i in range(e.weights.shape[0]):
        if e.cut[slot, i] >= 0:
            e.cut[slot, i] = -1 - e.cut[slot, i]
    e.slots[slot, UNKNOWN] = e.weights.shape[0]


@inner
def operator_of(e: Engine, slot: int) -> int:
    """The slot of the operator H of a REST, valid or not, or -1."""
    other = e.edges[e.slots[slot, OWNER], FIRST]
    while other >= 0:
        same = e.slots[other, KIND] == OPERATOR
        for w in range(e.sets.shape[2]):
            high = e.sets[slot, F, w] | e.sets[slot, U, w]
            same = same and e.sets[other, F, w] == high
        if same:
            return other
        other = e.slots[other, AFTER]
    return -1


@inner
def comes_before(e: Engine, a: int, b: int) -> bool:
    """Order of slots: bound, then the first (x, y, |H|, H) that they hold."""
    if e.bound[a] != e.bound[b]:
        return e.bound[a] < e.bound[b]
    p, q = e.slots[a, OWNER], e.slots[b, OWNER]
    if p != q:
        if e.edges[p, X] != e.edges[q, X]:
            return e.edges[p, X] < e.edges[q, X]
        return e.edges[p, Y] < e.edges[q, Y]
    more_a = lowest(e.sets[a, U]) if e.slots[a, KIND] == REST else -1
    more_b = lowest(e.sets[b, U]) if e.slots[b, KIND] == REST else -1
    size_a = size_of(e.sets[a, H]) + (more_a >= 0)
    size_b = size_of(e.sets[b, H]) + (more_b >= 0)
    if size_a != size_b:
        return size_a < size_b
    for w in range(e.sets.shape[2]):
        row_a, row_b = e.sets[a, H, w], e.sets[b, H, w]
        if more_a >> 6 == w:
            row_a |= ONE << np.uint64(more_a & 63)
        if more_b >> 6 == w:
            row_b |= ONE << np.uint64(more_b & 63)
        different = row_a ^ row_b
        if different != ZERO:
            return row_a & different & (~different + ONE) != ZERO
    return False


@inner
def at_least(cut: Integer) -> int:
    """What is known of a cut, exact or not."""
    return np.int64(cut) if cut >= 0 else -1 - np.int64(cut)


@inner
def median_bound(e: Engine, slot: int) -> int:
    """The sum of the weights times the lower weighted median of what is known of the cuts."""
    total = 0
    for i in range(e.weights.shape[0]):
        total += e.weights[i]
    value = 0
    while True:
        below = 0
        for i in range(e.weights.shape[0]):
            if at_least(e.cut[slot, i]) <= value:
                below += e.weights[i]
        if 2 * below >= total:
            return value * total
        value += 1


@inner
def change(e: Engine, slot: int, i: int, old: int, cut: int) -> None:
    """Write a cut of which `old` was known and keep the bound."""
    new = cut if cut >= 0 else -1 - cut
    e.cut[slot, i] = cut
    if e.limits[MEDIAN] == 0:
        e.bound[slot] += e.weights[i] * (new - old)
    elif new != old:
        e.bound[slot] = median_bound(e, slot)
