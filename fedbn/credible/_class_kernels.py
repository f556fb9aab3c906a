"""Keys of equivalence classes inside one component; see `classes.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_door import door

ONE = np.uint64(1)


@door
def _mix(code: np.uint64, lane: np.uint64) -> np.uint64:
    """SplitMix64 of a code; two lanes give 128 bits."""
    z = code * np.uint64(2) + lane
    z = (z + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@door
def class_keys(
    chosen: NDArray[np.int32],
    nodes: NDArray[np.int64],
    bits: Bits,
    start: NDArray[np.int64],
    members: NDArray[np.int32],
    shielded: bool,
) -> Bits:
    """uint64 [K, 2]: equal for equivalent DAGs; different otherwise but for a 2^-128 chance.

    `chosen` [K, m]: families by place of the node in `nodes` [m]. Over all n variables a family
    has the parents members[start[f] : start[f + 1]], as bits in `bits` [F, W]. The key sums codes
    of the edges (undirected inside the component) and of the colliders a -> c <- b with a or b
    inside: those with a, b not adjacent, or all with `shielded` (the paper's coarser count).
    """
    n_dags, m = chosen.shape
    words = bits.shape[1]
    n = np.uint64(words * 64)
    keys = np.zeros((n_dags, 2), dtype=np.uint64)
    inside = np.full(words * 64, -1, dtype=np.int64)
    for a in range(m):
        inside[nodes[a]] = a
    around = np.zeros((m, words), dtype=np.uint64)
    for k in range(n_dags):
        for a in range(m):
            around[a] = bits[chosen[k, a]]
        for a in range(m):
            c = nodes[a]
            f = chosen[k, a]
            for q in range(start[f], start[f + 1]):
                b = inside[members[q]]
                if b >= 0:
                    around[b, c >> 6] |= ONE << np.uint64(c & 63)
        first, second = np.uint64(0), np.uint64(0)
        for a in range(m):
            c = nodes[a]
            f = chosen[k, a]
            for q in range(start[f], start[f + 1]):
                p = members[q]
                low, high = p, c
                if inside[p] >= 0 and c < p:
                    low, high = c, p
                code = (np.uint64(low) * n + np.uint64(high)) * n + n - ONE
                first += _mix(code, np.uint64(0))
                second += _mix(code, np.uint64(1))
                for r in range(start[f], q):
                    o = members[r]
                    adjacent = False
                    if inside[p] >= 0:
                        adjacent = (around[inside[p], o >> 6] >> np.uint64(o & 63)) & ONE != 0
                    elif inside[o] >= 0:
                        adjacent = (around[inside[o], p >> 6] >> np.uint64(p & 63)) & ONE != 0
                    else:
                        continue
                    if shielded or not adjacent:
                        code = ((np.uint64(o) * n + np.uint64(p)) * n + np.uint64(c)) + n * n * n
                        first += _mix(code, np.uint64(0))
                        second += _mix(code, np.uint64(1))
        keys[k, 0], keys[k, 1] = first, second
    return keys
