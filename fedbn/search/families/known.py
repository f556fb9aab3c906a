"""Families that keep background knowledge: all required and no forbidden parents.

A list of families holds what no subset of the parents beats by more than a slack. Forbidden parents
change nothing about that: with a set its subsets are allowed, too. Required ones do: a set may only
be beaten by one that has them. So the families of a variable with required parents are listed anew,
the required ones with every set of others, up to `MOST` sets; where these are more, with small sets
alone, and PARENTS is met.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import NOTHING_MET, Limit
from fedbn.search.families.families import Families

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

MOST = 1 << 14
"""Sets of one variable with required parents that are scored at most."""

TOLERANCE = 1e-8

Pairs = list[tuple[float, tuple[int, ...]]]


def families_that_keep(
    families: Families,
    knowledge: Knowledge,
    score: TabulatedScore,
    *,
    slack: float = 0.0,
    max_parents: int | None = None,
    varying: Sequence[int] | None = None,
) -> tuple[Families, frozenset[Limit]]:
    """The families among which every DAG keeps the knowledge, and the limits that were met.

    Parameters
    ----------
    families : over the names of the score, as `parent_sets` lists them with this slack and cap.
    knowledge : over the same names.
    score : of the families.
    slack : in natural logarithms.
    max_parents : the cap; the required parents are kept even above it.
    varying : indices of the variables that may be parents without being required; all by default.

    Raises
    ------
    ConfigError : the knowledge names a variable that is not among the names.
    """
    names = families.names
    forbidden, required = knowledge.forbidden_matrix(names), knowledge.required_matrix(names)
    others = set(range(len(names)) if varying is None else varying)
    lists: list[Pairs] = []
    met = NOTHING_MET
    for v in range(len(names)):
        barred = set(np.flatnonzero(forbidden[:, v]).tolist())
        wanted = tuple(np.flatnonzero(required[:, v]).tolist())
        if wanted:
            rest = sorted(others - {v, *wanted} - barred)
            found, whole = _with(score, v, wanted, rest, slack, max_parents)
            met = met if whole else met | {Limit.PARENTS}
            lists.append(found)
        else:
            lists.append(_without(families, v, barred))
    return Families.from_parents(names, lists), met


def _without(families: Families, v: int, barred: set[int]) -> Pairs:
    """The listed families of a variable that have none of some parents."""
    places = range(int(families.start[v]), int(families.start[v + 1]))
    pairs = ((float(families.cost[f]), families.parents(f)) for f in places)
    return [(cost, parents) for cost, parents in pairs if not barred & set(parents)]


def _with(
    score: TabulatedScore,
    v: int,
    wanted: tuple[int, ...],
    rest: list[int],
    slack: float,
    max_parents: int | None,
) -> tuple[Pairs, bool]:
    """The sets with the wanted parents that no smaller such set beats by more than the slack; and
    whether none was left out for its size."""
    most = len(rest) if max_parents is None else max(0, max_parents - len(wanted))
    while sum(math.comb(len(rest), size) for size in range(min(most, len(rest)) + 1)) > MOST:
        most = min(most, len(rest)) - 1
    best: dict[tuple[int, ...], float] = {}
    kept: Pairs = []
    for size in range(min(most, len(rest)) + 1):
        for extra in combinations(rest, size):
            parents = tuple(sorted((*wanted, *extra)))
            cost = -score.local_score(v, parents)
            below = min((best[extra[:k] + extra[k + 1 :]] for k in range(size)), default=np.inf)
            if not below + slack + TOLERANCE < cost:
                kept.append((cost, parents))
            best[extra] = min(cost, below)
    return kept, most >= len(rest)


def with_way_out(families: Families) -> Families:
    """With no parents, so dear that no best DAG has it, for every variable that lacks that set.

    Most orders would be no DAG's without it, and heuristics would not find a first one.
    """
    lists: list[Pairs] = [[] for _ in families.names]
    for f in range(families.size):
        lists[int(families.node[f])].append((float(families.cost[f]), families.parents(f)))
    spans = [max(costs) - min(costs) for costs in ([cost for cost, _ in of] for of in lists)]
    for of in lists:
        if all(parents for _, parents in of):
            of.append((min(cost for cost, _ in of) + 1.0 + math.fsum(spans), ()))
    return Families.from_parents(families.names, lists)
