"""Elimination orders on bit sets. Public caller: `treewidth.py`.

`around[v]` is the set of neighbours of v, uint64 [n, W], symmetric, without v itself. Eliminating v
joins its neighbours pairwise and takes v out. The kernels change `around`: they are given a copy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, popcount, set_bit
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner


@inner
def _size(row: Bits) -> int:
    count = 0
    for w in range(row.shape[0]):
        count += int(popcount(row[w]))
    return count


@inner
def _eliminate(around: Bits, node: int) -> None:
    words = around.shape[1]
    for w in range(words):
        word = around[node, w]
        while word != ZERO:
            v = (w << 6) + int(first_bit(word))
            word &= word - ONE
            for u in range(words):
                around[v, u] |= around[node, u]
            clear_bit(around[v], v)
            clear_bit(around[v], node)
    for w in range(words):
        around[node, w] = ZERO


@inner
def _fill(around: Bits, node: int, degree: int) -> int:
    """Edges that eliminating the node would add: pairs of neighbours that are not joined."""
    words = around.shape[1]
    joined = 0
    for w in range(words):
        word = around[node, w]
        while word != ZERO:
            v = (w << 6) + int(first_bit(word))
            word &= word - ONE
            for u in range(words):
                joined += int(popcount(around[v, u] & around[node, u]))
    return (degree * (degree - 1) - joined) // 2


@inner
def _next_node(left: Bits, fill: NDArray[np.int64], degree: NDArray[np.int64]) -> int:
    """The node left of least (fill, degree, index)."""
    best = -1
    for v in range(fill.shape[0]):
        if has_bit(left, v):
            fewer = best >= 0 and (
                fill[v] < fill[best] or (fill[v] == fill[best] and degree[v] < degree[best])
            )
            if best < 0 or fewer:
                best = v
    return best


@door
def fill_order(around: Bits) -> tuple[NDArray[np.int64], int]:
    """The order of min-fill, ties by fewest neighbours, then index; and its width.

    Only what is within two edges of an eliminated node can need other fill edges afterwards.
    """
    n, words = around.shape
    order = np.empty(n, dtype=np.int64)
    fill = np.empty(n, dtype=np.int64)
    degree = np.empty(n, dtype=np.int64)
    left = np.zeros(words, dtype=np.uint64)
    stale = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        degree[v] = _size(around[v])
        fill[v] = _fill(around, v, degree[v])
        set_bit(left, v)
    width = 0
    for k in range(n):
        node = _next_node(left, fill, degree)
        order[k] = node
        width = max(width, degree[node])
        clear_bit(left, node)
        stale[:] = around[node]
        for w in range(words):
            word = around[node, w]
            while word != ZERO:
                v = (w << 6) + int(first_bit(word))
                word &= word - ONE
                for u in range(words):
                    stale[u] |= around[v, u]
        _eliminate(around, node)
        for w in range(words):
            word = stale[w] & left[w]
            while word != ZERO:
                v = (w << 6) + int(first_bit(word))
                word &= word - ONE
                degree[v] = _size(around[v])
                fill[v] = _fill(around, v, degree[v])
    return order, width


@door
def cardinality_order(around: Bits) -> NDArray[np.int64]:
    """The reverse of the visits of maximum cardinality search, ties by index."""
    n, words = around.shape
    order = np.empty(n, dtype=np.int64)
    seen = np.zeros(words, dtype=np.uint64)
    count = np.zeros(n, dtype=np.int64)
    for k in range(n - 1, -1, -1):
        node = -1
        for v in range(n):
            if not has_bit(seen, v) and (node < 0 or count[v] > count[node]):
                node = v
        order[k] = node
        set_bit(seen, node)
        for w in range(words):
            word = around[node, w] & ~seen[w]
            while word != ZERO:
                count[(w << 6) + int(first_bit(word))] += 1
                word &= word - ONE
    return order


@door
def order_width(around: Bits, order: NDArray[np.int64]) -> int:
    """Most neighbours that a node has when it is eliminated, along the order."""
    width = 0
    for k in range(order.shape[0]):
        node = order[k]
        width = max(width, _size(around[node]))
        _eliminate(around, node)
    return width
