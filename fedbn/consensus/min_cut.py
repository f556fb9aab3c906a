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
from fedbn.graphs.dag import DAG

__all__ = ["MinCut", "min_cut"]


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
    from fedbn.consensus._kernels import cut_arcs_bits, make_scratch, min_cut_bits, moral_bits
    from fedbn.fusion._kernels import ancestors_bits
    from fedbn.graphs._kernels import pack, set_bit

    place = {name: i for i, name in enumerate(dag.names)}
    s = tuple(given)
    for name in (x, y, *s):
        if name not in place:
            raise StructureError(f"{name!r} must be one of the variables {dag.names}")
    if x == y or x in s or y in s:
        raise StructureError(f"x, y and S must be disjoint, got {x!r}, {y!r}, {s}")
    pa, ch = pack(dag.adjacency.T), pack(dag.adjacency)
    anc = ancestors_bits(pa, ch)
    mor = np.zeros_like(pa)
    for v in range(dag.n):
        moral_bits(pa, ch, v, mor[v])
    low = np.zeros(pa.shape[1], dtype=np.uint64)
    for name in s:
        set_bit(low, place[name])
    scratch = make_scratch(dag.n, pa.shape[1])
    none = np.zeros_like(low)
    size = min_cut_bits(pa, ch, anc, mor, place[x], place[y], low, none, scratch)
    found = np.empty((dag.n_edges + 1, 2), dtype=np.int32)
    count = cut_arcs_bits(pa, ch, scratch, found) if size else 0
    arcs = sorted((dag.names[a], dag.names[b]) for a, b in found[:count])
    return MinCut(int(size), tuple(arcs))
