"""The learner dp-moments on numbers: a class from noisy means, variances and covariances.

Two releases (shares of ρ in brackets); the class that they speak for costs nothing. There are no
draws, as covariances are all that a linear Gaussian network has.

1. The number of rows, and the sum and the sum of squares of every column (1/4).
2. The products of all pairs of columns, a column with itself included (3/4).

**Sensitivity.** Let t be a cell clipped to its stated bounds and mapped to a whole number in
[-T, T], T = GRID. The first release is of (T², T t_1 .. T t_n, t_1² .. t_n²), summed over rows.
Each of its 2n + 1 entries is at most T² in absolute value, so one row, added or removed, changes
the sums by at most T² sqrt(2n + 1) in Euclidean length: Δ² = (2n + 1) T⁴. Means and variances that
follow from it make a row a vector f of whole numbers, f_x = (t_x - mean_x) / deviation_x in units
of 1/SCALE, clipped to ±CLIP deviations. The second release is the sum over rows of w f_x f_y over
the pairs x ≤ y, with the weight of `features.py`: w² Σ_{x ≤ y} f_x² f_y² ≤ UNIT² B, hence
Δ² = UNIT² B with B = κ² SCALE⁴ n (n + 1) / 2, whatever the row. What f is depends on the table
through the first release alone, so that both together cost the sum of their shares (Bun & Steinke
2016).

**Repair and search.** Noise can leave a matrix of correlations that is none. Its eigenvalues below
a floor that grows with the noise are raised to it and the diagonal is scaled back to 1. Greedy
equivalence search by Gaussian BIC then takes the matrix as that of 1 / (1/N + c ν²) rows, ν² the
variance of a correlation's noise. All of this is a function of the releases and costs nothing.
Floor and c were chosen on random networks of seeds that the study does not use
(docs/studies/rivals.md).
"""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension
from fedbn.privacy.bounds import Bounds
from fedbn.privacy.dependence import MAX_ROWS
from fedbn.privacy.features import MAX_PAIRS, SCALE, UNIT, squared_bound, sums_of_products
from fedbn.privacy.moments import MAX_PARENTS
from fedbn.privacy.releases import PrivateReleaser, Releaser, ReleaseTranscript
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges

GRID = 1 << 12
"""T: the whole number of a cell that lies at its upper bound."""

CLIP = 8
"""A cell counts as at most this many deviations from the mean."""

FIRST_SHARE = Fraction(1, 4)
"""Share of ρ for rows, means and variances."""

LEAST_EIGENVALUE = 0.002
FLOOR_OF_NOISE = 3.0
"""No eigenvalue is left below this many deviations of a correlation's noise."""

WEIGHT_OF_NOISE = 60.0
"""How much more the variance of the noise counts than that of sampling: noise is multiplied where a
family's parents depend on each other, and sampling's is not."""

LEAST_VARIANCE = 0.25
"""Of a standardised column, where noise says less."""


def dp_number_moments(
    dataset: Dataset,
    bounds: Bounds,
    *,
    rho: Fraction,
    source: Random,
    max_parents: int | None = None,
) -> tuple[DAG, ReleaseTranscript]:
    """A DAG under ρ-zCDP per row, and the transcript, which must not leave.

    Parameters
    ----------
    dataset : numbers alone.
    bounds : of the columns; they must be known without the table.
    rho, source, max_parents : as for `fedbn.privacy.moments.dp_moments`.

    Raises
    ------
    DataError : the data are not numbers, have 2^28 rows or more, or 2^24 pairs of variables.
    """
    releaser = PrivateReleaser(rho, source)
    parents = MAX_PARENTS if max_parents is None else max_parents
    found = number_class(dataset, bounds, releaser, parents)
    transcript = ReleaseTranscript(rho, tuple(releaser.releases))
    return consistent_extension(found), transcript


def number_class(table: Dataset, bounds: Bounds, releaser: Releaser, max_parents: int) -> PDAG:
    """The class that the releases speak for; it sees the table through the releaser alone.

    Raises
    ------
    DataError : the data are not numbers, have 2^28 rows or more, or 2^24 pairs of variables.
    """
    if table.kind != "gaussian":
        raise DataError(f"noisy covariances need numbers, these are {table.kind}")
    if table.n_rows >= MAX_ROWS:
        raise DataError(f"a table must have fewer than 2^28 rows, not {table.n_rows}")
    if math.comb(table.n + 1, 2) >= MAX_PAIRS:
        raise DataError(f"dp-moments takes at most 5,792 columns of numbers, not {table.n}")
    cells = on_grid(table.values, bounds)
    rows, means, deviations = _release_margins(cells, bounds, releaser)
    correlations, noise = _release_products(cells, rows, means, deviations, releaser)
    least = max(LEAST_EIGENVALUE, FLOOR_OF_NOISE * math.sqrt(noise))
    known = max(1, round(1 / (1 / rows + WEIGHT_OF_NOISE * noise)))
    score = gaussian_from_covariance(
        table.names, repair_correlations(correlations, least), known, criterion="bic"
    )
    return ges(score, SearchRules(max_parents=max_parents)).cpdag


def on_grid(values: Floats, bounds: Bounds) -> Ints:
    """Cells clipped to their bounds, as whole numbers from -GRID (low) to GRID (high)."""
    middle, half = (bounds.low + bounds.high) / 2, (bounds.high - bounds.low) / 2
    scaled = (np.clip(values, bounds.low, bounds.high) - middle) / half
    return np.rint(np.clip(scaled, -1.0, 1.0) * GRID).astype(np.int64)


def standardise(cells: Ints, means: Floats, deviations: Floats) -> Ints:
    """(cell - mean) / deviation in units of 1/SCALE, clipped to ±CLIP deviations, rounded."""
    limit = CLIP * SCALE
    return np.rint(np.clip((cells - means) / deviations * SCALE, -limit, limit)).astype(np.int64)


def repair_correlations(correlations: Floats, least: float) -> Floats:
    """A correlation matrix whose eigenvalues were raised to `least`, nearly the same where none was
    below."""
    values, vectors = np.linalg.eigh((correlations + correlations.T) / 2)
    raised = (vectors * np.maximum(values, least)) @ vectors.T
    lengths = np.sqrt(np.diag(raised))
    scaled = raised / np.outer(lengths, lengths)
    symmetric: Floats = (scaled + scaled.T) / 2
    return symmetric


def _release_margins(cells: Ints, bounds: Bounds, releaser: Releaser) -> tuple[int, Floats, Floats]:
    """The noisy number of rows, means, and deviations of at least half the noise's."""
    n = cells.shape[1]
    count = np.array([len(cells) * GRID**2])
    sums = np.concatenate([count, GRID * cells.sum(axis=0), (cells**2).sum(axis=0)])
    what = ("margins", bounds.low.tobytes(), bounds.high.tobytes())
    noisy, variance = releaser.release(what, sums, (2 * n + 1) * GRID**4, FIRST_SHARE)
    rows = max(1, round(float(noisy[0]) / GRID**2))
    means = np.clip(noisy[1 : n + 1] / (GRID * rows), -GRID, GRID)
    least = max(1.0, math.sqrt(variance) / (2 * rows))
    variances = np.maximum(noisy[n + 1 :] / rows - means**2, least)
    return rows, means, np.sqrt(variances)


def _release_products(
    cells: Ints, rows: int, means: Floats, deviations: Floats, releaser: Releaser
) -> tuple[Floats, float]:
    """Correlations that the release gives, and the mean variance of their noise."""
    n = cells.shape[1]
    pairs = np.ones((n, n), dtype=np.bool_)

    def features_of(part: Ints) -> list[Ints]:
        return list(standardise(part, means, deviations).T[:, :, None])

    above = np.triu(pairs)
    noisy, variance = releaser.release(
        ("products", means.tobytes(), deviations.tobytes()),
        sums_of_products(cells, features_of, n, pairs)[above],
        UNIT**2 * squared_bound(math.comb(n + 1, 2)),
        1 - FIRST_SHARE,
    )
    products = np.zeros((n, n))
    products[above] = noisy
    products = np.triu(products) + np.triu(products, 1).T
    variances = np.maximum(np.diag(products) / (UNIT * rows), LEAST_VARIANCE * SCALE**2)
    correlations = products / (UNIT * rows) / np.sqrt(np.outer(variances, variances))
    np.fill_diagonal(correlations, 1.0)
    return correlations, variance / (UNIT * rows) ** 2 / float(np.mean(variances)) ** 2
