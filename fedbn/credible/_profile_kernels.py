"""Kernels that count the DAGs of a diagram by their excess; see `diagram.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats, Ints, Ints32
from fedbn.kernel_door import door

FITTED, UNFINISHED, UNCOUNTABLE = 0, 1, 2
MAX_WAYS = 2**62


@door
def completion(
    states: int, source: Ints32, family: Ints32, target: Ints32, cost: Floats, rest_below: Floats
) -> Floats:
    """The exact least cost from each state of a layer to the end."""
    rest = np.full(states, np.inf)
    for a in range(source.size):
        value = cost[family[a]] + rest_below[target[a]]
        rest[source[a]] = min(rest[source[a]], value)
    return rest


@door
def profiles(
    states: int,
    arc_start: Ints,
    family: Ints32,
    other: Ints32,
    cost: Floats,
    room: Floats,
    next_start: Ints,
    next_value: Floats,
    next_count: Ints,
    together: float,
    max_values: int,
    stop: NDArray[np.uint8],
) -> tuple[Ints, Floats, Ints, int]:
    """Per state the sorted excesses to one end and how many ways have each.

    `arc_start` [states + 1] groups the arcs by state, `other` is their state at the far side,
    whose profile is next_value[next_start[o] : next_start[o + 1]]. Values above room[state] are
    left out; values within `together` of the smallest of a group are merged into it.
    Returns (starts, values, counts, FITTED or why not: over `max_values` values, or stopped; a
    count beyond MAX_WAYS). No count exceeds the number of DAGs: all that one state's counts go with
    the cheapest way to the far end of it.
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
        if stop[0] or number + found > max_values:
            return starts, values[:0], counts[:0], UNFINISHED
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
                if counts[number - 1] > MAX_WAYS - count[k]:
                    return starts, values[:0], counts[:0], UNCOUNTABLE
                counts[number - 1] += count[k]
            else:
                values[number] = value[k]
                counts[number] = count[k]
                number += 1
        starts[s + 1] = number
    return starts, values[:number].copy(), counts[:number].copy(), FITTED


@door
def sums_between(
    up_start: Ints,
    up_value: Floats,
    up_count: Ints,
    down_start: Ints,
    down_value: Floats,
    down_count: Ints,
    low: float,
    high: float,
    value: Floats,
    count: Ints,
    stop: NDArray[np.uint8],
) -> tuple[int, int]:
    """Write the sums up + down of each state in (low, high] and their ways, not sorted.

    Returns how many, and FITTED or why not: more than value.size, or stopped; beyond MAX_WAYS.
    """
    number = 0
    for s in range(up_start.size - 1):
        if stop[0]:
            return number, UNFINISHED
        first, last = down_start[s], down_start[s + 1]
        for k in range(up_start[s], up_start[s + 1]):
            begin = first
            if low > -np.inf:
                begin += np.searchsorted(down_value[first:last], low - up_value[k], side="right")
            for q in range(begin, last):
                total = up_value[k] + down_value[q]
                if total > high:
                    break
                if total <= low:
                    continue
                if number == value.size:
                    return number, UNFINISHED
                if float(up_count[k]) * float(down_count[q]) > MAX_WAYS:
                    return number, UNCOUNTABLE
                value[number] = total
                count[number] = up_count[k] * down_count[q]
                number += 1
    return number, FITTED


@door
def family_weights(
    source: Ints32,
    family: Ints32,
    target: Ints32,
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
