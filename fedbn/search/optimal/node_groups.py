"""Groups of nodes that restrain each other, joined by the weights of pairs.

The weight of a pair is what it costs that at most one can be a parent of the other, over the
cheapest families of both; or, from a relaxation, the duals of the clusters that hold both. Groups
are joined while they are small enough, those of greatest weight between them first, and widened by
the outside nodes of greatest weight.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats, Indices
from fedbn.search.families.families import Families


def pair_weights(families: Families) -> Floats:
    """[n, n], symmetric: what it costs at least that i and j are not parents of each other.

    Infinite where every family of i has the parent j and the other way round; 0 for i = j.
    """
    n = families.n
    without = np.zeros((n, n))
    for i in range(n):
        some = slice(families.start[i], families.start[i + 1])
        cost = families.cost[some]
        free = np.where(families.has_parent[some], np.inf, cost[:, None])
        without[i] = free.min(axis=0) - cost.min()
    return np.minimum(without, without.T)


def shared_duals(clusters: Bools, duals: Floats) -> Floats:
    """[n, n]: Σ dual / |C| over the clusters, bool [C, n], that hold i and j; 0 for i = j."""
    shares = duals / np.maximum(1, clusters.sum(axis=1))
    weights = np.einsum("c,ci,cj->ij", shares, clusters, clusters)
    np.fill_diagonal(weights, 0.0)
    return np.asarray(weights)


def joined_groups(weights: Floats, max_size: int) -> list[Indices]:
    """A partition of the nodes into groups of at most `max_size`, each ascending, by smallest node.

    Of all pairs of groups that may be joined, those of greatest total weight are; the first on
    ties.
    """
    n = len(weights)
    size = np.ones(n, dtype=np.intp)
    group = np.arange(n)
    between = np.minimum(weights, np.finfo(float).max / (n * n))
    while True:
        fits = np.triu(np.outer(size > 0, size > 0) & (np.add.outer(size, size) <= max_size), 1)
        if not fits.any():
            return [np.flatnonzero(group == g) for g in np.flatnonzero(size)]
        a, b = divmod(int(np.argmax(np.where(fits, between, -1.0))), n)
        between[a] += between[b]
        between[:, a] += between[:, b]
        size[a] += size[b]
        size[b] = 0
        group[group == b] = a


def widen(weights: Floats, group: Indices, max_size: int) -> Indices:
    """The group and the nodes of greatest weight with a member, up to `max_size` nodes in all."""
    inside = np.isin(np.arange(len(weights)), group)
    for _ in range(min(max_size, len(weights)) - len(group)):
        nearest = np.where(inside, -1.0, weights[inside].max(axis=0))
        inside[np.argmax(nearest)] = True
    return np.flatnonzero(inside)
