"""Where groups differ by counts: of every variable, structure, parameters, or nothing.

Three models of one variable in two groups, each with its marginal likelihood (BDeu of sums over
the sites):

structure    every group has its own parents and its own table
parameters   both have the parents of one of the groups, and each has its own table
nothing      both have the parents of one of the groups, and one table

A second set of parents costs what it takes to say it, ln n for a parent and one more. The model
with the largest score is taken, ties to the one with less.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, FamilyCounts
from fedbn.scores.family_scores import bdeu_of_counts


@dataclass(frozen=True)
class FamilyDifference:
    """One variable in two groups.

    Attributes
    ----------
    group, other : numbers of the groups, from 1, group < other.
    variable : whose parents and table are compared.
    differs : "structure", "parameters" or "nothing".
    parents, other_parents : in the consensus of each group, by name, with blanks between.
    structure, parameters, nothing : scores of the three models, nats; that of structure with what
        the second set of parents costs, None where both groups have the same parents.
    """

    group: int
    other: int
    variable: str
    differs: str
    parents: str
    other_parents: str
    structure: float | None
    parameters: float
    nothing: float


def family_differences(
    consensuses: Sequence[DAG], counts: Sequence[FamilyCounts], ess: float
) -> tuple[FamilyDifference, ...]:
    """Every variable of every pair of groups, by groups, then variable.

    Parameters
    ----------
    consensuses : of the groups, over the names of the counts' schema.
    counts : of every group, summed over its sites: of the families of all consensuses.
    ess : equivalent sample size of BDeu.

    Raises
    ------
    KeyError : a family was not counted.
    ConfigError : ess is not as it must be.
    """
    parents = [dag.parent_sets() for dag in consensuses]
    own = [_scores(each, ess) for each in counts]
    found = []
    for g in range(len(consensuses)):
        for h in range(g + 1, len(consensuses)):
            both = _scores(counts[g] + counts[h], ess)
            for node in range(consensuses[0].n):
                sets = parents[g][node], parents[h][node]
                families = Family(node, sets[0]), Family(node, sets[1])
                cost = (len(sets[1]) + 1) * math.log(max(2, consensuses[0].n))
                scores = _models(families, (own[g], own[h]), both, cost)
                found.append(_row((g, h), consensuses[0].names, node, sets, scores))
    return tuple(found)


def _scores(counts: FamilyCounts, ess: float) -> dict[Family, float]:
    return dict(zip(counts.tables.families, bdeu_of_counts(counts, ess).tolist(), strict=True))


def _models(
    families: tuple[Family, Family],
    own: tuple[dict[Family, float], dict[Family, float]],
    both: dict[Family, float],
    cost: float,
) -> tuple[float | None, float, float]:
    """Scores of own parents, which cost something, of own tables, and of one table."""
    one, other = families
    apart = None if one == other else own[0][one] + own[1][other] - cost
    tables = max(own[0][family] + own[1][family] for family in families)
    return apart, tables, max(both[family] for family in families)


def _row(
    pair: tuple[int, int],
    names: tuple[str, ...],
    node: int,
    sets: tuple[tuple[int, ...], tuple[int, ...]],
    scores: tuple[float | None, float, float],
) -> FamilyDifference:
    structure, parameters, nothing = scores
    differs, best = "nothing", nothing
    if parameters > best:
        differs, best = "parameters", parameters
    if structure is not None and structure > best:
        differs = "structure"
    parents, others = (" ".join(names[p] for p in own) for own in sets)
    return FamilyDifference(
        pair[0] + 1, pair[1] + 1, names[node], differs, parents, others, *scores
    )
