"""Kernels of the layered decision diagram; see `diagram.py`, and `_state_kernels.py` for states."""

# mypy: disable-error-code="assignment, return-value"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Floats, Ints, Ints32
from fedbn.credible._state_kernels import (
    ONE,
    Bound,
    Scratch,
    can_end,
    cheapest_alive,
    completion_bound,
    demand_bound,
    fits,
    keep_misfits,
    place,
    price_of,
)
from fedbn.kernel_door import door


@door
def _hash(key: Bits) -> np.uint64:
    value = np.uint64(0x9E3779B97F4A7C15)
    for word in key:
        value ^= word
        value *= np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    return value


@door
def _slot(keys: Bits, key: Bits, table: Ints32) -> int:
    """The slot of `table` that holds the state `key`, or the free one where it would go."""
    mask = table.size - 1
    slot = np.int64(_hash(key) & np.uint64(mask))
    while table[slot] >= 0:
        row = keys[table[slot]]
        same = True
        for w in range(key.size):
            if row[w] != key[w]:
                same = False
                break
        if same:
            return int(slot)
        slot = (slot + 1) & mask
    return int(slot)


@door
def _rehash(keys: Bits, number: int, size: int) -> Ints32:
    table = np.full(size, -1, dtype=np.int32)
    for k in range(number):
        slot = np.int64(_hash(keys[k]) & np.uint64(size - 1))
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = k
    return table


@door
def _min_fitting_cost(
    v: int, start: Ints, cost: Floats, bits: Bits, words: int, state: Bits
) -> float:
    """The least cost of a family that v may take now; infinite if there is none."""
    least = np.inf
    for f in range(start[v], start[v + 1]):
        if fits(f, bits, words, state):
            least = min(least, cost[f])
    return float(least)


@door
def expand(
    keys: Bits,
    reach: Floats,
    start: Ints,
    cost: Floats,
    bits: Bits,
    bound: Bound,
    limit: float,
    max_states: int,
    stop: NDArray[np.uint8],
) -> tuple[Bits, Floats, Floats, Ints32, Ints32, Ints32, bool]:
    """All states one step below the layer `keys` [S, Wu + Wf], merged, and the arcs to them.

    A vertex v may be placed next iff no smaller unplaced vertex w would be placed by its smallest
    label first, whatever family w still may take: every such w keeps only the families that are
    not inside U. Each DAG so has one path, its topological order with the smallest labels first.

    Parameters: `reach` [S] least cost to each state; `start` [m + 1]; states beyond `limit` by the
    bound are left out; at most `max_states` new states; `stop` [1] ends it from outside.
    Returns (keys, reach, bounds, arc source, arc family, arc target, whether all fitted).
    """
    m, words, width = start.size - 1, bits.shape[1], keys.shape[1]
    new = np.empty((1024, width), dtype=np.uint64)
    values = np.empty((2, 1024))  # reach and bound of the new states
    arcs = np.empty((3, 4096), dtype=np.int32)  # source, family, target
    table = np.full(4096, -1, dtype=np.int32)
    scratch = Scratch(
        np.zeros(bound.duals.size, dtype=np.uint64), np.zeros(m), np.zeros(words, dtype=np.uint64)
    )
    state, key = np.empty(width, dtype=np.uint64), np.empty(width, dtype=np.uint64)
    number, size = 0, 0
    for s in range(keys.shape[0]):
        if stop[0]:
            return (
                new[:0],
                values[0, :0],
                values[1, :0],
                arcs[0, :0],
                arcs[1, :0],
                arcs[2, :0],
                False,
            )
        state[:] = keys[s]
        for v in range(m):
            if (state[v >> 6] >> np.uint64(v & 63)) & ONE:
                continue
            least = _min_fitting_cost(v, start, cost, bits, words, state)
            if least < np.inf:
                place(v, start, words, state, key)
                slot = _slot(new, key, table)
                at = table[slot]
                if at >= 0:
                    room = limit - reach[s] - values[1, at]
                else:
                    ahead = completion_bound(key, start, words, bound, scratch)
                    room = limit - reach[s] - ahead
                    if least > room or not can_end(key, start, bits, bound, scratch, room - least):
                        room = -np.inf
                    elif number == max_states:
                        return (
                            new[:0], values[0, :0], values[1, :0],
                            arcs[0, :0], arcs[1, :0], arcs[2, :0], False,
                        )  # fmt: skip
                    else:
                        if number == new.shape[0]:
                            new = np.concatenate((new, np.empty_like(new)))
                            values = np.concatenate((values, np.empty_like(values)), axis=1)
                        at = np.int32(number)
                        new[number] = key
                        values[0, number], values[1, number] = np.inf, ahead
                        table[slot] = at
                        number += 1
                        if 2 * number > table.size:
                            table = _rehash(new, number, 2 * table.size)
                if at >= 0:
                    values[0, at] = min(values[0, at], reach[s] + least)
                for f in range(start[v], start[v + 1]):
                    if cost[f] <= room and fits(f, bits, words, state):
                        if size == arcs.shape[1]:
                            arcs = np.concatenate((arcs, np.empty_like(arcs)), axis=1)
                        arcs[0, size], arcs[1, size], arcs[2, size] = s, f, at
                        size += 1
            if not keep_misfits(v, start, bits, words, state):
                break
    return (
        new[:number].copy(), values[0, :number].copy(), values[1, :number].copy(),
        arcs[0, :size].copy(), arcs[1, :size].copy(), arcs[2, :size].copy(), True,
    )  # fmt: skip


@door
def drop_unaffordable(
    keys: Bits,
    reach: Floats,
    start: Ints,
    bits: Bits,
    bound: Bound,
    limit: float,
    stop: NDArray[np.uint8],
) -> None:
    """Take from each state [S] the families that no DAG within the limit has after it.

    Parameters as in `expand`. States that differ in such families alone become equal.
    """
    m, words = start.size - 1, bits.shape[1]
    scratch = Scratch(
        np.zeros(bound.duals.size, dtype=np.uint64), np.zeros(m), np.zeros(words, dtype=np.uint64)
    )
    for s in range(keys.shape[0]):
        if stop[0]:
            break
        key = keys[s]
        with_k, paid = np.int64(0), 0.0
        if bound.rest.size:
            with_k, paid, total = demand_bound(key, start, words, bound)
        else:
            total = completion_bound(key, start, words, bound, scratch)
        for v in range(m):
            if (key[v >> 6] >> np.uint64(v & 63)) & ONE:
                continue
            if bound.rest.size == 0:
                others = total - scratch.best[v]
            elif (with_k >> v) & 1:
                others = total - cheapest_alive(v, key, start, words, bound)
            else:
                others = paid + bound.rest[with_k | (1 << v)]
            room = limit - reach[s] - others
            for f in range(start[v], start[v + 1]):
                price = bound.reduced[f]
                if price <= room and bound.rest.size == 0:
                    price = price_of(f, bound, scratch.met)
                if price > room:
                    key[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))
