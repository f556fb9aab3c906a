"""Moral graphs: a DAG without directions, the parents of every node joined."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fedbn.arrays import Bools, Ints32
from fedbn.graphs.dag import DAG


def moral_graph(dag: DAG) -> Bools:
    """Symmetric bool [n, n]: i and j adjacent in `dag` or parents of the same node.

    Examples
    --------
    >>> dag = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    >>> int(moral_graph(dag).sum()) // 2
    3
    """
    return moralise(dag.adjacency)


def moral_pairs(dag: DAG) -> Ints32:
    """The same as pairs of indices a < b, int32 [m, 2], ascending."""
    from fedbn._core.graphs import moral_pairs as pairs_of

    pairs: Ints32 = pairs_of(dag.arcs, dag.n)
    return pairs


def ancestral_set(dag: DAG, nodes: Iterable[int]) -> Bools:
    """bool [n]: the nodes themselves and all their ancestors."""
    inside = np.zeros(dag.n, dtype=np.bool_)
    stack = list(nodes)
    while stack:
        node = stack.pop()
        if not inside[node]:
            inside[node] = True
            stack.extend(dag.parents(node))
    return inside


def moral_ancestral_graph(dag: DAG, nodes: Iterable[int]) -> Bools:
    """Moral graph of the subgraph on the ancestral set of `nodes`; other rows are empty."""
    inside = ancestral_set(dag, nodes)
    return moralise(dag.adjacency & np.outer(inside, inside))


def moralise(adjacency: Bools) -> Bools:
    """The moral graph of the DAG with this adjacency, bool [n, n]."""
    counts = adjacency.astype(np.float32)
    married = (counts @ counts.T) > 0
    moral = np.asarray(adjacency | adjacency.T | married, dtype=np.bool_)
    np.fill_diagonal(moral, False)
    return moral
