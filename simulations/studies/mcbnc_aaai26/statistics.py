"""Friedman's test and Holm's procedure as in Table 2 of the paper.

The paper names the tests and prints ranks and p-values; the formulas are those that give its six
p-values to the three printed digits (Demšar 2006, JMLR 7:1, section 3.2.2):

- ranks within a case, ties share the mean rank;
- chi2_F = 12 / (N k (k + 1)) sum R_j^2 - 3 N (k + 1), R_j the rank sums, without correction for
  ties, k - 1 degrees of freedom;
- against the method of best rank: z = (mean rank difference) / sqrt(k (k + 1) / (6 N)), two-sided,
  Holm's step-down adjustment.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, norm, rankdata

TOLERANCE = 1e-9
"""Values within this are equal."""


class Comparison(NamedTuple):
    """Methods over the same cases, best mean rank first.

    `mean_ranks` and `holm` (p against the first, None for itself) are by method; `against` has
    (wins, ties, losses) of the first against each other one.
    """

    cases: int
    mean_ranks: dict[str, float]
    friedman: float
    holm: dict[str, float | None]
    against: dict[str, tuple[int, int, int]]


def ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks within each case, 1 the smallest value.

    Parameters
    ----------
    values : float [cases, methods]; smaller is better.
    """
    whole = np.round(values / TOLERANCE) * TOLERANCE
    return np.asarray(rankdata(whole, axis=1), dtype=np.float64)


def friedman(rank_sums: Sequence[float], cases: int) -> float:
    """p-value of the hypothesis that all methods are alike."""
    k, n = len(rank_sums), cases
    squares = math.fsum(r * r for r in rank_sums)
    return float(chi2.sf(12.0 / (n * k * (k + 1)) * squares - 3.0 * n * (k + 1), k - 1))


def holm(rank_sums: Sequence[float], cases: int) -> list[float | None]:
    """Adjusted p-values of each method against the one of least rank sum; None for that one."""
    k, n = len(rank_sums), cases
    control = int(np.argmin(rank_sums))
    error = math.sqrt(k * (k + 1) / (6.0 * n))
    p = {
        j: 2.0 * float(norm.sf((rank_sums[j] - rank_sums[control]) / n / error))
        for j in range(k)
        if j != control
    }
    adjusted: list[float | None] = [None] * k
    largest = 0.0
    for place, j in enumerate(sorted(p, key=lambda j: p[j])):
        largest = max(largest, min(1.0, (k - 1 - place) * p[j]))
        adjusted[j] = largest
    return adjusted


def win_tie_loss(ours: Sequence[float], theirs: Sequence[float]) -> tuple[int, int, int]:
    """In how many cases the first is smaller, equal, larger."""
    difference = np.asarray(ours) - np.asarray(theirs)
    tied = int((np.abs(difference) <= TOLERANCE).sum())
    won = int((difference < -TOLERANCE).sum())
    return won, tied, len(difference) - won - tied


def compare(values: Mapping[str, Sequence[float]]) -> Comparison:
    """All methods over the same cases.

    Parameters
    ----------
    values : method -> one value per case, smaller is better; the same cases in the same order.
    """
    names = list(values)
    table = np.array([values[name] for name in names], dtype=np.float64).T
    sums = ranks(table).sum(axis=0)
    order = np.argsort(sums, kind="stable")
    first = names[order[0]]
    adjusted = holm(sums.tolist(), len(table))
    return Comparison(
        cases=len(table),
        mean_ranks={names[j]: float(sums[j]) / len(table) for j in order},
        friedman=friedman(sums.tolist(), len(table)),
        holm={names[j]: adjusted[j] for j in order},
        against={
            names[j]: win_tie_loss(values[first], values[names[j]]) for j in order if j != order[0]
        },
    )
