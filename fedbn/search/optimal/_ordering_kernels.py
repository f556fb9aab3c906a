"""Kernels of the ordering search; see `ordering.py`. Family f has its parents in bits[f, :]."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def first_fit(i: int, placed: Bits, start: Ints, bits: Bits) -> int:
    """The best family of i inside `placed`, or -1."""
    for f in range(start[i], start[i + 1]):
        fits = True
        for w in range(placed.size):
            if bits[f, w] & ~placed[w]:
                fits = False
                break
        if fits:
            return f
    return -1


@njit(cache=True, nogil=True)
def fitted(order: Ints, start: Ints, cost: Floats, bits: Bits, chosen: Ints) -> float:
    """chosen := best family of each node given the order; returns the total (inf if none fits)."""
    placed = np.zeros(bits.shape[1], dtype=np.uint64)
    total = 0.0
    for i in order:
        f = first_fit(i, placed, start, bits)
        chosen[i] = f
        if f < 0:
            return np.inf
        total += cost[f]
        placed[i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return total


@njit(cache=True, nogil=True)
def _cost_within(i: int, placed: Bits, start: Ints, cost: Floats, bits: Bits) -> float:
    f = first_fit(i, placed, start, bits)
    if f < 0:
        return np.inf
    return float(cost[f])


@njit(cache=True, nogil=True)
def insert_descent(order: Ints, start: Ints, cost: Floats, bits: Bits) -> float:
    """Move single nodes to their best place until no move helps; `order` changes in place.

    A node wanders by swaps of neighbours: each swap changes the predecessors of two nodes only.
    """
    n = order.size
    words = bits.shape[1]
    chosen = np.empty(n, dtype=np.int64)
    total = fitted(order, start, cost, bits, chosen)
    improved = True
    while improved:
        improved = False
        for node in range(n):
            place = 0
            while order[place] != node:
                place += 1
            best_gain, best_place = 1e-9, place
            for step in (-1, 1):
                placed = np.zeros(words, dtype=np.uint64)
                for a in range(place):
                    placed[order[a] >> 6] |= np.uint64(1) << np.uint64(order[a] & 63)
                own = _cost_within(node, placed, start, cost, bits)
                gain, at = 0.0, place
                while 0 <= at + step < n:
                    other = order[at + step]
                    word, bit = other >> 6, np.uint64(1) << np.uint64(other & 63)
                    mine, my_bit = node >> 6, np.uint64(1) << np.uint64(node & 63)
                    if step < 0:
                        placed[word] &= ~bit
                    old = own
                    if step < 0:
                        was = _cost_within(other, placed, start, cost, bits)
                        placed[mine] |= my_bit
                        now = _cost_within(other, placed, start, cost, bits)
                        placed[mine] &= ~my_bit
                    else:
                        placed[mine] |= my_bit
                        was = _cost_within(other, placed, start, cost, bits)
                        placed[mine] &= ~my_bit
                        now = _cost_within(other, placed, start, cost, bits)
                        placed[word] |= bit
                    own = _cost_within(node, placed, start, cost, bits)
                    if np.isinf(own) or np.isinf(now) or np.isinf(was) or np.isinf(old):
                        break
                    gain += was + old - now - own
                    at += step
                    if gain > best_gain:
                        best_gain, best_place = gain, at
            if best_place != place:
                step = 1 if best_place > place else -1
                while place != best_place:
                    order[place] = order[place + step]
                    place += step
                order[place] = node
                total -= best_gain
                improved = True
    return fitted(order, start, cost, bits, chosen)
