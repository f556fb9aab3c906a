"""The criticality of one edge in one input: a minimum cut in a moral ancestral graph.

ψ(x, y, S) is the least number of edges whose removal parts x from y in the moral graph of the
ancestral subgraph of {x, y} + S, minus S (unit capacities). It is 0 iff S d-separates x and y.
Among the minimum cuts the one nearest to y is taken: the edges that leave the set which y reaches
in the residual graph of a maximum flow; it is unique. An edge of the cut that is only a marriage
is no arc, and nothing is removed for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fedbn.errors import StructureError
from fedbn.graphs.bits import pack
from fedbn.graphs.dag import DAG


class MinCut(NamedTuple):
    """Size of the minimum cut, and the arcs (parent, child) on the cut nearest to y, sorted."""

    size: int
    arcs: tuple[tuple[str, str], ...]


def min_cut(dag: DAG, x: str, y: str, given: Iterable[str] = ()) -> MinCut:
    """The minimum cut between x and y given S in one DAG.

    Parameters
    ----------
    dag : an input.
    x, y : two of its names.
    given : S, other names.

    Raises
    ------
    StructureError : a name is unknown, or x, y and S are not disjoint.

    Examples
    --------
    >>> diamond = DAG.from_edges("abcd", ["ab", "ac", "bd", "cd"])
    >>> min_cut(diamond, "a", "d")
    MinCut(size=2, arcs=(('b', 'd'), ('c', 'd')))
    """
    from fedbn._core import consensus

    place = {name: i for i, name in enumerate(dag.names)}
    s = tuple(given)
    for name in (x, y, *s):
        if name not in place:
            raise StructureError(f"{name!r} must be one of the variables {dag.names}")
    if x == y or x in s or y in s:
        raise StructureError(f"x, y and S must be disjoint, got {x!r}, {y!r}, {s}")
    chosen = np.array([[name in s for name in dag.names]])
    parents = pack(dag.adjacency.T)
    size, found = consensus.min_cut(parents, place[x], place[y], pack(chosen))
    arcs = sorted((dag.names[a], dag.names[b]) for a, b in found)
    return MinCut(size, tuple(arcs))
