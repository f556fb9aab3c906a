"""Descents over parent sets, and greedy orders; see `local_search.py` and `pricing.py`."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.kernel_door import door
from fedbn.scores._joint_kernels import local
from fedbn.search.cg_dca._chain_kernels import Model


@door
def difference(
    m: Model, node: int, parents: Bools, clusters: Bools, duals: Floats, sizes: Ints
) -> float:
    """-score(node, parents) + Σ of the duals of clusters that k of the parents are in."""
    members = np.empty(parents.size, dtype=np.int64)
    count = 0
    for j in range(parents.size):
        if parents[j]:
            members[count] = j
            count += 1
    value = -local(m.tables, node, members, count)
    for c in range(duals.size):
        met = 0
        for a in range(count):
            if clusters[c, members[a]]:
                met += 1
        if met >= sizes[c]:
            value += duals[c]
    return float(value)


@door
def _exchange(now: Bools, enter: int, leave: int) -> None:
    """Put one variable in and take one out; -1 for none. The exchange undoes itself."""
    if enter >= 0:
        now[enter] = not now[enter]
    if leave >= 0:
        now[leave] = not now[leave]


@door
def _best_move(
    m: Model, node: int, now: Bools, value: float, clusters: Bools, duals: Floats, sizes: Ints
) -> tuple[int, int, float]:
    """Who enters and who leaves (-1 for none) in the best addition, removal or swap."""
    best, enter, leave = value - 1e-9, -1, -1
    for a in range(-1, now.size):
        if a == node or (a >= 0 and now[a]):
            continue
        for b in range(-1, now.size):
            if (a < 0 and b < 0) or (b >= 0 and not now[b]):
                continue
            _exchange(now, a, b)
            value = difference(m, node, now, clusters, duals, sizes)
            _exchange(now, a, b)
            if value < best:
                best, enter, leave = value, a, b
    return enter, leave, best


@door
def descend(
    m: Model,
    node: int,
    start: Bools,
    clusters: Bools,
    duals: Floats,
    sizes: Ints,
    path: Bools,
    values: Floats,
) -> int:
    """Make the best move until none lowers `difference`.

    path[s], values[s] := the sets on the way, the start first; returns how many.
    """
    now = start.copy()
    path[0] = now
    values[0] = difference(m, node, now, clusters, duals, sizes)
    length = 1
    while length < values.size:
        enter, leave, best = _best_move(m, node, now, values[length - 1], clusters, duals, sizes)
        if enter < 0 and leave < 0:
            break
        _exchange(now, enter, leave)
        path[length] = now
        values[length] = best
        length += 1
    return length


@door
def greedy_order(
    m: Model, node: int, order: Ints, ends: Ints, max_places: int, clusters: Bools, duals: Floats,
    sizes: Ints,
) -> Ints:  # fmt: skip
    """The order with each run of ties (up to ends[k]) sorted by greedy descent of `difference`.

    Only the first `max_places` places are chosen so; the rest stays as it was.
    """
    out = order.copy()
    taken = np.zeros(clusters.shape[1], dtype=np.bool_)
    for k in range(min(max_places, out.size)):
        best, at = np.inf, k
        for b in range(k, ends[k]):
            taken[out[b]] = True
            value = difference(m, node, taken, clusters, duals, sizes)
            taken[out[b]] = False
            if value < best - 1e-9:
                best, at = value, b
        chosen = out[at]
        for b in range(at, k, -1):
            out[b] = out[b - 1]
        out[k] = chosen
        taken[chosen] = True
    return out
