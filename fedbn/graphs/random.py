"""Random DAGs, and random changes of a DAG."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedbn.arrays import Bools
from fedbn.errors import StructureError
from fedbn.graphs.dag import DAG


def random_dag(
    names: Sequence[str],
    *,
    rng: np.random.Generator,
    edge_probability: float | None = None,
    edges: int | None = None,
) -> DAG:
    """A DAG with a uniformly random order of its nodes.

    Parameters
    ----------
    names : the variables.
    rng : the source of randomness.
    edge_probability : each forward pair is an edge independently with this probability; or
    edges : exactly so many forward pairs, drawn uniformly, are edges.

    Raises
    ------
    StructureError : not exactly one of the two is given, or it is out of its range.
    """
    n = len(names)
    pairs = n * (n - 1) // 2
    if (edge_probability is None) == (edges is None):
        raise StructureError("exactly one of edge_probability and edges must be given")
    chosen = np.zeros(pairs, dtype=np.bool_)
    if edge_probability is not None:
        if not 0 <= edge_probability <= 1:
            raise StructureError(f"edge_probability must be in [0, 1], got {edge_probability}")
        chosen = rng.random(pairs) < edge_probability
    elif edges is not None:
        if not 0 <= edges <= pairs:
            raise StructureError(f"edges must be in [0, {pairs}] for {n} nodes, got {edges}")
        chosen[rng.choice(pairs, size=edges, replace=False)] = True
    upper = np.zeros((n, n), dtype=np.bool_)
    upper[np.triu_indices(n, k=1)] = chosen
    place = rng.permutation(n)
    return DAG(tuple(names), upper[np.ix_(place, place)])


def perturb(dag: DAG, changes: int, *, rng: np.random.Generator) -> DAG:
    """`dag` after so many random single-edge changes, each valid: add, delete or reverse.

    Each change picks its kind uniformly and then a pair uniformly, again and again until the
    result is acyclic and differs.

    Raises
    ------
    StructureError : a graph of fewer than two nodes cannot be changed.
    """
    if changes and dag.n < 2:
        raise StructureError("a DAG needs at least two nodes to be changed")
    matrix = dag.adjacency.copy()
    for _ in range(changes):
        while not _change(matrix, int(rng.integers(3)), rng):
            pass
    return DAG(dag.names, matrix)


def _change(matrix: Bools, kind: int, rng: np.random.Generator) -> bool:
    """Try one change of the given kind (0 add, 1 delete, 2 reverse) in place."""
    i, j = (int(v) for v in rng.choice(matrix.shape[0], size=2, replace=False))
    before = matrix[i, j], matrix[j, i]
    if kind == 0 and not matrix[i, j] and not matrix[j, i]:
        matrix[i, j] = True
        closed = _reaches(matrix, j, i)
    elif kind == 1 and matrix[i, j]:
        matrix[i, j] = closed = False
    elif kind == 2 and matrix[i, j]:
        matrix[i, j], matrix[j, i] = False, True
        closed = _reaches(matrix, i, j)
    else:
        return False
    if closed:
        matrix[i, j], matrix[j, i] = before
    return not closed


def _reaches(matrix: Bools, a: int, b: int) -> bool:
    """Whether a directed path leads from a to b."""
    seen = np.zeros(len(matrix), dtype=np.bool_)
    stack = [a]
    while stack:
        v = stack.pop()
        if v == b:
            return True
        fresh = np.flatnonzero(matrix[v] & ~seen)
        seen[fresh] = True
        stack.extend(fresh.tolist())
    return False
