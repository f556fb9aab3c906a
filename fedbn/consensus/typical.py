"""The graph that most inputs resemble, and how each of them differs from it.

What that is good for: `_typical_kernels.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.consensus._engine import CH, PA
from fedbn.fusion.inputs import MergedInputs
from fedbn.graphs.dag import find_cycle

__all__ = ["differences", "graph_bits", "typical_graph"]

DIFFERENCES = 24  # an input with more of them resembles nothing


def typical_graph(inputs: MergedInputs) -> NDArray[np.bool_]:
    """The arcs of more than half of the inputs, or if they close a cycle the input nearest to them.

    A guess, of no effect on results: bool [n, n].
    """
    arcs = inputs.adjacency
    surplus = 2 * arcs.sum(axis=0, dtype=np.int64) - len(arcs)
    if find_cycle(surplus > 0) is None:
        return np.asarray(surplus > 0)
    nearest = max(range(len(arcs)), key=lambda i: int(surplus[arcs[i]].sum()))
    return np.asarray(arcs[nearest])


def differences(
    inputs: MergedInputs, typical: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Of every input, the arcs in which it differs from a graph: int32 [r, D, 2], and how many.

    -1 where they are more than D.
    """
    r = len(inputs.adjacency)
    differs = np.zeros((r, DIFFERENCES, 2), np.int32)
    differing = np.full(r, -1, np.int64)
    for i, matrix in enumerate(inputs.adjacency):
        found = np.argwhere(matrix != typical)
        if len(found) <= DIFFERENCES:
            differs[i, : len(found)] = found
            differing[i] = len(found)
    return differs, differing


def graph_bits(adjacency: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """A graph as the engine holds it, parents and children filled in: uint64 [5, n, W]."""
    from fedbn.graphs._bit_kernels import pack

    rows = pack(adjacency)
    graph = np.zeros((5, *rows.shape), np.uint64)
    graph[PA], graph[CH] = pack(adjacency.T), rows
    return graph
