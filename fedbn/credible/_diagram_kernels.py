"""Kernels of the layered decision diagram; see `diagram.py`.

One component has m nodes and F families, sorted by node; `bits` [F, Wu] are parents inside the
component. A state is a row of words: the Wu words of the set U that is placed, then Wf words of
the families that the unplaced nodes may still take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Small = NDArray[np.int32]
Bits = NDArray[np.uint64]
ONE = np.uint64(1)
ZERO = np.uint64(0)


@njit(cache=True, nogil=True)
def _hash(key: Bits) -> np.uint64:
    value = np.uint64(0x9E3779B97F4A7C15)
    for word in key:
        value ^= word
        value *= np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
    return value


@njit(cache=True, nogil=True)
def _slot(keys: Bits, key: Bits, table: Small) -> int:
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


@njit(cache=True, nogil=True)
def _rehashed(keys: Bits, number: int, size: int) -> Small:
    table = np.full(size, -1, dtype=np.int32)
    for k in range(number):
        slot = np.int64(_hash(keys[k]) & np.uint64(size - 1))
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = k
    return table


@njit(cache=True, nogil=True)
def _grown_ints(old: Small, size: int) -> Small:
    new = np.empty(size, dtype=np.int32)
    new[: old.size] = old
    return new


class Bound(NamedTuple):
    """What bounds the completion of a state from below; all costs are those of the problem.

    With `rest` [2^m] the exact least cost for the placed set; else cluster duals. `lowest` [m]
    is the least cost of each node's families, which excess costs leave out.
    """

    lowest: Floats
    rest: Floats
    least: Floats
    reduced: Floats
    clusters: Bits
    duals: Floats
    cover_start: Ints
    cover: Small


@njit(cache=True, nogil=True)
def _price(f: int, bound: Bound, met: Bits) -> float:
    """Reduced cost of a family plus the duals of the met clusters that it covers."""
    price = bound.reduced[f]
    for k in range(bound.cover_start[f], bound.cover_start[f + 1]):
        if met[bound.cover[k]] != ZERO:
            price += bound.duals[bound.cover[k]]
    return float(price)


@njit(cache=True, nogil=True)
def completion_bound(
    key: Bits, start: Ints, words: int, bound: Bound, met: Bits, best: Floats
) -> float:
    """A lower bound on the excess cost to complete a state; best [m] the price of each node.

    A cluster that U meets has had its node; only clusters outside U still bind.
    """
    m = start.size - 1
    total = 0.0
    for v in range(m):
        if not (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            total -= bound.lowest[v]
    if bound.rest.size:
        return float(total + bound.rest[np.int64(key[0])])
    for c in range(bound.duals.size):
        met[c] = ZERO
        for w in range(words):
            if bound.clusters[c, w] & key[w]:
                met[c] = ONE
                break
        if met[c] == ZERO:
            total += bound.duals[c]
    for v in range(m):
        if (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            continue
        best[v] = np.inf
        for f in range(start[v], start[v + 1]):
            if (key[words + (f >> 6)] >> np.uint64(f & 63)) & ONE and bound.reduced[f] < best[v]:
                best[v] = min(best[v], _price(f, bound, met))
        total += bound.least[v] + best[v]
    return float(total)


@njit(cache=True, nogil=True)
def can_end(
    key: Bits,
    start: Ints,
    bits: Bits,
    bound: Bound,
    met: Bits,
    best: Floats,
    slack: float,
    placed: Bits,
) -> bool:
    """Whether the unplaced nodes can be placed one by one with families that they may take.

    A family dearer than the best of its node by more than the slack cannot be taken.
    """
    m = start.size - 1
    words = bits.shape[1]
    left = 0
    for w in range(words):
        placed[w] = key[w]
    for v in range(m):
        if not (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            left += 1
    by_price = bound.rest.size == 0
    grown = True
    while left and grown:
        grown = False
        for v in range(m):
            if (placed[v >> 6] >> np.uint64(v & 63)) & ONE:
                continue
            for f in range(start[v], start[v + 1]):
                if not (key[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
                    continue
                inside = True
                for w in range(words):
                    if bits[f, w] & ~placed[w]:
                        inside = False
                        break
                if not inside:
                    continue
                if by_price and (
                    bound.reduced[f] > best[v] + slack or _price(f, bound, met) > best[v] + slack
                ):
                    continue
                placed[v >> 6] |= ONE << np.uint64(v & 63)
                left -= 1
                grown = True
                break
    return left == 0


@njit(cache=True, nogil=True)
def expand(
    keys: Bits,
    reach: Floats,
    start: Ints,
    cost: Floats,
    bits: Bits,
    bound: Bound,
    limit: float,
    most: int,
    stop: NDArray[np.uint8],
) -> tuple[Bits, Floats, Floats, Small, Small, Small, bool]:
    """All states one step below the layer `keys` [S, Wu + Wf], merged, and the arcs to them.

    A vertex v may be placed next iff no smaller unplaced vertex w would be placed by its smallest
    label first, whatever family w still may take: every such w keeps only the families that are
    not inside U. Each DAG so has one path, its topological order with the smallest labels first.

    Parameters: `reach` [S] least cost to each state; `start` [m + 1]; states beyond `limit` by the
    bound are left out; at most `most` new states; `stop` [1] ends it from outside.
    Returns (keys, reach, bounds, arc source, arc family, arc target, whether all fitted).
    """
    m = start.size - 1
    size = cost.size
    words = bits.shape[1]
    width = keys.shape[1]
    wf = width - words
    capacity = 1024
    new_keys = np.empty((capacity, width), dtype=np.uint64)
    new_reach = np.empty(capacity)
    ahead = np.empty(capacity)
    met = np.zeros(bound.duals.size, dtype=np.uint64)
    best = np.zeros(m)
    placed = np.zeros(words, dtype=np.uint64)
    table = np.full(4096, -1, dtype=np.int32)
    number = 0
    source = np.empty(4096, dtype=np.int32)
    family = np.empty(4096, dtype=np.int32)
    target = np.empty(4096, dtype=np.int32)
    arcs = 0
    fits = np.empty(wf, dtype=np.uint64)
    key = np.empty(width, dtype=np.uint64)
    none = np.zeros(0, dtype=np.int32)
    for s in range(keys.shape[0]):
        if stop[0]:
            return new_keys[:0], new_reach[:0], ahead[:0], none, none, none, False
        state = keys[s]
        fits[:] = ZERO
        for f in range(size):
            if (state[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
                inside = True
                for w in range(words):
                    if bits[f, w] & ~state[w]:
                        inside = False
                        break
                if inside:
                    fits[f >> 6] |= ONE << np.uint64(f & 63)
        for w in range(width):
            key[w] = state[w]
        for v in range(m):
            if (state[v >> 6] >> np.uint64(v & 63)) & ONE:
                continue
            first, last = start[v], start[v + 1]
            some, others = False, False
            least = np.inf
            for f in range(first, last):
                word, bit = f >> 6, ONE << np.uint64(f & 63)
                if fits[word] & bit:
                    some = True
                    least = min(least, cost[f])
                elif state[words + word] & bit:
                    others = True
            if some:
                for f in range(first, last):
                    key[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))
                key[v >> 6] |= ONE << np.uint64(v & 63)
                slot = _slot(new_keys, key, table)
                at = table[slot]
                room = limit - reach[s]
                if at >= 0:
                    room -= ahead[at]
                else:
                    value = completion_bound(key, start, words, bound, met, best)
                    room -= value
                    if least <= room and not can_end(
                        key, start, bits, bound, met, best, room - least, placed
                    ):
                        room = -np.inf
                if at < 0 and least <= room:
                    if number == most:
                        return new_keys[:0], new_reach[:0], ahead[:0], none, none, none, False
                    if number == capacity:
                        capacity *= 2
                        wider = np.empty((capacity, width), dtype=np.uint64)
                        wider[:number] = new_keys
                        new_keys = wider
                        longer = np.empty(capacity)
                        longer[:number] = new_reach
                        new_reach = longer
                        further = np.empty(capacity)
                        further[:number] = ahead
                        ahead = further
                    at = np.int32(number)
                    new_keys[number] = key
                    new_reach[number] = np.inf
                    ahead[number] = value
                    table[slot] = at
                    number += 1
                    if 2 * number > table.size:
                        table = _rehashed(new_keys, number, 2 * table.size)
                if at >= 0:
                    new_reach[at] = min(new_reach[at], reach[s] + least)
                for f in range(first, last):
                    if fits[f >> 6] & (ONE << np.uint64(f & 63)) and cost[f] <= room:
                        if arcs == source.size:
                            source = _grown_ints(source, 2 * arcs)
                            family = _grown_ints(family, 2 * arcs)
                            target = _grown_ints(target, 2 * arcs)
                        source[arcs], family[arcs], target[arcs] = s, f, at
                        arcs += 1
                for f in range(first, last):
                    bit = ONE << np.uint64(f & 63)
                    key[words + (f >> 6)] |= state[words + (f >> 6)] & bit
                key[v >> 6] &= ~(ONE << np.uint64(v & 63))
            if not others:
                break
            # From here on v stays unplaced while a larger vertex is placed.
            for f in range(first, last):
                bit = ONE << np.uint64(f & 63)
                if fits[f >> 6] & bit:
                    key[words + (f >> 6)] &= ~bit
    return (
        new_keys[:number].copy(),
        new_reach[:number].copy(),
        ahead[:number].copy(),
        source[:arcs].copy(),
        family[:arcs].copy(),
        target[:arcs].copy(),
        True,
    )


@njit(cache=True, nogil=True)
def completion(
    states: int, source: Small, family: Small, target: Small, cost: Floats, rest_below: Floats
) -> Floats:
    """The exact least cost from each state of a layer to the end."""
    rest = np.full(states, np.inf)
    for a in range(source.size):
        value = cost[family[a]] + rest_below[target[a]]
        rest[source[a]] = min(rest[source[a]], value)
    return rest


@njit(cache=True, nogil=True)
def profiles(
    states: int,
    arc_start: Ints,
    family: Small,
    other: Small,
    cost: Floats,
    room: Floats,
    next_start: Ints,
    next_value: Floats,
    next_count: Ints,
    together: float,
    most: int,
    stop: NDArray[np.uint8],
) -> tuple[Ints, Floats, Ints, bool]:
    """Per state the sorted excesses to one end and how many ways have each.

    `arc_start` [states + 1] groups the arcs by state, `other` is their state at the far side,
    whose profile is next_value[next_start[o] : next_start[o + 1]]. Values above room[state] are
    left out; values within `together` of the smallest of a group are merged into it.
    Returns (starts, values, counts, whether at most `most` values sufficed and none stopped it).
    """
    starts = np.zeros(states + 1, dtype=np.int64)
    values = np.empty(1024)
    counts = np.empty(1024, dtype=np.int64)
    number = 0
    for s in range(states):
        gathered = 0
        for a in range(arc_start[s], arc_start[s + 1]):
            gathered += next_start[other[a] + 1] - next_start[other[a]]
        value = np.empty(gathered)
        count = np.empty(gathered, dtype=np.int64)
        found = 0
        for a in range(arc_start[s], arc_start[s + 1]):
            shift = cost[family[a]]
            for k in range(next_start[other[a]], next_start[other[a] + 1]):
                if shift + next_value[k] > room[s]:
                    break
                value[found] = shift + next_value[k]
                count[found] = next_count[k]
                found += 1
        order = np.argsort(value[:found])
        if stop[0] or number + found > most:
            return starts, values[:0], counts[:0], False
        if number + found > values.size:
            capacity = max(2 * values.size, number + found)
            longer = np.empty(capacity)
            longer[:number] = values[:number]
            values = longer
            more = np.empty(capacity, dtype=np.int64)
            more[:number] = counts[:number]
            counts = more
        first = number
        for k in order:
            if number > first and value[k] - values[number - 1] <= together:
                counts[number - 1] += count[k]
            else:
                values[number] = value[k]
                counts[number] = count[k]
                number += 1
        starts[s + 1] = number
    return starts, values[:number].copy(), counts[:number].copy(), True


@njit(cache=True, nogil=True)
def family_weights(
    source: Small,
    family: Small,
    target: Small,
    cost: Floats,
    budget: float,
    up_start: Ints,
    up_value: Floats,
    up_count: Ints,
    down_start: Ints,
    down_value: Floats,
    down_count: Ints,
    other_value: Floats,
    other_weight: Floats,
    weights: Floats,
) -> None:
    """Add to weights [F] the Σ exp(-excess) of the paths of this layer through each family.

    A path of excess x counts exp(-x) times the weight that the other components leave:
    other_weight[k] for the last k with other_value[k] ≤ budget - x.
    """
    for a in range(source.size):
        s, t = source[a], target[a]
        total = 0.0
        for k in range(up_start[s], up_start[s + 1]):
            base = up_value[k] + cost[family[a]]
            for q in range(down_start[t], down_start[t + 1]):
                x = base + down_value[q]
                if x > budget:
                    break
                left = np.searchsorted(other_value, budget - x, side="right") - 1
                if left < 0:
                    break
                total += float(up_count[k]) * float(down_count[q]) * np.exp(-x) * other_weight[left]
        weights[family[a]] += total


@njit(cache=True, nogil=True)
def _is_barred(f: int, node: Small, taken: Small, bar_start: Ints, barred: Small) -> bool:
    """Whether the path already has a family that f must not go with."""
    found = False
    for k in range(bar_start[f], bar_start[f + 1]):
        found |= taken[node[barred[k]]] == barred[k]
    return found


@njit(cache=True, nogil=True)
def list_paths(
    layer_offset: Ints,
    arc_start: Ints,
    family: Small,
    target: Small,
    cost: Floats,
    rest: Floats,
    budget: float,
    at: Ints,
    spent: Floats,
    where: Ints,
    progress: Ints,
    node: Small,
    taken: Small,
    bar_start: Ints,
    barred: Small,
    chosen: Small,
    excess: Floats,
) -> int:
    """List paths of excess ≤ budget, depth first; call again to go on.

    All layers are concatenated: the state `s` of layer d is `layer_offset[d] + s`, its arcs are
    arc_start[state] to arc_start[state + 1] - 1. `at` [m + 1] holds the next arc per depth,
    `spent`, `where` the excess and state per depth, progress[0] the depth (-1: done). `node` [F]
    and `taken` [m] (scratch) are nodes of families and families of nodes; a path has no family f
    together with one of barred[bar_start[f] : bar_start[f + 1]], whose nodes come before f's.
    Writes chosen [K, m] (family by depth) and excess [K]; returns how many.
    """
    m = layer_offset.size - 2
    most = chosen.shape[0]
    found = 0
    depth = progress[0]
    path = np.empty(m, dtype=np.int32)
    for d in range(max(depth, 0)):
        path[d] = family[at[d] - 1]
    while depth >= 0:
        state = where[depth]
        if depth == m:
            if found == most:
                break
            for d in range(m):
                chosen[found, d] = path[d]
            excess[found] = spent[m]
            found += 1
            depth -= 1
            continue
        a = at[depth]
        if a == arc_start[state + 1]:
            depth -= 1
            continue
        at[depth] = a + 1
        child = layer_offset[depth + 1] + target[a]
        total = spent[depth] + cost[family[a]]
        if total + rest[child] > budget or _is_barred(family[a], node, taken, bar_start, barred):
            continue
        path[depth] = family[a]
        taken[node[family[a]]] = family[a]
        depth += 1
        spent[depth] = total
        where[depth] = child
        at[depth] = arc_start[child]
    progress[0] = depth
    return found


@njit(cache=True, nogil=True)
def _fits(f: int, bits: Bits, words: int, state: Bits) -> bool:
    """Whether a family may still be taken and has all its parents placed."""
    missing = (state[words + (f >> 6)] >> np.uint64(f & 63)) & ONE == ZERO
    for w in range(words):
        missing |= bits[f, w] & ~state[w] != ZERO
    return not missing


@njit(cache=True, nogil=True)
def _placed(v: int, start: Ints, words: int, state: Bits, below: Bits) -> None:
    """below := the state after v."""
    below[:] = state
    below[v >> 6] |= ONE << np.uint64(v & 63)
    for f in range(start[v], start[v + 1]):
        below[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))


@njit(cache=True, nogil=True)
def _left_behind(v: int, start: Ints, bits: Bits, words: int, state: Bits) -> bool:
    """Take from v, unless it is placed, the families that fit; whether it has one left."""
    if (state[v >> 6] >> np.uint64(v & 63)) & ONE:
        return True
    others = False
    for f in range(start[v], start[v + 1]):
        if _fits(f, bits, words, state):
            state[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))
        elif (state[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
            others = True
    return others


@njit(cache=True, nogil=True)
def search_paths(
    start: Ints,
    cost: Floats,
    bits: Bits,
    bound: Bound,
    limit: float,
    keys: Bits,
    spent: Floats,
    ahead: Floats,
    position: Ints,
    progress: Ints,
    chosen: Small,
    most: int,
    stop: NDArray[np.uint8],
) -> int:
    """List DAGs by depth-first search over the states of `expand`; call again to go on.

    keys [m + 1, Wu + Wf] are the states along the path, position [m + 1, 2] the vertex and the
    family that each depth tries next, ahead [m + 1] the bound of the vertex, progress (depth, or
    -1 when done; steps so far). At most `most` steps. Writes chosen [K, m], families by depth.
    """
    m = start.size - 1
    words = bits.shape[1]
    met = np.zeros(bound.duals.size, dtype=np.uint64)
    best = np.zeros(m)
    placed = np.zeros(words, dtype=np.uint64)
    path = np.empty(m, dtype=np.int32)
    found = 0
    depth = progress[0]
    for d in range(max(depth, 0)):
        path[d] = position[d, 1] - 1
    while depth >= 0 and progress[1] < most and not stop[0]:
        progress[1] += 1
        if depth == m:
            if found == chosen.shape[0]:
                break
            chosen[found] = path
            found += 1
            depth -= 1
            continue
        v, f = position[depth, 0], position[depth, 1]
        if v == m:
            depth -= 1
            continue
        state, below = keys[depth], keys[depth + 1]
        if f == start[v + 1] or (state[v >> 6] >> np.uint64(v & 63)) & ONE:
            go_on = _left_behind(v, start, bits, words, state)
            position[depth, 0] = v + 1 if go_on else m
            position[depth, 1] = start[v + 1]
            continue
        position[depth, 1] = f + 1
        if f == start[v]:
            _placed(v, start, words, state, below)
            ahead[depth] = completion_bound(below, start, words, bound, met, best)
            room = limit - spent[depth] - ahead[depth]
            if not can_end(below, start, bits, bound, met, best, max(room, 0.0), placed):
                ahead[depth] = np.inf
        if spent[depth] + cost[f] + ahead[depth] <= limit and _fits(f, bits, words, state):
            _placed(v, start, words, state, below)
            path[depth] = f
            spent[depth + 1] = spent[depth] + cost[f]
            depth += 1
            position[depth, 0], position[depth, 1] = 0, 0
    progress[0] = depth
    return found
