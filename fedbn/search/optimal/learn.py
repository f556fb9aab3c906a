"""A structure of best score, with a bound that says how far from the best it can be.

1. Undominated parent sets, by levels. 2. Ordering search for an incumbent. 3. A linear relaxation
with cluster cuts drops what no better structure can use; what is left falls into strongly connected
components. 4. Each is solved by dynamic programming over subsets, up to `MAX_TABLE_NODES` nodes.
A component that is larger and whose relaxation leaves a gap keeps its bound: the result then says
"feasible with bound".
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.search.optimal.cluster_lp import ClusterLP
from fedbn.search.optimal.components import components
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.ordering import ordering_search
from fedbn.search.optimal.parent_sets import TOLERANCE, parent_sets
from fedbn.search.optimal.subset_dp import free_memory, subset_bytes, subset_tables

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["METHODS", "OptimalResult", "learn_optimal"]

MAX_TABLE_NODES = 25
METHODS = ("auto", "subsets", "clusters", "ordering")

Status = Literal["optimal", "feasible with bound", "heuristic"]


@dataclass(frozen=True)
class OptimalResult:
    """The best DAG found and what is proven of it; scores are maximised.

    Parameters
    ----------
    dag : the structure.
    score : its total.
    upper_bound : no DAG scores more; infinite for a heuristic.
    gap : upper_bound - score, at least 0.
    status : "optimal" when the gap is below 1e-8 and every parent set was considered.
    proof : in words, what the bound rests on.
    counters : parent sets, scored sets, components, largest component.
    """

    dag: DAG
    score: float
    upper_bound: float
    gap: float
    status: Status
    proof: str
    counters: Mapping[str, int]


@dataclass(frozen=True)
class _Part:
    """One component: chosen families (among all), their cost, a lower bound, how it was found."""

    chosen: list[int]
    cost: float
    bound: float
    how: str


def learn_optimal(
    score: TabulatedScore,
    method: str = "auto",
    *,
    seconds: float | None = None,
    memory: int | None = None,
    max_parents: int | None = None,
    rng: np.random.Generator | None = None,
) -> OptimalResult:
    """The DAG of best score, proven where the limits allow.

    Parameters
    ----------
    score : any score of `fedbn.scores`.
    method : "auto"; "subsets" (dynamic programming alone); "clusters" (the relaxation and dynamic
        programming on what it leaves); "ordering" (a heuristic, no bound).
    seconds : wall-clock limit. memory : bytes, checked before large arrays.
    max_parents : a cap; a structure under it is never called optimal unless no set was cut off.
    rng : for the ordering search.

    Raises
    ------
    ConfigError : unknown method.
    SearchError : the memory does not suffice for the parent sets, or for "subsets".
    """
    if method not in METHODS:
        raise ConfigError(f"the method must be one of {', '.join(METHODS)}, not {method!r}")
    began = time.monotonic()
    rng = np.random.default_rng(0) if rng is None else rng
    found = parent_sets(score, max_parents=max_parents, memory=memory, seconds=seconds)
    families = found.families
    deadline = None if seconds is None else began + seconds
    parts = _solved(families, method, memory, deadline, rng)
    chosen = sorted(f for part in parts for f in part.chosen)
    cost = float(families.cost[chosen].sum())
    bound = sum(part.bound for part in parts)
    gap = max(0.0, cost - bound)
    proven = gap <= TOLERANCE * max(1, families.n)
    how = "; ".join(sorted({part.how for part in parts}))
    status: Status = "heuristic"
    if found.complete and np.isfinite(bound):
        status = "optimal" if proven else "feasible with bound"
    if not found.complete:
        how += f"; parent sets of more than {found.largest} variables were not considered"
        bound, gap = -np.inf, np.inf
    return OptimalResult(
        families.dag(chosen), -cost, -cost if status == "optimal" else -bound,
        0.0 if status == "optimal" else gap, status, how,
        {
            "parent_sets": families.size,
            "scored": found.scored,
            "components": len(parts),
            "largest_component": max(len(part.chosen) for part in parts),
        },
    )  # fmt: skip


def _solved(
    families: Families,
    method: str,
    memory: int | None,
    deadline: float | None,
    rng: np.random.Generator,
) -> list[_Part]:
    """Component by component; the relaxation may split one into several."""
    waiting = [families.restricted(nodes) for nodes in components(families)]
    done = []
    while waiting:
        part, origin = waiting.pop()
        if method == "ordering":
            best, chosen = ordering_search(part, rng, seconds=_left(deadline))
            done.append(_Part([int(origin[f]) for f in chosen], best, -np.inf, "ordering search"))
        elif method == "subsets" or _table_fits(part.n, memory):
            tables = subset_tables(part, memory=memory)
            chosen = tables.chosen
            how = "dynamic programming over subsets"
            done.append(_Part([int(origin[f]) for f in chosen], tables.opt, tables.opt, how))
        else:
            solved, smaller = _relaxed(part, origin, deadline, rng)
            done += solved
            waiting += smaller
    return done


def _relaxed(
    part: Families, origin: np.ndarray, deadline: float | None, rng: np.random.Generator
) -> tuple[list[_Part], list[tuple[Families, np.ndarray]]]:
    """What the relaxation settles, and the components that it leaves to solve."""
    best, chosen = ordering_search(part, rng, restarts=4 * part.n, seconds=_left(deadline))
    bound = ClusterLP(part).close(rng=rng, seconds=_left(deadline), target=best - TOLERANCE)
    whole = _Part([int(origin[f]) for f in chosen], best, bound.bound, "cluster cuts")
    if best - bound.bound <= TOLERANCE:
        return [whole], []
    keep = bound.bound + bound.reduced <= best + TOLERANCE
    kept, places = part.select(keep), np.flatnonzero(keep)
    pieces = components(kept)
    if len(pieces) == 1 and len(pieces[0]) > MAX_TABLE_NODES:
        return [whole], []
    smaller = []
    for nodes in pieces:
        inside, where = kept.restricted(nodes)
        smaller.append((inside, origin[places][where]))
    return [], smaller


def _table_fits(nodes: int, memory: int | None) -> bool:
    """Whether dynamic programming is small enough to be tried first."""
    allowed = free_memory() if memory is None else min(memory, free_memory())
    return nodes <= MAX_TABLE_NODES and subset_bytes(nodes) <= allowed


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
