"""The restricted master as an integer programme (RMIP): the best DAG of the columns at hand.

The paper gives it to a solver as it is. Here a component of up to 25 nodes is solved by dynamic
programming over its subsets and a larger one by branch and cut, as in `learn_optimal`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.limits import NOTHING_MET, Limit, SearchLimits
from fedbn.search.families.families import Families
from fedbn.search.optimal.parts import solve_parts


@dataclass(frozen=True)
class RestrictedOptimum:
    """The best DAG found and its cost; `met` are the limits that ended the search."""

    cost: float
    dag: DAG
    met: frozenset[Limit]


def best_dag(
    families: Families, rng: np.random.Generator, limits: SearchLimits | None = None
) -> RestrictedOptimum:
    """The least cost of a DAG of these families, within the limits."""
    parts = solve_parts(families, "auto", SearchLimits() if limits is None else limits, rng)
    cost = sum(part.cost for part in parts)
    met = NOTHING_MET.union(*(part.met for part in parts))
    return RestrictedOptimum(cost, families.dag([f for p in parts for f in p.chosen]), met)
