"""Branch and cut over listed families with SCIP (Bartlett & Cussens 2013; GOBNILP).

Variables x(i, P) in {0, 1}, one family per node. A constraint handler keeps the choice acyclic: a
point that chooses a cycle is cut off by the cluster of its nodes, wherever it arises, and at the
root fractional points are cut by clusters of k = 1, 2, 3: in a DAG, at least k nodes of a cluster C
have fewer than k parents in C. SCIP's dual reductions are off, for they would not know of cuts to
come; costs are centred per node, so that its tolerances bear on what differs between DAGs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn.arrays import Bits
from fedbn.limits import NOTHING_MET, Limit
from fedbn.search.families.components import cycle_clusters
from fedbn.search.families.families import Families

SAFETY = 1e-6  # natural logarithms: what the bound gives away for these tolerances


@dataclass(frozen=True)
class BranchResult:
    """The cheapest DAG known and what was proven.

    Parameters
    ----------
    chosen : one family per node, by node. cost : their sum.
    bound : no DAG of the families costs less; equal to `cost` when `proven`.
    nodes : of the search tree.
    met : the limits that ended the search.
    """

    chosen: tuple[int, ...]
    cost: float
    bound: float
    proven: bool
    nodes: int
    met: frozenset[Limit]


def branch_and_cut(
    families: Families,
    incumbent: Sequence[int],
    *,
    clusters: Bits | None = None,
    seconds: float | None = None,
    memory: int | None = None,
    rng: np.random.Generator,
) -> BranchResult:
    """The cheapest DAG of these families.

    Parameters
    ----------
    families : listed, as many as memory allows.
    incumbent : the families of a known DAG, by node.
    clusters : uint64 [C, W], constraints to begin with.
    seconds, memory : limits (wall clock; bytes that SCIP may hold).
    rng : for the start sets of the separation.
    """
    from fedbn.search.optimal._scip import acyclic_model

    lowest = families.cost[families.start[:-1]]
    model, x = acyclic_model(families, families.cost - lowest[families.node], clusters, rng)
    if seconds is not None:
        model.setParam("limits/time", max(0.001, seconds))
    if memory is not None:
        model.setParam("limits/memory", memory / 2**20)
    _offer(model, x, incumbent)
    model.optimize()
    chosen, cost = tuple(int(f) for f in incumbent), _cost(families, incumbent)
    if model.getNSols():
        best = model.getBestSol()
        found = [f for f in range(families.size) if model.getSolVal(best, x[f]) > 0.5]
        if len(found) == families.n and _cost(families, found) < cost and acyclic(families, found):
            chosen, cost = tuple(found), _cost(families, found)
    status = str(model.getStatus())
    bound = min(cost, float(model.getDualbound()) + float(lowest.sum()) - SAFETY)
    proven = status == "optimal" and cost - bound <= 2.0 * SAFETY
    ended = {"timelimit": Limit.TIME, "memlimit": Limit.MEMORY, "userinterrupt": Limit.INTERRUPTION}
    met = NOTHING_MET if proven else frozenset({ended.get(status, Limit.STEPS)})
    return BranchResult(
        chosen, cost, cost if proven else bound, proven, int(model.getNTotalNodes()),
        met,
    )  # fmt: skip


def acyclic(families: Families, chosen: Sequence[int]) -> bool:
    """Whether one family per node makes a DAG."""
    return len(cycle_clusters(families, np.asarray(chosen))) == 0


def _cost(families: Families, chosen: Sequence[int]) -> float:
    return float(families.cost[np.asarray(chosen)].sum())


def _offer(model: Any, x: list[Any], chosen: Sequence[int]) -> None:
    """Give SCIP a DAG to begin with."""
    solution = model.createSol()
    for f in chosen:
        model.setSolVal(solution, x[int(f)], 1.0)
    model.addSol(solution)
