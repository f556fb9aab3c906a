"""Exact optimum and min-marginals by dynamic programming over all subsets of the nodes.

Silander & Myllymäki (2006), with costs from a list of families; the backward pass gives the least
cost of a DAG through each family, which the credible sets need.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fedbn._core import families as core
from fedbn.arrays import Bits, Floats, Ints
from fedbn.errors import SearchError
from fedbn.limits import require_memory
from fedbn.search.families.families import Families

MAX_NODES = 28
TABLE_SPEED = 2e7  # entries of the table of best families a second, of a slow machine


@dataclass(frozen=True)
class SubsetTables:
    """What one run over the subsets gives.

    opt is the least cost of a DAG; `chosen` one family per node that reaches it; `rest` [2^m] the
    least cost of adding the nodes outside a subset after it; `marginal` [F] the least cost of a
    DAG through each family.
    """

    opt: float
    chosen: tuple[int, ...]
    rest: Floats
    marginal: Floats


def subset_bytes(m: int) -> int:
    """Peak memory of `subset_tables` for m nodes, in bytes."""
    return 8 * (m << (m - 1)) + 3 * 8 * (1 << m)


def table_seconds(m: int) -> float:
    """About how long dynamic programming over the subsets of m nodes takes on a slow machine."""
    return (m << (m - 1)) / TABLE_SPEED


def subset_tables(families: Families, *, memory: int | None = None) -> SubsetTables:
    """Optimum, an optimal choice, completion costs and min-marginals of at most 28 nodes.

    Parameters
    ----------
    families : of m ≤ 28 nodes.
    memory : bytes allowed; checked before anything large is allocated.

    Raises
    ------
    SearchError : too many nodes, too little memory, or the families admit no DAG.
    """
    m = families.n
    table, best = _forward(families, memory)
    order = core.optimal_order(table, best)
    rest = core.backward(table)
    del table
    marginal = core.marginals(families.node, families.cost, _masks(families), best, rest, m)
    return SubsetTables(float(best[-1]), best_choice(families, order), rest, marginal)


def subset_optimum(
    families: Families, *, memory: int | None = None
) -> tuple[float, tuple[int, ...]]:
    """The least cost and one family per node that reaches it; parameters as `subset_tables`."""
    table, best = _forward(families, memory)
    order = core.optimal_order(table, best)
    return float(best[-1]), best_choice(families, order)


def min_cost_through(
    families: Families, cost: Floats, *, memory: int | None = None
) -> tuple[float, Floats]:
    """The least cost of a DAG, and of a DAG through each family, [F], with other costs.

    Parameters
    ----------
    cost : float64 [F], infinite for a family that may not be used.
    families, memory, errors : as `subset_tables`.
    """
    table, best = _forward(replace(families, cost=cost), memory)
    rest = core.backward(table)
    through = core.marginals(families.node, cost, _masks(families), best, rest, families.n)
    return float(best[-1]), through


def min_cost(families: Families, cost: Floats, *, memory: int | None = None) -> float:
    """The least cost of a DAG with other costs; parameters and errors as `min_cost_through`."""
    return float(_forward(replace(families, cost=cost), memory)[1][-1])


def _forward(families: Families, memory: int | None) -> tuple[Floats, Floats]:
    """B [m, 2^(m-1)] and F [2^m]; raises SearchError as `subset_tables`."""
    m = families.n
    if m > MAX_NODES:
        raise SearchError(f"dynamic programming takes at most {MAX_NODES} variables, not {m}")
    require_memory(subset_bytes(m), memory, f"dynamic programming over {m} variables")
    table = core.best_families(families.node, families.cost, _masks(families), m)
    best = core.forward(table)
    if not np.isfinite(best[-1]):
        raise SearchError("the candidate parent sets admit no acyclic graph")
    return table, best


def _masks(families: Families) -> Bits:
    """The parent sets as numbers."""
    return np.ascontiguousarray(families.bits[:, 0])


def best_choice(families: Families, order: Ints) -> tuple[int, ...]:
    """The best family of each node, by node, whose parents precede it in the order.

    Raises
    ------
    SearchError : a node has no family that fits.
    """
    placed = np.zeros(families.n, dtype=np.bool_)
    chosen = [-1] * families.n
    for i in order.tolist():
        first, last = families.start[i], families.start[i + 1]
        fits = ~(families.has_parent[first:last] & ~placed).any(axis=1)
        if not fits.any():
            raise SearchError(f"no candidate parent set of {families.names[i]!r} fits the order")
        chosen[i] = int(first + np.argmax(fits))
        placed[i] = True
    return tuple(chosen)
