"""Strongly connected components of what may be an edge: a DAG can be chosen in each by itself."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.search.families.families import Families

__all__ = ["components"]


def components(families: Families) -> list[NDArray[np.intp]]:
    """Node indices (ascending) of each strongly connected component, by smallest node.

    Edges between components all point one way, so a choice of families is acyclic iff it is so
    inside every component.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    graph = csr_array(families.possible_edges().astype(np.int8))
    count, label = connected_components(graph, directed=True, connection="strong")
    found = [np.flatnonzero(label == c) for c in range(count)]
    return sorted(found, key=lambda nodes: int(nodes[0]))
