"""Distances between structures.

SMHD, the structural moral Hamming distance, counts the edges that are in exactly one of two moral
graphs. SHD and precision, recall, F1 compare CPDAGs, so equivalent DAGs have distance 0. Both
graphs must have the same names, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bools
from fedbn.errors import ConfigError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_pairs
from fedbn.graphs.pdag import dag_to_cpdag


class EdgeAccuracy(NamedTuple):
    """Precision, recall and F1 of the edges of a CPDAG, each in [0, 1]."""

    precision: float
    recall: float
    f1: float


def smhd(a: DAG, b: DAG) -> int:
    """Number of edges in exactly one of the two moral graphs.

    Raises
    ------
    StructureError : the variables differ.

    Examples
    --------
    >>> collider = DAG.from_edges("abc", [("a", "c"), ("b", "c")])
    >>> smhd(collider, DAG.from_edges("abc", [("a", "c"), ("c", "b")]))
    1
    """
    ours, theirs = moral_pairs(a) @ (a.n, 1), moral_pairs(_align(b, a)) @ (a.n, 1)
    return len(np.setxor1d(ours, theirs, assume_unique=True))


def induced_smhd(dag: DAG, other: DAG) -> int:
    """`smhd` over the pairs of names of `other` alone, which `dag` must have, too.

    Raises
    ------
    StructureError : `other` has a name that `dag` lacks.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc"])
    >>> induced_smhd(chain, DAG.from_edges("ac", ["ac"]))
    1
    """
    place = {name: v for v, name in enumerate(dag.names)}
    if unknown := sorted(set(other.names) - set(place)):
        raise StructureError(f"{unknown[0]!r} must be one of the variables {dag.names}")
    within = np.full(dag.n, -1)
    within[[place[name] for name in other.names]] = np.arange(other.n)
    pairs = np.sort(within[moral_pairs(dag)], axis=1)
    ours, theirs = pairs[pairs[:, 0] >= 0] @ (other.n, 1), moral_pairs(other) @ (other.n, 1)
    return len(np.setxor1d(ours, theirs, assume_unique=True))


def mean_smhd(
    dag: DAG, dags: Sequence[DAG], weights: Sequence[int | Fraction] | None = None
) -> Fraction:
    """Weighted mean of `smhd(dag, d)` over `dags`, exact.

    Raises
    ------
    StructureError : no DAG is given, or variables differ.
    ConfigError : not one weight per DAG, or their sum is not positive.
    """
    if not dags:
        raise StructureError("a mean over DAGs needs at least one DAG, got none")
    used = [Fraction(1)] * len(dags) if weights is None else [Fraction(w) for w in weights]
    if len(used) != len(dags) or sum(used) <= 0:
        raise ConfigError(
            f"one weight per DAG with a positive sum is needed: {used} for {len(dags)} DAGs"
        )
    total = sum((w * smhd(dag, d) for w, d in zip(used, dags, strict=True)), Fraction(0))
    return total / sum(used)


def shd(a: DAG, b: DAG) -> int:
    """Number of pairs of nodes that the two CPDAGs join differently; a reversal counts once.

    Raises
    ------
    StructureError : the variables differ.

    Examples
    --------
    >>> shd(DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["cb", "ba"]))
    0
    """
    ours, theirs = (dag_to_cpdag(dag).arcs @ (a.n, 1) for dag in (a, _align(b, a)))
    one, other = np.divmod(np.setxor1d(ours, theirs, assume_unique=True), a.n)
    return len(np.unique(np.minimum(one, other) * a.n + np.maximum(one, other)))


def precision_recall_f1(dag: DAG, truth: DAG) -> EdgeAccuracy:
    """Edges of the CPDAG of `dag` against those of `truth`.

    An edge is right when both CPDAGs join the pair in the same way. Without edges, precision
    (recall) is 1.

    Raises
    ------
    StructureError : the variables differ.
    """
    ours, theirs = dag_to_cpdag(dag).adjacency, dag_to_cpdag(_align(truth, dag)).adjacency
    same = (ours == theirs) & (ours == theirs).T
    right = _pairs(ours & same)
    found, wanted = _pairs(ours), _pairs(theirs)
    precision = right / found if found else 1.0
    recall = right / wanted if wanted else 1.0
    f1 = 2 * right / (found + wanted) if found + wanted else 1.0
    return EdgeAccuracy(precision, recall, f1)


def _align(dag: DAG, like: DAG) -> DAG:
    return dag if dag.names == like.names else dag.reorder(like.names)


def _pairs(adjacency: Bools) -> int:
    return int(np.triu(adjacency | adjacency.T).sum())
