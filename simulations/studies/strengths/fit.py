"""The constants of the probability of an edge, fitted to federations whose network is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from fedbn.arrays import Floats
from fedbn.consensus.sureness import Pairs, features


def fit_sureness(
    seen: Sequence[tuple[Pairs, int, int, Floats]],
) -> tuple[float, ...]:
    """The numbers of largest likelihood, to four digits.

    Parameters
    ----------
    seen : of every federation its pairs, sites, variables, and float64 [P], 1 where the pair is an
        edge. A federation counts by the square root of its pairs.
    """
    design = np.concatenate([features(pairs, n, v) for pairs, n, v, _ in seen])
    edges = np.concatenate([true for *_, true in seen])
    weight = np.concatenate([np.full(len(true), max(len(true), 1) ** -0.5) for *_, true in seen])
    spread = design.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    scaled = design / scale

    def loss(numbers: Floats) -> tuple[float, Floats]:
        odds = scaled @ numbers
        value = weight * (np.logaddexp(0, odds) - edges * odds)
        return float(value.sum()), scaled.T @ (weight * (expit(odds) - edges))

    found = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="BFGS").x / scale
    return tuple(float(f"{number:.4g}") for number in found)
