"""Kernels that list the DAGs of a component; states are those of `_state_kernels.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Floats, Ints, Ints32
from fedbn.credible._state_kernels import (
    ONE,
    Bound,
    Scratch,
    can_end,
    completion_bound,
    fits,
    keep_misfits,
    place,
)
from fedbn.kernel_door import door


@door
def is_barred(f: int, node: Ints32, taken: Ints32, bar_start: Ints, barred: Ints32) -> bool:
    """Whether the path already has a family that f must not go with."""
    found = False
    for k in range(bar_start[f], bar_start[f + 1]):
        found |= taken[node[barred[k]]] == barred[k]
    return found


@door
def list_paths(
    layer_offset: Ints,
    arc_start: Ints,
    family: Ints32,
    target: Ints32,
    cost: Floats,
    rest: Floats,
    budget: float,
    at: Ints,
    spent: Floats,
    where: Ints,
    progress: Ints,
    node: Ints32,
    taken: Ints32,
    bar_start: Ints,
    barred: Ints32,
    chosen: Ints32,
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
    max_paths = chosen.shape[0]
    found = 0
    depth = progress[0]
    path = np.empty(m, dtype=np.int32)
    for d in range(max(depth, 0)):
        path[d] = family[at[d] - 1]
    while depth >= 0:
        state = where[depth]
        if depth == m:
            if found == max_paths:
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
        if total + rest[child] > budget or is_barred(family[a], node, taken, bar_start, barred):
            continue
        path[depth] = family[a]
        taken[node[family[a]]] = family[a]
        depth += 1
        spent[depth] = total
        where[depth] = child
        at[depth] = arc_start[child]
    progress[0] = depth
    return found


@door
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
    chosen: Ints32,
    max_steps: int,
    stop: NDArray[np.uint8],
) -> int:
    """List DAGs by depth-first search over the states of `expand`; call again to go on.

    keys [m + 1, Wu + Wf] are the states along the path, position [m + 1, 2] the vertex and the
    family that each depth tries next, ahead [m + 1] the bound of the vertex, progress (depth, or
    -1 when done; steps so far). At most `max_steps` steps. Writes chosen [K, m], families by depth.
    """
    m = start.size - 1
    words = bits.shape[1]
    scratch = Scratch(
        np.zeros(bound.duals.size, dtype=np.uint64), np.zeros(m), np.zeros(words, dtype=np.uint64)
    )
    path = np.empty(m, dtype=np.int32)
    found = 0
    depth = progress[0]
    for d in range(max(depth, 0)):
        path[d] = position[d, 1] - 1
    while depth >= 0 and progress[1] < max_steps and not stop[0]:
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
            go_on = keep_misfits(v, start, bits, words, state)
            position[depth, 0] = v + 1 if go_on else m
            position[depth, 1] = start[v + 1]
            continue
        position[depth, 1] = f + 1
        if f == start[v]:
            place(v, start, words, state, below)
            ahead[depth] = completion_bound(below, start, words, bound, scratch)
            room = limit - spent[depth] - ahead[depth]
            if not can_end(below, start, bits, bound, scratch, max(room, 0.0)):
                ahead[depth] = np.inf
        if spent[depth] + cost[f] + ahead[depth] <= limit and fits(f, bits, words, state):
            place(v, start, words, state, below)
            path[depth] = f
            spent[depth + 1] = spent[depth] + cost[f]
            depth += 1
            position[depth, 0], position[depth, 1] = 0, 0
    progress[0] = depth
    return found
