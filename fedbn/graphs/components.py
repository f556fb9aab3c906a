"""Components of graphs: strongly connected ones, where directed cycles are; connected ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def strong_labels(edges: NDArray[np.bool_]) -> NDArray[Any]:
    """[n]: the number of the strongly connected component of each node.

    Parameters
    ----------
    edges : [n, n]; which way edges point does not matter, for components are the same.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array(edges.astype(np.int8))
    _, label = connected_components(graph, directed=True, connection="strong")
    return np.asarray(label)


def cyclic_components(edges: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """Node sets [n] of the components of two nodes or more; none if the graph is acyclic.

    >>> edges = np.zeros((3, 3), dtype=np.bool_)
    >>> edges[0, 1] = edges[1, 0] = edges[1, 2] = True
    >>> cyclic_components(edges)[0].tolist()
    [True, True, False]
    """
    label = strong_labels(edges)
    sizes = np.bincount(label)
    return [label == part for part in np.flatnonzero(sizes > 1)]


def count_components(pairs: NDArray[np.int64]) -> int:
    """The number of connected components of the graph that has these edges, and no other nodes.

    Parameters
    ----------
    pairs : int64 [E, 2], the ends of the edges.

    Examples
    --------
    >>> count_components(np.array([[0, 1], [4, 5], [1, 2]]))
    2
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    nodes, ends = np.unique(pairs, return_inverse=True)
    first, second = ends.reshape(-1, 2).T
    shape = nodes.size, nodes.size
    graph = csr_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=shape)
    return int(connected_components(graph, directed=False)[0]) if nodes.size else 0
