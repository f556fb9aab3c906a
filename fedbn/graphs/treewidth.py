"""Upper bounds of treewidth by two elimination orders; the smaller one is reported.

The width is that of a chordal completion: largest clique minus one. (The MCBNC authors report
the clique size of maximum cardinality search, without the minus one.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph

__all__ = ["dag_treewidth", "elimination_width", "treewidth"]


def treewidth(adjacency: NDArray[np.bool_]) -> int:
    """Width of an undirected graph by min-fill and by maximum cardinality search, the smaller.

    Parameters
    ----------
    adjacency : symmetric bool [n, n].

    Examples
    --------
    >>> treewidth(~np.eye(4, dtype=bool))
    3
    """
    if adjacency.shape[0] == 0:
        return 0
    by_fill = elimination_width(adjacency, min_fill_order(adjacency))
    return min(by_fill, elimination_width(adjacency, maximum_cardinality_order(adjacency)))


def dag_treewidth(dag: DAG) -> int:
    """Treewidth of the moral graph of `dag`."""
    return treewidth(moral_graph(dag))


def _neighbour_sets(adjacency: NDArray[np.bool_]) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in adjacency]


def elimination_width(adjacency: NDArray[np.bool_], order: list[int]) -> int:
    """Most neighbours that a node has when it is eliminated, in the given order."""
    around = _neighbour_sets(adjacency)
    width = 0
    for node in order:
        width = max(width, len(around[node]))
        _eliminate(around, node)
    return width


def _eliminate(around: list[set[int]], node: int) -> None:
    """Join the neighbours of `node` pairwise and take it out."""
    neighbours = around[node]
    for v in neighbours:
        around[v] |= neighbours
        around[v] -= {v, node}
    around[node] = set()


def min_fill_order(adjacency: NDArray[np.bool_]) -> list[int]:
    """Eliminate the node that needs fewest fill edges; ties: fewest neighbours, then index."""
    around = _neighbour_sets(adjacency)
    left = set(range(len(around)))
    cost = {v: _fill_cost(around, v) for v in left}
    order = []
    while left:
        node = min(left, key=lambda v: (*cost[v], v))
        stale = set(around[node])
        for v in around[node]:
            stale |= around[v]
        _eliminate(around, node)
        left.remove(node)
        order.append(node)
        for v in stale & left:
            cost[v] = _fill_cost(around, v)
    return order


def _fill_cost(around: list[set[int]], node: int) -> tuple[int, int]:
    neighbours = around[node]
    present = sum(len(around[v] & neighbours) for v in neighbours)
    degree = len(neighbours)
    return (degree * (degree - 1) - present) // 2, degree


def maximum_cardinality_order(adjacency: NDArray[np.bool_]) -> list[int]:
    """Elimination order of maximum cardinality search: the reverse of its visiting order."""
    around = _neighbour_sets(adjacency)
    seen_around = [0] * len(around)
    left = set(range(len(around)))
    visited = []
    while left:
        node = min(left, key=lambda v: (-seen_around[v], v))
        left.remove(node)
        visited.append(node)
        for v in around[node] & left:
            seen_around[v] += 1
    return visited[::-1]
