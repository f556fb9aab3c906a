"""Tabu descent over clusters; see `cluster_lp.py` and `cg_dca/violated_clusters.py`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools, Floats, Ints
from fedbn.kernel_door import door


@door
def _flip_gains(
    node: NDArray[np.int32],
    parents: Bools,
    x: Floats,
    k: int,
    cluster: Bools,
    met: Ints,
    gains: Floats,
) -> float:
    """gains[v] := change of the left side when v enters or leaves; returns the left side.

    The left side is Σ of x over the columns of the cluster's nodes with fewer than k parents in it;
    met[f] is that number of parents.
    """
    gains[:] = 0.0
    side = 0.0
    for f in range(node.size):
        i = node[f]
        if met[f] < k:
            if cluster[i]:
                side += x[f]
                gains[i] -= x[f]
            else:
                gains[i] += x[f]
        if cluster[i] and (met[f] == k or met[f] == k - 1):
            for j in range(cluster.size):
                if parents[f, j]:
                    if cluster[j] and met[f] == k:
                        gains[j] += x[f]
                    elif not cluster[j] and met[f] == k - 1:
                        gains[j] -= x[f]
    return side


@door
def tabu_clusters(
    node: NDArray[np.int32], parents: Bools, x: Floats, k: int, seeds: Bools, steps: int
) -> Floats:
    """Replace each seed [c, n] by the cluster of least left side that its walk meets; the sides.

    Each step makes the best flip, better or worse, of a node not flipped in the last n / 4 steps.
    Clusters keep more than k nodes.
    """
    n = seeds.shape[1]
    gains = np.empty(n)
    sides = np.empty(seeds.shape[0])
    since = np.empty(n, dtype=np.int64)
    met = np.empty(node.size, dtype=np.int64)
    for s in range(seeds.shape[0]):
        cluster = seeds[s].copy()
        for f in range(node.size):
            met[f] = 0
            for j in range(n):
                met[f] += parents[f, j] and cluster[j]
        since[:] = -n
        best = np.inf
        size = cluster.sum()
        for step in range(steps):
            side = _flip_gains(node, parents, x, k, cluster, met, gains)
            if side < best - 1e-9:
                best = side
                seeds[s] = cluster
            flip = -1
            for v in range(n):
                if step - since[v] <= n // 4 or (cluster[v] and size <= k + 1):
                    continue
                if flip < 0 or gains[v] < gains[flip]:
                    flip = v
            if flip < 0:
                break
            cluster[flip] = not cluster[flip]
            change = 1 if cluster[flip] else -1
            size += change
            for f in range(node.size):
                if parents[f, flip]:
                    met[f] += change
            since[flip] = step
        sides[s] = best
    return sides
