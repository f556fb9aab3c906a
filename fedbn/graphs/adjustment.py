"""Distances between structures by the effects that they get right.

Whoever reads a structure as causes and effects adjusts for some variables to compute what setting x
does to y. These distances count the ordered pairs (x, y) for which that adjustment, read off one
structure, is wrong if the other one is true (Peters and Bühlmann 2015; Henckel, Würtzen and
Weichwald 2024, whose program `gadjid` counts them).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bools
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag


class AdjustmentDistances(NamedTuple):
    """Pairs with a wrong effect, adjusted for parents, for ancestors, or for the optimal set."""

    parent_aid: int
    ancestor_aid: int
    oset_aid: int


class OrientationAccuracy(NamedTuple):
    """Precision and recall of the directed edges of a CPDAG, each in [0, 1]."""

    precision: float
    recall: float


def sid(dag: DAG, truth: DAG) -> int:
    """The structural intervention distance of two DAGs as they are written, every arrow a cause.

    The number of ordered pairs whose effect is wrong when the parents in `dag` are adjusted for.

    Raises
    ------
    StructureError : the variables differ.

    Examples
    --------
    >>> chain = DAG.from_edges("abc", ["ab", "bc"])
    >>> sid(chain, chain), sid(DAG.from_edges("abc", ["ba", "bc"]), chain)
    (0, 3)
    """
    import gadjid

    if dag.n < 2:
        return 0
    wanted = _marks(truth.reorder(dag.names).adjacency)
    return int(gadjid.sid(wanted, _marks(dag.adjacency), _ROWS)[1])


def adjustment_distances(dag: DAG, truth: DAG) -> AdjustmentDistances:
    """The distances of the CPDAGs: what a direction that is open says counts as not said.

    Equivalent structures have distance 0.

    Raises
    ------
    StructureError : the variables differ.
    """
    import gadjid

    if dag.n < 2:
        return AdjustmentDistances(0, 0, 0)
    wanted = _marks(dag_to_cpdag(truth.reorder(dag.names)).adjacency)
    found = _marks(dag_to_cpdag(dag).adjacency)
    kinds = (gadjid.parent_aid, gadjid.ancestor_aid, gadjid.oset_aid)
    return AdjustmentDistances(*(int(kind(wanted, found, _ROWS)[1]) for kind in kinds))


def orientations(dag: DAG, truth: DAG) -> OrientationAccuracy:
    """Directed edges of the CPDAG of `dag` against those of `truth`.

    Without directed edges, precision (recall) is 1.

    Raises
    ------
    StructureError : the variables differ.

    Examples
    --------
    >>> collider = DAG.from_edges("abcd", ["ac", "bc", "cd"])
    >>> orientations(DAG.from_edges("abcd", ["ac", "bc"]), collider)
    OrientationAccuracy(precision=1.0, recall=0.6666666666666666)
    """
    found = set(dag_to_cpdag(dag).directed_edges)
    wanted = set(dag_to_cpdag(truth.reorder(dag.names)).directed_edges)
    right = len(found & wanted)
    return OrientationAccuracy(
        right / len(found) if found else 1.0, right / len(wanted) if wanted else 1.0
    )


_ROWS = "from row to column"


def _marks(adjacency: Bools) -> NDArray[np.int8]:
    """1 for a -> b; 2, in one place, for a - b."""
    both = adjacency & adjacency.T
    return (adjacency & ~both).astype(np.int8) + 2 * np.triu(both).astype(np.int8)
