"""Insert, Delete and Turn on the class of a structure, where some families are counted (GES, XGES).

An operator with sets moves several parents at once: Insert(x, y, T) compares y with the parents
NA_yx ∪ T ∪ Pa(y) with and without x. The compiled search (`core/search/lookout.hpp`) takes
operators whose families are counted, and notes the families of all others that it looks at. These
are what a climb asks for next; what it finds among the counted ones competes with the ordering
search.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbn.arrays import Bits, Bools
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.family_counts import Family

PATIENCE = 1_000
"""Rows of operators that are looked at between two kicks, for each variable; an honest search ends
far below, and one in scores that contradict each other must end, too."""


def look_around(
    dag: DAG,
    scores: Mapping[Family, float],
    knowledge: Knowledge | None = None,
    pairs: Bools | None = None,
    *,
    kicks: bool,
) -> tuple[DAG, tuple[Family, ...]]:
    """Where the scored families lead from a DAG, and the families that were wanted.

    Parameters
    ----------
    dag : where to begin; it keeps the knowledge.
    scores : of families, those of the DAG among them; the same for all members of a class.
    knowledge : what every structure keeps.
    pairs : bool [n, n], symmetric: the pairs that may be joined besides the DAG's; None for all.
    kicks : whether to take every edge away in turn and to look around from there, too (XGES).
    """
    from fedbn._core import search

    known = Knowledge() if knowledge is None else knowledge
    barred = known.forbidden_matrix(dag.names)
    if pairs is not None:
        barred = barred | ~(pairs | dag.adjacency | dag.adjacency.T)
    families = sorted(scores)
    parents, nodes, wanted = search.look_around(
        [family.node for family in families],
        _bits([family.parents for family in families], dag.n),
        np.array([scores[family] for family in families]),
        start=pack(dag.adjacency.T),
        forbidden=pack(barred.T),
        required=known.bits(dag.names)["required"],
        kicks=kicks,
        patience=PATIENCE * dag.n,
    )
    which, members = (place.tolist() for place in np.nonzero(unpack(wanted, dag.n)))
    sets: list[list[int]] = [[] for _ in nodes]
    for family, member in zip(which, members, strict=True):
        sets[family].append(member)
    asked = tuple(map(Family, nodes.tolist(), map(tuple, sets)))
    return DAG(dag.names, unpack(parents, dag.n).T), asked


def _bits(sets: list[tuple[int, ...]], n: int) -> Bits:
    members = np.zeros((len(sets), n), dtype=np.bool_)
    for row, parents in zip(members, sets, strict=True):
        row[list(parents)] = True
    return pack(members)
