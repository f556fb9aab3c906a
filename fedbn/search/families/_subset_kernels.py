"""Dynamic programming over subsets of m nodes; subsets are numbers, bit i is node i.

F(U) is the least cost of a DAG over U whose families stay in U; R(U) the least cost of adding all
other nodes after U. Both come from B_i(U), the least cost of a family of i inside U, kept over the
other m - 1 nodes only (bit i taken out).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats
from fedbn.kernel_door import door

BLOCK = 14  # bits of a stretch that stays in the processor's cache


@door
def without(subset: int, i: int) -> int:
    """The subset as a number over all nodes but i: bit i is taken out."""
    low = (1 << i) - 1
    return (subset & low) | ((subset >> (i + 1)) << i)


@door
def minimise(row: Floats) -> None:
    """row[u] := min over the subsets of u, stretch by stretch so that each is read in cache."""
    stretch = min(row.size, 1 << BLOCK)
    for block in range(row.size // stretch):
        first = block * stretch
        step = 1
        while step < stretch:
            for base in range(first, first + stretch, 2 * step):
                _lower(row[base : base + step], row[base + step : base + 2 * step])
            step *= 2
        done = block + 1
        while done % 2 == 0:
            base = first + stretch - 2 * step
            _lower(row[base : base + step], row[base + step : base + 2 * step])
            step *= 2
            done //= 2


@door
def _lower(less: Floats, more: Floats) -> None:
    for u in range(less.size):
        more[u] = less[u] if less[u] < more[u] else more[u]


@door
def best_families(node: NDArray[np.int32], cost: Floats, mask: NDArray[np.int64], m: int) -> Floats:
    """B [m, 2^(m-1)]: the least cost of a family within each subset (minimum over subsets)."""
    table = np.full((m, 1 << (m - 1)), np.inf)
    for f in range(node.size):
        i = node[f]
        place = without(mask[f], i)
        table[i, place] = min(table[i, place], cost[f])
    for i in range(m):
        minimise(table[i])
    return table


@door
def forward(table: Floats, m: int) -> Floats:
    """F [2^m]."""
    best = np.full(1 << m, np.inf)
    best[0] = 0.0
    for u in range(1, 1 << m):
        least = np.inf
        for i in range(m):
            if u >> i & 1:
                value = best[u ^ (1 << i)] + table[i, without(u, i)]
                least = min(least, value)
        best[u] = least
    return best


@door
def backward(table: Floats, m: int) -> Floats:
    """R [2^m]."""
    full = (1 << m) - 1
    rest = np.full(1 << m, np.inf)
    rest[full] = 0.0
    for u in range(full - 1, -1, -1):
        least = np.inf
        for i in range(m):
            if not u >> i & 1:
                value = rest[u | (1 << i)] + table[i, without(u, i)]
                least = min(least, value)
        rest[u] = least
    return rest


@door
def marginals(
    node: NDArray[np.int32],
    cost: Floats,
    mask: NDArray[np.int64],
    best: Floats,
    rest: Floats,
    m: int,
) -> Floats:
    """[families]: the least cost of a DAG that uses each family, min over U ⊇ P without i of
    F(U) + cost + R(U ∪ i)."""
    half = 1 << (m - 1)
    out = np.empty(node.size)
    around = np.empty(half)
    for i in range(m):
        bit_i = 1 << i
        low = bit_i - 1
        for place in range(half):
            u = (place & low) | ((place >> i) << (i + 1))
            around[place] = best[u] + rest[u | bit_i]
        for b in range(m - 1):
            bit = 1 << b
            for base in range(0, half, 2 * bit):
                for u in range(base, base + bit):
                    if around[u + bit] < around[u]:
                        around[u] = around[u + bit]
        for f in range(node.size):
            if node[f] == i:
                out[f] = cost[f] + around[without(mask[f], i)]
    return out


@door
def optimal_order(table: Floats, best: Floats, m: int) -> NDArray[np.int64]:
    """An order of the nodes that reaches F of all of them; the largest index last on ties."""
    order = np.empty(m, dtype=np.int64)
    u = (1 << m) - 1
    for at in range(m - 1, -1, -1):
        for i in range(m - 1, -1, -1):
            if u >> i & 1 and best[u] == best[u ^ (1 << i)] + table[i, without(u, i)]:
                order[at] = i
                u ^= 1 << i
                break
    return order
