"""Rows as vectors of whole numbers, and sums over rows of which one row moves little.

A state a of a variable with r states becomes a vector of r - 1 numbers: its indicator less the
(noisy) shares of all states, in Helmert's orthonormal contrasts, scaled so that its mean squared
length over the states is about G², whatever the variable, and rounded. A product of the vectors of
x and y, summed over rows, is the covariance of x and y, in G² N.

**Sensitivity.** For a set of pairs a row's products have the squared length
S = Σ_pairs |f_x|² |f_y|², an integer. The row is counted with the weight w ≤ UNIT, the largest
integer with w² S ≤ UNIT² B, so adding or removing it changes all sums together by no more than
UNIT sqrt(B) in Euclidean length. B = κ² G⁴ · (number of pairs): rows with many rare states count
less, typical rows in full. Features, pairs and B must not depend on the table but through releases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn.arrays import Array, Bools, Codes, Floats, Ints

MAX_PAIRS = 1 << 24
"""Fewer pairs than this are put into one release: sums of more could overflow."""

UNIT = 64
"""The weight of a row that is not cut."""

SCALE = 64
"""G: mean length of a feature."""

MIN_SPREAD = 1 / 64
"""Least variance of the indicators of a variable that the scale makes up for."""

KAPPA_SQUARED = (9, 4)
"""κ² as a fraction: how much longer than a typical row a row may be before it is cut."""

_CHUNK = 1 << 14


@dataclass(frozen=True)
class Features:
    """Tables from states to integer vectors, one per variable, and the covariance they expect.

    Attributes
    ----------
    tables : for each variable int64 [r, r - 1].
    spreads : for each variable float64 [r - 1, r - 1]: Σ_a share_a f_a f_aᵀ.
    """

    tables: tuple[Ints, ...]
    spreads: tuple[Floats, ...]

    @classmethod
    def of(cls, shares: Sequence[Floats]) -> Features:
        """The features for these shares of states, each of which sums to 1."""
        tables, spreads = [], []
        for share in shares:
            contrasts = _contrasts(share.size)
            spread = max(MIN_SPREAD, 1 - float(share @ share))
            exact = (np.eye(share.size) - share) @ contrasts * (SCALE / np.sqrt(spread))
            table = np.rint(exact).astype(np.int64)
            tables.append(table)
            spreads.append((table * share[:, None]).T @ table)
        return cls(tuple(tables), tuple(spreads))


def _contrasts(r: int) -> Floats:
    """Helmert's contrasts: [r, r - 1], orthonormal columns that sum to 0."""
    columns = np.zeros((r, r - 1))
    for k in range(1, r):
        columns[:k, k - 1] = 1
        columns[k, k - 1] = -k
        columns[:, k - 1] /= np.sqrt(k * (k + 1))
    return columns


def squared_bound(n_pairs: int) -> int:
    """B for so many pairs."""
    numerator, denominator = KAPPA_SQUARED
    return numerator * SCALE**4 * n_pairs // denominator


def weighted_products(codes: Codes, features: Features, pairs: Bools) -> Ints:
    """Σ over rows of w f fᵀ: [m, m] of all coordinates; only blocks of `pairs` may be used.

    Parameters
    ----------
    codes : [rows, n] states, below 2^28 rows.
    features : of the n variables.
    pairs : [n, n] symmetric, False on the diagonal: the pairs that are asked for.

    Notes
    -----
    See `sums_of_products` for what cannot overflow: a squared feature is at most 2^19.
    """
    tables = features.tables

    def features_of(part: Codes) -> list[Ints]:
        return [table[part[:, v]] for v, table in enumerate(tables)]

    return sums_of_products(codes, features_of, sum(table.shape[1] for table in tables), pairs)


def sums_of_products(
    rows: Array,
    features_of: Callable[[Any], list[Ints]],
    total: int,
    pairs: Bools,
) -> Ints:
    """Σ over rows of w f fᵀ: [total, total] of all coordinates; w by the module's docstring.

    Parameters
    ----------
    rows : [rows, n], below 2^28 rows.
    features_of : some rows -> for each variable its features, int64 [those rows, coordinates].
    total : number of coordinates of all variables.
    pairs : [n, n] symmetric, the pairs that are asked for. On the diagonal True asks for the
        products of a variable's features with themselves.

    Notes
    -----
    Nothing overflows with fewer than MAX_PAIRS pairs where the squared features of a variable sum
    to at most 2^19: a weight is at most 2^6.
    """
    sums = np.zeros((total, total), dtype=np.int64)
    asked = np.triu(pairs).astype(np.int64)
    bound = squared_bound(int(asked.sum()))
    for start in range(0, len(rows), _CHUNK):
        chosen = features_of(rows[start : start + _CHUNK])
        coordinates = np.concatenate(chosen, axis=1)
        lengths = np.stack([(each**2).sum(axis=1) for each in chosen], axis=1)
        squared = (lengths @ asked * lengths).sum(axis=1)
        weights = _weights(squared, bound)
        sums += (coordinates * weights[:, None]).T @ coordinates
    return sums


def _weights(squared: Ints, bound: int) -> Ints:
    """The largest w ≤ UNIT with w² S ≤ UNIT² B: the root of a whole number up to UNIT² is exact."""
    quotients = np.minimum(UNIT**2, UNIT**2 * bound // np.maximum(squared, 1))
    weights: Ints = np.floor(np.sqrt(quotients)).astype(np.int64)
    return weights
