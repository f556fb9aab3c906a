"""The best structure of at most 28 Gaussian variables, by dynamic programming over all core.

Silander & Myllymäki (2006) with every parent set: the joint values of all 2^n subsets come from
one sweep of Schur complements, no list of candidates is needed. For Gaussian BIC, AIC and BGe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedbn._core import families as core
from fedbn.arrays import Floats, Ints
from fedbn.errors import SearchError
from fedbn.limits import require_memory
from fedbn.scores.gaussian import require_regular
from fedbn.search.families.subset_dp import MAX_NODES

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore


def gaussian_bytes(n: int) -> int:
    """Peak memory of `gaussian_optimum` for n variables, in bytes."""
    return 8 * (n << (n - 1)) + 2 * 8 * (1 << n)


def gaussian_optimum(
    score: TabulatedScore, memory: int | None = None
) -> tuple[float, tuple[tuple[int, ...], ...]]:
    """The least cost and the parents of each variable in a DAG that reaches it.

    Among equal choices the last in the order of names comes last, with the fewest parents.

    Parameters
    ----------
    score : gaussian-bic, gaussian-aic or bge.
    memory : bytes allowed; checked before anything is allocated.

    Raises
    ------
    DataError : columns are constant or collinear.
    SearchError : too many variables, or too little memory.
    """
    n = score.n
    if n > MAX_NODES:
        raise SearchError(f"dynamic programming takes at most {MAX_NODES} variables, not {n}")
    require_regular(score)
    require_memory(gaussian_bytes(n), memory, f"dynamic programming over {n} variables")
    j = score.core
    table = core.best_within(core.gaussian_subset_values(j.gram, j.constant, j.exponent), n)
    best = core.forward(table)
    order = core.optimal_order(table, best)
    return float(best[-1]), _parents(table, order)


def _parents(table: Floats, order: Ints) -> tuple[tuple[int, ...], ...]:
    """The smallest set of predecessors that reaches the least cost among all, for each node."""
    parents: list[tuple[int, ...]] = [()] * order.size
    placed = 0
    for i in order.tolist():
        chosen = placed
        for j in reversed(range(order.size)):
            fewer = chosen & ~(1 << j)
            if table[i, _without(fewer, i)] == table[i, _without(placed, i)]:
                chosen = fewer
        parents[i] = tuple(j for j in range(order.size) if chosen >> j & 1)
        placed |= 1 << i
    return tuple(parents)


def _without(subset: int, i: int) -> int:
    """The subset as a number over all variables but i: bit i is taken out."""
    low = (1 << i) - 1
    return (subset & low) | ((subset >> (i + 1)) << i)
