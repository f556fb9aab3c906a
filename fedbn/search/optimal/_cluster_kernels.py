"""Kernels of the cluster relaxation; see `cluster_lp.py`. Sets are rows of uint64 words."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]
ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def reduced_costs(
    node: NDArray[np.int32], cost: Floats, bits: Bits, clusters: Bits, duals: Floats, n: int
) -> tuple[float, Floats, Floats]:
    """The Lagrangian bound of any cluster duals ≥ 0.

    price(i, P) = cost - Σ duals of the clusters that hold i and miss P; λ_i its least value over
    P. Bound: Σ λ_i + Σ duals. Returns (bound, λ [n], price - λ ≥ 0 [families]).
    """
    price = cost.copy()
    least = np.full(n, np.inf)
    words = bits.shape[1]
    for f in range(node.size):
        i = node[f]
        word, bit = i >> 6, ONE << np.uint64(i & 63)
        for c in range(duals.size):
            if clusters[c, word] & bit:
                meets = False
                for w in range(words):
                    if clusters[c, w] & bits[f, w]:
                        meets = True
                        break
                if not meets:
                    price[f] -= duals[c]
        least[i] = min(least[i], price[f])
    for f in range(node.size):
        price[f] -= least[node[f]]
    return float(least.sum() + duals.sum()), least, price


@njit(cache=True, nogil=True)
def coverage(node: NDArray[np.int32], bits: Bits, cluster: Bits) -> NDArray[np.bool_]:
    """Whether each family's node is in the cluster while its parents all are outside."""
    out = np.zeros(node.size, dtype=np.bool_)
    for f in range(node.size):
        i = node[f]
        if cluster[i >> 6] & (ONE << np.uint64(i & 63)):
            out[f] = True
            for w in range(cluster.size):
                if cluster[w] & bits[f, w]:
                    out[f] = False
                    break
    return out


@njit(cache=True, nogil=True)
def _left_side(node: NDArray[np.int32], x: Floats, bits: Bits, cluster: Bits) -> float:
    total = 0.0
    for f in range(node.size):
        i = node[f]
        if cluster[i >> 6] & (ONE << np.uint64(i & 63)):
            meets = False
            for w in range(cluster.size):
                if cluster[w] & bits[f, w]:
                    meets = True
                    break
            if not meets:
                total += x[f]
    return total


@njit(cache=True, nogil=True)
def violated_clusters(
    node: NDArray[np.int32], x: Floats, bits: Bits, n: int, seeds: Bits, least: float
) -> tuple[Bits, Floats]:
    """Clusters whose left side is below 1 - `least`, by greedy growth from each seed.

    From a seed set, the node that lowers the left side most is added or taken out until no single
    change lowers it. Only families with x > 0 need to be given.
    """
    words = bits.shape[1]
    found = np.zeros((seeds.shape[0], words), dtype=np.uint64)
    sides = np.empty(seeds.shape[0])
    number = 0
    for s in range(seeds.shape[0]):
        cluster = seeds[s].copy()
        side = _left_side(node, x, bits, cluster)
        grown = True
        steps = 0
        while grown and steps < 3 * n:
            grown = False
            steps += 1
            best, best_node = side - 1e-9, -1
            members = 0
            for v in range(n):
                if cluster[v >> 6] & (ONE << np.uint64(v & 63)):
                    members += 1
            for v in range(n):
                inside = (cluster[v >> 6] & (ONE << np.uint64(v & 63))) != np.uint64(0)
                if inside and members <= 2:
                    continue
                cluster[v >> 6] ^= ONE << np.uint64(v & 63)
                value = _left_side(node, x, bits, cluster)
                cluster[v >> 6] ^= ONE << np.uint64(v & 63)
                if value < best:
                    best, best_node = value, v
            if best_node >= 0:
                cluster[best_node >> 6] ^= ONE << np.uint64(best_node & 63)
                side = best
                grown = True
        if side < 1.0 - least:
            new = True
            for k in range(number):
                same = True
                for w in range(words):
                    if found[k, w] != cluster[w]:
                        same = False
                        break
                if same:
                    new = False
                    break
            if new:
                found[number] = cluster
                sides[number] = side
                number += 1
    return found[:number].copy(), sides[:number].copy()
