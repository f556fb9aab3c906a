"""What linear-Gaussian parameters need of a table, so that several sites' can be put together.

A site gives its number of rows, the means of its columns, and the centred sums of products of those
pairs of columns that stand in one family of a DAG. From these the sites' pooled regressions follow
exactly (Chan, Golub and LeVeque 1983 for putting scatters together): every cell is summed with
`math.fsum`, whose result does not depend on the order of the sites.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.wording import count_of

_NO_NOISE = 1e-12
"""A residual variance below this share of the variable's own is rounding."""

RESOLUTION = 2.0**-48
"""A column whose standard deviation is below this share of its mean is constant, up to rounding."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Rows, means and centred sums of products.

    Parameters
    ----------
    rows : at least 1.
    means : float [n], in name order.
    scatter : float [P], sum of (x_i - mean_i) (x_j - mean_j) for each pair of `family_pairs`.

    Raises
    ------
    DataError : not as above, or not finite.
    """

    rows: int
    means: Floats
    scatter: Floats

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise DataError(f"moments must be of at least 1 row, not {self.rows}")
        if not (np.isfinite(self.means).all() and np.isfinite(self.scatter).all()):
            raise DataError("moments must be finite numbers")


def family_pairs(dag: DAG) -> tuple[tuple[int, int], ...]:
    """The pairs (i, j), i <= j, of variables that are in one family, sorted.

    >>> family_pairs(DAG.from_edges("abc", [("a", "c")]))
    ((0, 0), (0, 2), (1, 1), (2, 2))
    """
    found = set()
    for node in range(dag.n):
        family = sorted((node, *dag.parents(node)))
        found |= {(i, j) for i in family for j in family if i <= j}
    return tuple(sorted(found))


def moments_of(dataset: Dataset, pairs: tuple[tuple[int, int], ...]) -> Moments:
    """The moments of a table; raises DataError where the data are categorical."""
    values = dataset.values
    means = np.where(np.ptp(values, axis=0) == 0.0, values[0], values.mean(axis=0))
    centred = values - means
    scatter = np.array([centred[:, i] @ centred[:, j] for i, j in pairs])
    return Moments(dataset.n_rows, means, scatter)


def pooled_moments(sites: Mapping[str, Moments], pairs: tuple[tuple[int, int], ...]) -> Moments:
    """The moments of all sites' rows together.

    Parameters
    ----------
    sites : at least one; site -> its moments of the same columns and pairs.
    pairs : of columns, as in `Moments.scatter`.
    """
    parts = list(sites.values())
    rows = sum(part.rows for part in parts)
    means = _sum([part.rows * part.means for part in parts]) / rows
    scatters = []
    for part in parts:
        off = part.means - means
        scatters.append(part.scatter)
        scatters.append(np.array([part.rows * off[i] * off[j] for i, j in pairs]))
    return Moments(rows, means, _sum(scatters))


def linear_gaussian_of(dag: DAG, moments: Moments) -> LinearGaussianNetwork:
    """The linear-Gaussian network on `dag`: the linear regression of every variable on its parents
    by least squares, with the maximum-likelihood standard deviation (denominator N).

    Parameters
    ----------
    dag : over the names of the columns, in name order.
    moments : of `family_pairs(dag)`.

    Raises
    ------
    DataError : the moments leave no noise at a variable: it is constant, or its parents determine
        it, or there are no more rows than parents.
    """
    scatter = np.full((dag.n, dag.n), np.nan)
    for (i, j), value in zip(family_pairs(dag), moments.scatter.tolist(), strict=True):
        scatter[i, j] = scatter[j, i] = value
    scatter = without_rounding(moments.rows, moments.means, scatter)
    coefficients = np.zeros((dag.n, dag.n))
    deviations = np.zeros(dag.n)
    for node in range(dag.n):
        parents = list(dag.parents(node))
        weights = _regression(scatter[np.ix_(parents, parents)], scatter[parents, node])
        left = scatter[node, node] - scatter[parents, node] @ weights
        if not left > _NO_NOISE * scatter[node, node] or moments.rows <= len(parents) + 1:
            raise DataError(
                f"column {dag.names[node]!r} has no noise: it is constant, or its "
                f"parents ({len(parents)}) determine it in {count_of(moments.rows, 'row')}"
            )
        coefficients[parents, node] = weights
        deviations[node] = math.sqrt(left / moments.rows)
    means = moments.means
    return LinearGaussianNetwork(dag, coefficients, means - means @ coefficients, deviations)


def without_rounding(rows: float | Floats, means: Floats, products: Floats) -> Floats:
    """Sums of products about the means, [..., k, k], with 0 where a column is constant: the means
    of several sites differ in their last bits, which are no values to regress on.

    rows : [...]; means : [..., k].
    """
    spread = np.diagonal(products, axis1=-2, axis2=-1)
    varies = spread > np.asarray(rows)[..., None] * (RESOLUTION * means) ** 2
    return np.where(varies[..., :, None] & varies[..., None, :], products, 0.0)


def _regression(among: Floats, with_node: Floats) -> Floats:
    """Least squares from scatters, the columns first brought to one scale."""
    scale = np.sqrt(np.where(np.diag(among) > 0, np.diag(among), 1.0))
    weights, *_ = np.linalg.lstsq(among / np.outer(scale, scale), with_node / scale, rcond=None)
    found: Floats = weights / scale
    return found


def _sum(parts: list[Floats]) -> Floats:
    """Cell by cell, exactly rounded, in any order."""
    return np.array(
        [math.fsum(cells) for cells in zip(*map(np.ndarray.tolist, parts), strict=True)]
    )
