"""Kernels of the ordering search; see `ordering.py`. Family f has its parents in bits[f, :]."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Floats, Ints
from fedbn.kernel_door import door


@door
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


@door
def fit_order(order: Ints, start: Ints, cost: Floats, bits: Bits, chosen: Ints) -> float:
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


@door
def _cost_within(i: int, placed: Bits, start: Ints, cost: Floats, bits: Bits) -> float:
    f = first_fit(i, placed, start, bits)
    if f < 0:
        return np.inf
    return float(cost[f])


@door
def insert_descent(order: Ints, start: Ints, cost: Floats, bits: Bits) -> float:
    """Move single nodes to their best place until no move helps; `order` changes in place.

    A round of all nodes that does not lower the total is the last one: what then still seems to
    help is rounding. A node wanders by swaps of neighbours: each swap changes the predecessors of
    two nodes only.
    """
    n = order.size
    chosen = np.empty(n, dtype=np.int64)
    total = fit_order(order, start, cost, bits, chosen)
    while True:
        improved = False
        for node in range(n):
            place = 0
            while order[place] != node:
                place += 1
            best = _best_place(place, order, start, cost, bits)
            if best == place:
                continue
            step = 1 if best > place else -1
            while place != best:
                order[place] = order[place + step]
                place += step
            order[place] = node
            improved = True
        before, total = total, fit_order(order, start, cost, bits, chosen)
        if not improved or not total < before:
            return total


@door
def _best_place(place: int, order: Ints, start: Ints, cost: Floats, bits: Bits) -> int:
    """Where the node at `place` lowers the total most; `place` if nowhere."""
    node = order[place]
    best_gain, best_place = 1e-9, place
    for step in (-1, 1):
        placed = np.zeros(bits.shape[1], dtype=np.uint64)
        for a in range(place):
            placed[order[a] >> 6] |= np.uint64(1) << np.uint64(order[a] & 63)
        own = _cost_within(node, placed, start, cost, bits)
        gain, at = 0.0, place + step
        while 0 <= at < order.size:
            other = order[at]
            if step < 0:
                _flip(placed, other)
            without = _cost_within(other, placed, start, cost, bits)
            _flip(placed, node)
            behind = _cost_within(other, placed, start, cost, bits)
            _flip(placed, node)
            if step > 0:
                _flip(placed, other)
            was, now = (without, behind) if step < 0 else (behind, without)
            old, own = own, _cost_within(node, placed, start, cost, bits)
            if np.isinf(own) or np.isinf(now) or np.isinf(was) or np.isinf(old):
                break
            gain += was + old - now - own
            if gain > best_gain:
                best_gain, best_place = gain, at
            at += step
    return best_place


@door
def _flip(placed: Bits, node: int) -> None:
    """Put the node into the set or take it out."""
    placed[node >> 6] ^= np.uint64(1) << np.uint64(node & 63)
