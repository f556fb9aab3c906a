"""Slow, obvious twins of the bounds on optimal structures."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from fedbn.graphs.dag import find_cycle
from fedbn.search.families.families import Families


def choices(families: Families, nodes: list[int]) -> Iterator[tuple[int, ...]]:
    """Every choice of one family per node that is acyclic on these nodes."""
    of_node = [np.flatnonzero(families.node == i).tolist() for i in nodes]
    for chosen in product(*of_node):
        adjacency = families.has_parent[list(chosen)][:, nodes].T
        if find_cycle(adjacency) is None:
            yield chosen


def min_cost_through(families: Families, cost: np.ndarray, nodes: list[int]) -> np.ndarray:
    """[F]: the least cost of a choice with each family; infinite for families of other nodes."""
    through = np.full(families.size, np.inf)
    for chosen in choices(families, nodes):
        total = sum(cost[f] for f in chosen)
        for f in chosen:
            through[f] = min(through[f], total)
    return through


def pair_weight(families: Families, i: int, j: int) -> float:
    """What a choice costs at least in which i and j are not each other's parents, over the least
    cost of each; counted for these two nodes alone."""
    of_i, of_j = (np.flatnonzero(families.node == v) for v in (i, j))
    free = families.cost[of_i].min() + families.cost[of_j].min()
    return min(
        families.cost[f] + families.cost[g] - free
        for f in of_i
        for g in of_j
        if not (families.has_parent[f, j] and families.has_parent[g, i])
    )


def best_over_all_sets(score) -> float:
    """The best total over all DAGs: every local score, best subsets, then sinks one by one."""
    n = score.n
    best = np.full((n, 1 << n), -np.inf)
    for i in range(n):
        for mask in range(1 << n):
            if mask >> i & 1:
                continue
            inside = [j for j in range(n) if mask >> j & 1]
            smaller = [best[i, mask ^ (1 << j)] for j in inside]
            best[i, mask] = max([score.local_score(i, inside), *smaller])
    total = np.zeros(1 << n)
    for mask in range(1, 1 << n):
        total[mask] = max(
            total[mask ^ (1 << i)] + best[i, mask ^ (1 << i)] for i in range(n) if mask >> i & 1
        )
    return float(total[-1])
