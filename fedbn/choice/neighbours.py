"""Which families a climb asks for next: those one parent or one operator from what looks best.

One parent: from the families of the structure and of some other members of its class, and from the
two best families of every variable, whether or not they fit into one DAG. The second keeps the
climb from ending where one exchange of directions would open the way. Only pairs are joined that
some site joined in some class.

One operator: Insert, Delete and Turn of the structure's class, whose sets move several parents at
once, over these pairs and those at most two edges apart in the structure (`class_moves`). After a
round that brought nothing better, those of the classes that lie one edge less away, too, which is
a restart from each of them that takes no request of its own; and the operators over all pairs, for
what no site can see alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fedbn.arrays import Bools
from fedbn.choice.by_counts import (
    Climb,
    family_rule,
    scores_of_one_model,
    useful_families,
)
from fedbn.choice.candidates import CandidateLimits, cells_of
from fedbn.choice.class_moves import look_around
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import consistent_extension, dag_to_cpdag
from fedbn.networks.family_counts import SMALL_CELLS, Family, families_of

BEST = 2
"""The neighbours of so many families of every variable are asked for."""


def neighbours(
    state: Climb, pairs: Bools, limits: CandidateLimits | None = None
) -> tuple[Family, ...]:
    """The families to ask for next, sorted; without those that are known.

    Parameters
    ----------
    state : between two rounds.
    pairs : bool [n, n], symmetric: the pairs that sites joined, as `joined_pairs` gives them.
    limits : of tables. A family of more than a few parents (`CandidateLimits`) with more cells than
        there are rows is not asked for, either; where all together have too many, the smallest
        tables come first.
    """
    bounds = limits or CandidateLimits()
    rows = next(iter(state.known.values())).rows
    fixed = {family.node for family in state.uncounted}
    keeps = family_rule(state.knowledge, state.dag.names)
    found = {near for family in _promising(state) for near in _one_away(family, pairs)}
    found |= _of_operators(state, pairs)
    new = [
        family
        for family in found - state.known.keys()
        if family.node not in fixed and keeps(family)
    ]
    return within_limits(new, state.schema, rows, bounds)


def within_limits(
    families: Iterable[Family], schema: Schema, rows: int | None, bounds: CandidateLimits
) -> tuple[Family, ...]:
    """Those that may be asked for, sorted; as many as all tables together may have cells.

    A family of more than a few parents with more cells than `rows` is none of them; None: the
    number of rows is not known.
    """
    sized = sorted(
        (cells_of(schema, family), family) for family in families if bounds.allows(schema, family)
    )
    kept, total = [], 0
    for cells, family in sized:
        if rows is not None and cells > rows and len(family.parents) > bounds.few_parents:
            continue
        total += min(cells, SMALL_CELLS)
        if total > bounds.cells:
            break
        kept.append(family)
    return tuple(sorted(kept))


def joined_pairs(dags: Iterable[DAG]) -> Bools:
    """bool [n, n], symmetric: the pairs that some DAG joins by an edge; over the same names."""
    joined = np.logical_or.reduce([dag.adjacency for dag in dags])
    return np.asarray(joined | joined.T)


def _of_operators(state: Climb, pairs: Bools) -> set[Family]:
    """Those of the operators of the structure's class; once stuck, over all pairs, and those of the
    classes around it."""
    known = state.dag, scores_of_one_model(state), state.knowledge
    found = set(look_around(*known, pairs | _near(state.dag), kicks=state.stuck)[1])
    return found | set(look_around(*known, kicks=False)[1]) if state.stuck else found


def _near(dag: DAG) -> Bools:
    """bool [n, n]: the pairs at most two edges apart."""
    joined = joined_pairs([dag]) | np.eye(dag.n, dtype=np.bool_)
    return np.asarray((joined.astype(np.int64) @ joined) > 0)


def _promising(state: Climb) -> set[Family]:
    """The families whose neighbours are asked for."""
    best = {
        Family(node, parents)
        for node, useful in enumerate(useful_families(state))
        for _, parents in sorted(useful)[:BEST]
    }
    return best | set(families_of([*_members(state.dag), *state.starts]))


def _one_away(family: Family, pairs: Bools) -> set[Family]:
    """One parent fewer, or one more among those that may be joined."""
    node, parents = family
    fewer = {Family(node, tuple(p for p in parents if p != left)) for left in parents}
    others = set(np.flatnonzero(pairs[node]).tolist()) - {node, *parents}
    return fewer | {Family(node, tuple(sorted((*parents, other)))) for other in others}


def _members(dag: DAG) -> tuple[DAG, ...]:
    """Some DAGs of the class: itself, the canonical one, and that of the names read backwards."""
    backwards = _canonical(dag.reorder(dag.names[::-1])).reorder(dag.names)
    return tuple(dict.fromkeys((dag, _canonical(dag), backwards)))


def _canonical(dag: DAG) -> DAG:
    return consistent_extension(dag_to_cpdag(dag))
