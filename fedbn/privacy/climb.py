"""The learner dp-climb: greedy hill climbing that only adds arcs, one private draw per arc.

Every step draws one of all arcs that can be added, or "stop", by the exponential mechanism. The
utility of x -> y is the dependence of x and y given the parents of y (see `dependence.py`) less
what chance makes. Arcs are never taken back: a deletion would cost a draw, too. The stop is set
low, since several noisy DAGs with too many arcs fuse better than as many careful ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.privacy.dependence import Dependence, penalty
from fedbn.privacy.mechanism_runs import STOP, Chooser, Mechanism, Transcript, run_privately

ROWS_PER_CELL = 5
"""A dependence is looked at only in tables with at least so many (noisy) rows per cell."""


def dp_climb(
    dataset: Dataset,
    *,
    rho: Fraction,
    source: Random,
    edges: Fraction = Fraction(3, 2),
    max_parents: int | None = None,
) -> tuple[DAG, Transcript]:
    """A DAG under ρ-zCDP per row, and the transcript, which must not leave.

    Parameters
    ----------
    dataset : categorical, coded for a schema that was given and not read from it.
    rho : budget of the run.
    source : of random bits; `random.SystemRandom()` wherever it protects anybody.
    edges : at most edges · n draws.
    max_parents : largest in-degree; 2 if it is None.

    Raises
    ------
    ConfigError : ρ is too small for so many draws.
    DataError : the data are not categorical.
    """
    draws = math.ceil(edges * dataset.n)
    mechanism = climbing(2 if max_parents is None else max_parents)
    return run_privately(mechanism, dataset, rho=rho, draws=draws, source=source)


def climbing(max_parents: int) -> Mechanism:
    """The mechanism with this largest in-degree."""

    def mechanism(table: Dataset, rows: int, chooser: Chooser) -> DAG:
        return _climb(table, rows, chooser, max_parents)

    return mechanism


def _climb(table: Dataset, rows: int, chooser: Chooser, max_parents: int) -> DAG:
    dependence, arities = Dependence(table), table.cardinalities.tolist()
    adjacency = np.zeros((table.n, table.n), dtype=np.bool_)
    while chooser.left:
        arcs = list(_addable(adjacency, arities, rows, max_parents))
        utilities = []
        for x, y in arcs:
            parents = frozenset(np.flatnonzero(adjacency[:, y]).tolist())
            strata = math.prod(arities[v] for v in parents)
            chance = penalty(rows, strata, arities[x], arities[y])
            utilities.append(dependence.utility(x, y, parents) - chance)
        utilities.append(stop_utility(len(arcs), chooser.rate))
        chosen = chooser.choose([*arcs, STOP], utilities)
        if chosen == len(arcs):
            break
        adjacency[arcs[chosen]] = True
    return DAG(table.names, adjacency)


def stop_utility(candidates: int, rate: Fraction) -> int:
    """ceil(ln(K + 1) / (2λ)) for K candidates: half of what the best of K noises would reach."""
    return math.ceil(math.log(candidates + 1) / (2 * rate))


def _addable(
    adjacency: np.ndarray, arities: list[int], rows: int, max_parents: int
) -> Iterator[tuple[int, int]]:
    """Arcs that close no cycle, keep the in-degree, and whose table the rows can fill."""
    n = len(arities)
    reaches = _reachability(adjacency)
    for y in range(n):
        parents = np.flatnonzero(adjacency[:, y])
        if parents.size >= max_parents:
            continue
        cells = arities[y] * math.prod(arities[v] for v in parents)
        for x in range(n):
            free = x != y and not adjacency[x, y] and not reaches[y, x]
            if free and ROWS_PER_CELL * cells * arities[x] <= rows:
                yield x, y


def _reachability(adjacency: np.ndarray) -> np.ndarray:
    """bool [n, n]: a directed path leads from i to j."""
    reaches = adjacency.copy()
    for k in range(len(reaches)):
        reaches |= np.outer(reaches[:, k], reaches[k])
    return reaches
