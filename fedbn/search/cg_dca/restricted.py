"""RMIP: the best DAG of the columns at hand, one component of their possible edges at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.search.optimal.components import components
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.ordering import ordering_search
from fedbn.search.optimal.subset_dp import best_choice, free_memory

__all__ = ["RestrictedOptimum", "best_dag"]

MAX_TABLE_NODES = 25


@dataclass(frozen=True)
class RestrictedOptimum:
    """The best DAG and its cost; `exact` unless a component was searched by a heuristic."""

    cost: float
    dag: DAG
    exact: bool


def best_dag(
    families: Families, rng: np.random.Generator, memory: int | None = None
) -> RestrictedOptimum:
    """Dynamic programming over the subsets of each component, up to 25 nodes and the memory.

    A larger component is searched by orders, which may miss its best DAG: `exact` is then False.
    """
    cost, exact = 0.0, True
    chosen: list[int] = []
    for nodes in components(families):
        part, where = families.restricted(nodes)
        if _table_fits(part.n, memory):
            least, some = _by_subsets(part)
        else:
            least, some = ordering_search(part, rng, restarts=20 * part.n)
            exact = False
        cost += least
        chosen += [int(where[f]) for f in some]
    return RestrictedOptimum(cost, families.dag(chosen), exact)


def _table_fits(nodes: int, memory: int | None) -> bool:
    allowed = free_memory() if memory is None else min(memory, free_memory())
    return nodes <= MAX_TABLE_NODES and 8 * ((nodes << (nodes - 1)) + (2 << nodes)) <= allowed


def _by_subsets(part: Families) -> tuple[float, tuple[int, ...]]:
    from fedbn.search.optimal import _subset_kernels as kernels

    mask = part.bits[:, 0].astype(np.int64)
    table = kernels.best_families(part.node, part.cost, mask, part.n)
    best = kernels.forward(table, part.n)
    order = kernels.optimal_order(table, best, part.n)
    return float(best[-1]), best_choice(part, order)
