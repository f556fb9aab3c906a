"""d-separation, through the moral ancestral graph (Lauritzen et al. 1990)."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_ancestral_graph


def d_separated(
    dag: DAG, xs: Collection[int], ys: Collection[int], given: Collection[int] = ()
) -> bool:
    """Whether `given` d-separates every x from every y.

    Parameters
    ----------
    dag : the graph.
    xs, ys, given : disjoint sets of node indices.

    Raises
    ------
    StructureError : the sets overlap.

    Examples
    --------
    >>> collider = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    >>> d_separated(collider, [0], [1]), d_separated(collider, [0], [1], [2])
    (True, False)
    """
    if set(xs) & set(ys) or set(given) & (set(xs) | set(ys)):
        raise StructureError(
            f"x, y and the given set must be disjoint, got {sorted(xs)}, {sorted(ys)}, "
            f"{sorted(given)}"
        )
    moral = moral_ancestral_graph(dag, [*xs, *ys, *given])
    blocked = np.zeros(dag.n, dtype=np.bool_)
    blocked[list(given)] = True
    reached = np.zeros(dag.n, dtype=np.bool_)
    stack = list(xs)
    while stack:
        node = stack.pop()
        if not reached[node]:
            reached[node] = True
            stack.extend(int(v) for v in np.flatnonzero(moral[node] & ~blocked & ~reached))
    return not bool(reached[list(ys)].any())
