"""Ordering search: insert moves on orders of the nodes, iterated from perturbed local optima.

Teyssier & Koller (2005) with Scanagatta's insertion by swaps. It gives the incumbent of every
exact method.
"""

from __future__ import annotations

import time

import numpy as np

from fedbn._core import families as core
from fedbn.arrays import Ints
from fedbn.search.families.families import Families


def ordering_search(
    families: Families,
    rng: np.random.Generator,
    *,
    start: Ints | None = None,
    restarts: int = 40,
    seconds: float | None = None,
) -> tuple[float, tuple[int, ...]]:
    """The least cost found and its families, one per node.

    Parameters
    ----------
    families : candidates; orders that leave a node without a family are passed over.
    start : the first order; by default a random one.
    restarts : descents from perturbations of the best order; the first starts at a random one.
    seconds : wall-clock limit, checked between descents.
    """
    began = time.monotonic()
    n = families.n
    best_order = (rng.permutation(n) if start is None else np.array(start)).astype(np.int64)
    ordering = core.Ordering(families.start, families.cost, families.bits)
    best, best_order = ordering.descend(best_order)
    for _ in range(restarts):
        if seconds is not None and time.monotonic() - began > seconds:
            break
        order = best_order.copy()
        for _ in range(max(2, n // 6)):
            a, b = rng.integers(n, size=2)
            order[a], order[b] = order[b], order[a]
        total, order = ordering.descend(order)
        if total < best:
            best, best_order = total, order
    _, chosen = ordering.fit(best_order)
    return best, tuple(chosen)
