"""Sums of products of a table's columns, which can be added: what mixed scores need of a site.

The columns are those of `fedbn.scores.mixed`: one of a number, one indicator for each agreed state
of a category but the last. Every site takes its own means off before it multiplies; so where one
laboratory's values lie above another's by a constant, the sum over the sites does not see it.
Pooled rows do: their covariance has the differences between the sites' means in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.scores.mixed import block_columns, scatter_of

MAX_SITE_ROWS = 1 << 40
"""Rows of one site at most."""


@dataclass(frozen=True, eq=False)
class Scatter:
    """Rows, and centred sums of products.

    Attributes
    ----------
    rows : at least 1.
    products : float64 [M, M], symmetric: sum over the rows of (x_i - mean_i) (x_j - mean_j), the
        means being those of the same site.

    Raises
    ------
    DataError : not as above, or not finite.
    """

    rows: int
    products: Floats

    def __post_init__(self) -> None:
        shape = self.products.shape
        if self.rows < 1 or len(shape) != 2 or shape[0] != shape[1]:
            raise DataError(f"sums of products must be square, of at least 1 row, not {shape}")
        if not np.isfinite(self.products).all():
            raise DataError("sums of products must be finite numbers")
        if not np.array_equal(self.products, self.products.T):
            raise DataError("sums of products must be symmetric")


def scatter_of_table(dataset: Dataset) -> Scatter:
    """The sums of one table of any kind; raises DataError where a cell is missing."""
    columns, _ = block_columns(dataset)
    return Scatter(dataset.n_rows, scatter_of(columns))


def sum_of_scatters(scatters: Sequence[Scatter]) -> Scatter:
    """The sums within all sites, each about its own means; exactly rounded, in any order.

    Parameters
    ----------
    scatters : at least one, all of the same columns.
    """
    upper = np.triu_indices(len(scatters[0].products))
    cells = zip(*(scatter.products[upper].tolist() for scatter in scatters), strict=True)
    total = np.zeros_like(scatters[0].products)
    total[upper] = [math.fsum(each) for each in cells]
    total = np.triu(total) + np.triu(total, 1).T
    return Scatter(sum(scatter.rows for scatter in scatters), total)
