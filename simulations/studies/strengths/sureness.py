"""The probability that a pair is an edge, guessed from how many sites join it.

The pair counts as an edge of the network that the rows were sampled from whatever its direction;
sites are alike, learn with GES and BDeu, and send one structure each. The study shows that no such
guess holds from one network to another, so nothing outside the study uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats

__all__ = ["SURENESS", "Seen", "fit_sureness", "sureness"]

SURENESS = (2.998, 1.343, 0.2315, -0.8945)
"""a, b, c, d of `sureness`: fitted to the part "tuning" of the study."""


def sureness(joining: int, sites: int, frequent: int, numbers: Sequence[float] = SURENESS) -> float:
    """The probability that a pair which this many of the sites join is an edge.

    Its log odds are a + b l + c ln(sites) + d ln(1 + frequent), l the log odds of
    (joining + 1/2) / (sites + 1). The more pairs a federation joins often, the more it joins by
    chance: one site's word says less of a large network.

    Parameters
    ----------
    joining : from 1 to `sites`.
    frequent : pairs that at least half of the sites join.
    numbers : a, b, c, d.
    """
    features = _features(np.array([[joining, sites, frequent]], dtype=np.float64))
    return float(1 / (1 + np.exp(-(features @ np.array(numbers))[0])))


class Seen(NamedTuple):
    """Pairs of one federation that so many of its sites join, and how many of them are edges."""

    joining: int
    sites: int
    frequent: int
    pairs: int
    edges: int
    weight: float = 1.0


def fit_sureness(seen: Sequence[Seen]) -> tuple[float, ...]:
    """The numbers of largest likelihood, every pair counting by its weight; to four digits."""
    from scipy.optimize import minimize
    from scipy.special import expit

    table = np.array(seen, dtype=np.float64)
    design, (pairs, edges, weight) = _features(table), table[:, 3:].T

    def loss(numbers: Floats) -> tuple[float, Floats]:
        score = design @ numbers
        value = weight * (pairs * np.logaddexp(0, score) - edges * score)
        return float(value.sum()), design.T @ (weight * (pairs * expit(score) - edges))

    found = minimize(loss, np.zeros(design.shape[1]), jac=True, method="BFGS").x
    return tuple(float(f"{number:.4g}") for number in found)


def _features(table: Floats) -> Floats:
    """[rows, 4] of joining, sites and frequent pairs."""
    joining, sites, frequent = table[:, :3].T
    log_odds = np.log((joining + 0.5) / (sites - joining + 0.5))
    return np.stack([np.ones(len(table)), log_odds, np.log(sites), np.log1p(frequent)], axis=1)
