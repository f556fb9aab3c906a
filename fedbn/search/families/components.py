"""Components of what may be an edge, and of what was chosen: where cycles can be, and are."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Array, Bits, Indices
from fedbn.graphs.bits import pack
from fedbn.graphs.components import cyclic_components, strong_labels
from fedbn.search.families.families import Families


def components(families: Families) -> list[Indices]:
    """Node indices (ascending) of each strongly connected component, by smallest node.

    Edges between components all point one way, so a choice of families is acyclic iff it is so
    inside every component.
    """
    label = strong_labels(families.possible_edges())
    found = [np.flatnonzero(label == part) for part in range(int(label.max()) + 1)]
    return sorted(found, key=lambda nodes: int(nodes[0]))


def cycle_clusters(families: Families, chosen: Array) -> Bits:
    """uint64 [k, W]: the node sets of the directed cycles' components among chosen families.

    Every node of such a component has a parent inside, so its cluster constraint is violated.
    """
    n = families.n
    edges = np.zeros((n, n), dtype=np.bool_)
    edges[families.node[chosen]] = families.has_parent[chosen]
    return pack(np.array(cyclic_components(edges), dtype=np.bool_).reshape(-1, n))
