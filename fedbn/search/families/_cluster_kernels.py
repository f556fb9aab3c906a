"""Kernels of the cluster relaxation; see `cluster_lp.py`. Sets are rows of uint64 words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Floats
from fedbn.graphs._bit_kernels import popcount
from fedbn.kernel_door import door

ONE = np.uint64(1)


@door
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


@door
def _parents_inside(f: int, bits: Bits, cluster: Bits) -> int:
    """How many parents of family f are in the cluster."""
    inside = np.uint64(0)
    for w in range(cluster.size):
        inside += popcount(cluster[w] & bits[f, w])
    return int(inside)


@door
def coverage(node: NDArray[np.int32], bits: Bits, cluster: Bits, k: int = 1) -> NDArray[np.bool_]:
    """Whether each family's node is in the cluster with fewer than k parents inside."""
    out = np.zeros(node.size, dtype=np.bool_)
    for f in range(node.size):
        i = node[f]
        if cluster[i >> 6] & (ONE << np.uint64(i & 63)):
            out[f] = _parents_inside(f, bits, cluster) < k
    return out


@door
def _left_side(node: NDArray[np.int32], x: Floats, bits: Bits, cluster: Bits, k: int) -> float:
    total = 0.0
    for f in range(node.size):
        i = node[f]
        if cluster[i >> 6] & (ONE << np.uint64(i & 63)) and _parents_inside(f, bits, cluster) < k:
            total += x[f]
    return total


@door
def violated_clusters(
    node: NDArray[np.int32], x: Floats, bits: Bits, n: int, seeds: Bits, k: int, least: float
) -> tuple[Bits, Floats]:
    """k-clusters whose left side is below k - `least`, by greedy growth from each seed.

    From a seed set, the node that lowers the left side most is added or taken out until no single
    change lowers it. Only families with x > 0 need to be given.
    """
    words = bits.shape[1]
    found = np.zeros((seeds.shape[0], words), dtype=np.uint64)
    sides = np.empty(seeds.shape[0])
    number = 0
    for s in range(seeds.shape[0]):
        cluster = seeds[s].copy()
        side = _grow(node, x, bits, n, k, cluster)
        if side < k - least and not _contains(found, number, cluster):
            found[number] = cluster
            sides[number] = side
            number += 1
    return found[:number].copy(), sides[:number].copy()


@door
def _grow(node: NDArray[np.int32], x: Floats, bits: Bits, n: int, k: int, cluster: Bits) -> float:
    """Change the cluster node by node while its left side falls; returns it (inf if too small)."""
    members = 0
    for v in range(n):
        if cluster[v >> 6] & (ONE << np.uint64(v & 63)):
            members += 1
    side = _left_side(node, x, bits, cluster, k) if members > k else np.inf
    for _ in range(3 * n):
        best, best_node = side - 1e-9, -1
        for v in range(n):
            bit = ONE << np.uint64(v & 63)
            if members <= k + 1 and cluster[v >> 6] & bit:
                continue
            cluster[v >> 6] ^= bit
            value = _left_side(node, x, bits, cluster, k)
            cluster[v >> 6] ^= bit
            if value < best or (members <= k and best_node < 0):
                best, best_node = value, v
        if best_node < 0:
            break
        bit = ONE << np.uint64(best_node & 63)
        members += -1 if cluster[best_node >> 6] & bit else 1
        cluster[best_node >> 6] ^= bit
        side = best if members > k else np.inf
    return side


@door
def _contains(found: Bits, number: int, cluster: Bits) -> bool:
    known = False
    for k in range(number):
        known = known or bool((found[k] == cluster).all())
    return known
