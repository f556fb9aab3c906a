"""How sure an edge is, from how many sites join its pair.

`sureness` was calibrated: of the pairs said to be so sure, so many are edges of the network that
the rows were sampled from, whatever their direction. Its numbers were fitted to some networks and
hold on others (docs/studies/strengths.md), for alike sites that learn with GES and BDeu and send
one structure each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["SURENESS", "fit_sureness", "site_interval", "sureness"]

SURENESS = (0.3914, 1.411, 0.4447)
"""Constant, slope, and what more sites are worth: fitted to the part "tuning" of the study."""


def site_interval(joining: int, sites: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of the share of sites that join a pair (Clopper and Pearson 1934).

    Of all sites alike these: each bound is where what was seen, or more of it, has the probability
    (1 - level) / 2.

    >>> [round(bound, 3) for bound in site_interval(9, 10)]
    [0.555, 0.997]
    """
    from scipy.stats import binomtest

    found = binomtest(joining, sites).proportion_ci(level, method="exact")
    return float(found.low), float(found.high)


def sureness(joining: int, sites: int, numbers: Sequence[float] = SURENESS) -> float:
    """The probability that a pair which this many of the sites join is an edge.

    The log odds are a + b l + c ln(sites) with l the log odds of (joining + 1/2) / (sites + 1).

    Parameters
    ----------
    joining : from 1 to `sites`.
    numbers : a, b, c.
    """
    a, b, c = numbers
    log_odds = math.log((joining + 0.5) / (sites - joining + 0.5))
    return 1 / (1 + math.exp(-(a + b * log_odds + c * math.log(sites))))


def fit_sureness(seen: Sequence[tuple[int, int, int, int]]) -> tuple[float, float, float]:
    """The numbers of largest likelihood, to four digits.

    Parameters
    ----------
    seen : (joining, sites, pairs, how many of them are edges).
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    table = np.array(seen, dtype=np.float64)
    k, n, pairs, edges = table.T
    design = np.stack([np.ones(len(table)), np.log((k + 0.5) / (n - k + 0.5)), np.log(n)], axis=1)

    def loss(numbers: np.ndarray) -> tuple[float, np.ndarray]:
        score = design @ numbers
        value = np.sum(pairs * np.logaddexp(0, score) - edges * score)
        return float(value), design.T @ (pairs * expit(score) - edges)

    found = minimize(loss, np.zeros(3), jac=True, method="BFGS").x
    a, b, c = (float(f"{number:.4g}") for number in found)
    return a, b, c
