"""The best structure of at most 28 Gaussian variables, by dynamic programming over all subsets.

Silander & Myllymäki (2006) with every parent set: the joint values of all 2^n subsets come from
one sweep of Schur complements, no list of candidates is needed. For Gaussian BIC, AIC and BGe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import SearchError
from fedbn.limits import require_memory
from fedbn.scores.gaussian import require_regular
from fedbn.search.families.subset_dp import MAX_NODES

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["gaussian_bytes", "gaussian_optimum"]


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
    from fedbn.search.families import _subset_kernels as subsets
    from fedbn.search.optimal import _gaussian_subset_kernels as gaussian

    n = score.n
    if n > MAX_NODES:
        raise SearchError(f"dynamic programming takes at most {MAX_NODES} variables, not {n}")
    require_regular(score)
    require_memory(gaussian_bytes(n), memory, f"dynamic programming over {n} variables")
    t = score.tables
    table = gaussian.best_within(gaussian.joint_values(t.gram, t.constant, t.exponent), n)
    best = subsets.forward(table, n)
    order = subsets.optimal_order(table, best, n)
    return float(best[-1]), _parents(table, order)


def _parents(table: NDArray[np.float64], order: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
    """The smallest set of predecessors that reaches the least cost among all, for each node."""
    from fedbn.search.families._subset_kernels import without

    parents: list[tuple[int, ...]] = [()] * order.size
    placed = 0
    for i in order.tolist():
        chosen = placed
        for j in reversed(range(order.size)):
            fewer = chosen & ~(1 << j)
            if table[i, without(fewer, i)] == table[i, without(placed, i)]:
                chosen = fewer
        parents[i] = tuple(j for j in range(order.size) if chosen >> j & 1)
        placed |= 1 << i
    return tuple(parents)
