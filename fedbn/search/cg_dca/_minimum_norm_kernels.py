"""Wolfe's minimum-norm point of a base polytope; see `minimum_norm.py`."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.kernel_door import door
from fedbn.search.cg_dca._chain_kernels import Model, chain

ZERO = 1e-12


@door
def _ascending(w: Floats) -> Ints:
    """Places that sort w, ties by place; insertion, as w is short and nearly sorted."""
    place = np.empty(w.size, dtype=np.int64)
    for k in range(w.size):
        at = k
        while at > 0 and w[place[at - 1]] > w[k]:
            place[at] = place[at - 1]
            at -= 1
        place[at] = k
    return place


@door
def _vertex(
    m: Model,
    node: int,
    base: Ints,
    free: Ints,
    clusters: Bools,
    duals: Floats,
    sizes: Ints,
    y: Floats,
    w: Floats,
    out: Floats,
) -> float:
    """The vertex of least w · q: the greedy one for w ascending; returns the least prefix value."""
    size, first = free.size, base.size
    order = np.empty(first + size, dtype=np.int64)
    order[:first] = base
    place = _ascending(w)
    for k in range(size):
        order[first + k] = free[place[k]]
    g, f, p = np.empty(order.size + 1), np.empty(order.size + 1), np.empty(order.size + 1)
    chain(m, node, order, clusters, duals, sizes, False, g, f, p)
    total, least = 0.0, 0.0
    for k in range(size):
        step = g[first + k + 1] - g[first + k] - y[order[first + k]]
        out[place[k]] = step
        total += step
        least = min(least, total)
    return least


@door
def _affine_weights(corral: Floats, count: int) -> Floats:
    """Weights, summing to 1, of the point of least norm in the affine hull of the corral.

    They are proportional to (P Pᵀ + c 1 1ᵀ)⁻¹ 1 for every c > 0, by Cholesky's factors.
    """
    factor = np.empty((count, count))
    scale = 0.0
    for a in range(count):
        scale = max(scale, np.dot(corral[a], corral[a]))
    for a in range(count):
        for b in range(a + 1):
            value = np.dot(corral[a], corral[b]) + scale
            if a == b:
                value += 1e-13 * scale
            for c in range(b):
                value -= factor[a, c] * factor[b, c]
            if a == b:
                factor[a, a] = np.sqrt(max(value, 1e-15 * scale))
            else:
                factor[a, b] = value / factor[b, b]
    weights = np.ones(count)
    for a in range(count):
        for c in range(a):
            weights[a] -= factor[a, c] * weights[c]
        weights[a] /= factor[a, a]
    for a in range(count - 1, -1, -1):
        for c in range(a + 1, count):
            weights[a] -= factor[c, a] * weights[c]
        weights[a] /= factor[a, a]
    weights /= weights.sum()
    return weights


@door
def _into_hull(corral: Floats, weights: Floats, count: int) -> int:
    """Minor cycles: drop vertices until the affine minimiser is a convex combination."""
    while True:
        target = _affine_weights(corral, count)
        if target.min() > ZERO or count == 1:
            weights[:count] = target
            return count
        step = 1.0
        for a in range(count):
            if target[a] <= ZERO and weights[a] > target[a]:
                step = min(step, weights[a] / (weights[a] - target[a]))
        kept = 0
        for a in range(count):
            value = (1.0 - step) * weights[a] + step * target[a]
            if value > ZERO:
                corral[kept] = corral[a]
                weights[kept] = value
                kept += 1
        count = kept


@door
def minimum_norm_point(
    m: Model,
    node: int,
    base: Ints,
    free: Ints,
    clusters: Bools,
    duals: Floats,
    sizes: Ints,
    y: Floats,
    start: Floats,
    tolerance: float,
    rounds: int,
) -> Floats:
    """The point w [free] of the base polytope of g - y, given `base`; S = {w < 0} minimises.

    Ends when a prefix of the order of w has a value within `tolerance` of Σ min(w, 0), which is
    below every set's.
    """
    size = free.size
    corral = np.empty((size + 2, size))
    weights = np.zeros(size + 2)
    vertex = np.empty(size)
    least = min(0.0, _vertex(m, node, base, free, clusters, duals, sizes, y, start, vertex))
    corral[0] = vertex
    weights[0] = 1.0
    count = 1
    w = vertex.copy()
    for _ in range(rounds):
        least = min(least, _vertex(m, node, base, free, clusters, duals, sizes, y, w, vertex))
        if least - np.minimum(w, 0.0).sum() <= tolerance:
            break
        if count > size or np.dot(w, w) <= np.dot(w, vertex) + 1e-10 * max(1.0, np.dot(w, w)):
            break
        corral[count] = vertex
        weights[count] = 0.0
        count = _into_hull(corral, weights, count + 1)
        w = np.zeros(size)
        for a in range(count):
            w += weights[a] * corral[a]
    return w
