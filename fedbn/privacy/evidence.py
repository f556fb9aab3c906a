"""How strongly noisy covariances speak for a dependence: a Bayes factor that knows its noise.

Everything here is computed from releases and costs no row. Features are whitened, so that under
independence every entry of the covariance of x and y has mean 0 and the variance ν² that follows
from the noise of the releases and the number of rows, but at least MIN_NOISE. Where there is a
dependence an entry is taken as normal with variance s² + ν². Hence, for an entry c,

    ln BF = ½ ( c² / ν² · s² / (s² + ν²) - ln(1 + s² / ν²) ),

and the evidence is the sum over the entries. Given other variables, c is the partial covariance (of
the features, as if they were Gaussian: Loh & Wainwright 2013 say what that keeps of discrete
networks), with entries towards the given variables shrunk by s² / (s² + ν²) first.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.privacy.features import UNIT, Features

PRIOR_VARIANCE = 0.1
"""s²: variance of a whitened covariance where there is a dependence."""

MIN_NOISE = 1e-3
"""Least ν²: rows of less weight, and what is not Gaussian, leave something without a dependence."""

RIDGE = 0.01
LEAST_RESIDUAL = 0.1


class Evidence:
    """Estimates from releases, the later added to the earlier by their precision.

    Parameters
    ----------
    features : of the n variables.
    rows : the noisy number of rows, at least 1.
    """

    def __init__(self, features: Features, rows: int) -> None:
        self._sizes = [table.shape[1] for table in features.tables]
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self._rows = rows
        total = int(self._starts[-1])
        self._whiten, self._scale = np.zeros((total, total)), np.ones(total)
        for spread, inside in zip(features.spreads, map(self._block, range(self.n)), strict=True):
            values, vectors = np.linalg.eigh(spread)
            values = np.maximum(values, 1e-9)
            self._whiten[inside, inside] = vectors / np.sqrt(values)
            self._scale[inside] = values
        self._precision, self._weighted = np.zeros((total, total)), np.zeros((total, total))
        self._known: dict[tuple[int, int, frozenset[int]], float] = {}

    @property
    def n(self) -> int:
        """Number of variables."""
        return len(self._sizes)

    def _block(self, v: int) -> slice:
        return slice(int(self._starts[v]), int(self._starts[v + 1]))

    def add(self, pairs: Bools, products: Floats, variance: int) -> None:
        """Take in a release: noisy products of the features of these pairs.

        Parameters
        ----------
        pairs : [n, n] symmetric.
        products : [m, m] symmetric, of all coordinates; entries of other pairs are not read.
        variance : of the noise on every entry.
        """
        asked = np.repeat(np.repeat(pairs, self._sizes, axis=0), self._sizes, axis=1)
        count = UNIT * self._rows
        products = np.where(asked, products, 0.0)
        values = self._whiten.T @ products @ self._whiten / count
        noise = variance / count**2 / np.outer(self._scale, self._scale)
        self._precision += np.where(asked, 1 / noise, 0.0)
        self._weighted += np.where(asked, values / noise, 0.0)
        noise = 1 / np.maximum(self._precision, 1e-300) + 1 / self._rows
        self._noise = np.maximum(noise, MIN_NOISE)
        self._values = self._weighted / np.maximum(self._precision, 1e-300)
        self._shrunk = self._values * PRIOR_VARIANCE / (PRIOR_VARIANCE + self._noise)
        for v in range(self.n):
            self._shrunk[self._block(v), self._block(v)] = np.eye(self._sizes[v])
        self._known.clear()

    def of(self, x: int, y: int, given: frozenset[int] = frozenset()) -> float:
        """ln of the Bayes factor for a dependence of x and y given others; symmetric in x and y."""
        key = (min(x, y), max(x, y), given)
        if key not in self._known:
            self._known[key] = self._compute(*key)
        return self._known[key]

    def _compute(self, x: int, y: int, given: frozenset[int]) -> float:
        a, b = self._block(x), self._block(y)
        values, noise = self._values[a, b], self._noise[a, b]
        if given:
            z = np.concatenate([np.r_[self._block(v)] for v in sorted(given)])
            towards_x, towards_y = self._shrunk[a, z], self._shrunk[b, z]
            inverse = np.linalg.inv(self._shrunk[np.ix_(z, z)] + RIDGE * np.eye(z.size))
            of_x, of_y = towards_x @ inverse, towards_y @ inverse
            residual = np.outer(_residual(of_x, towards_x), _residual(of_y, towards_y))
            noise = noise + of_x**2 @ self._noise[z, b] + (of_y**2 @ self._noise[z, a]).T
            values, noise = (values - of_x @ towards_y.T) / np.sqrt(residual), noise / residual
        share = PRIOR_VARIANCE / (PRIOR_VARIANCE + noise)
        return float(0.5 * (values**2 / noise * share + np.log1p(-share)).sum())


def _residual(coefficients: Floats, towards: Floats) -> Floats:
    """The variances that the given variables leave."""
    left: Floats = np.maximum(1 - (coefficients * towards).sum(axis=1), LEAST_RESIDUAL)
    return left
