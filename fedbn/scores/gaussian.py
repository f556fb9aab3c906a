"""Scores of linear-Gaussian networks, from one matrix of cross products.

Gaussian BIC and AIC of a family: -(N/2)(1 + ln 2π) - (N/2) ln σ² - Λ |Pa|, σ² the residual
variance with denominator N, Λ = ln N / 2 for BIC and 1 for AIC. Only slopes are counted as
parameters. A node's intercept and noise variance are the same in every structure: programs that
count them (bnlearn does) give n ln N less for BIC over n nodes, 2 n less for AIC, and the same
differences between structures. BGe: Geiger & Heckerman 2002 as corrected by Kuipers, Moffa &
Heckerman 2014, with α_μ = 1, α_w = n + 2, T = t I and the prior mean at the sample mean.

A row weight k multiplies N and the cross products, as if every row were there k times.

A column that others determine exactly keeps 10^-12 of its variance, so scores stay finite; which
one it is follows the order of the names, so equivalent structures still score the same.

BIC and AIC of more than `WIDEST_MATRIX` columns hold the rows and compute a cross product when it
is asked for: their memory is linear in the table.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import DataError
from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import label_with, require_kind, require_row_weight
from fedbn.scores.mixed import centred_columns, scatter_of
from fedbn.wording import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedbn.data.dataset import Dataset

WIDEST_MATRIX = 4096
"""Columns up to which BIC and AIC hold the matrix of cross products, and not the rows."""

MIN_PIVOT = 1e-10  # of a column's variance: what the others must leave of it
ABSOLUTE_VARIANCE = 1e-300


def gaussian_ladder(
    dataset: Dataset, criterion: Literal["bic", "aic"], row_weights: Sequence[float]
) -> tuple[TabulatedScore, ...]:
    """Gaussian BIC or AIC for each row weight; the rows are read once. Raises DataError for other
    data."""
    require_kind(dataset, "gaussian", f"gaussian-{criterion}")
    if dataset.n > WIDEST_MATRIX:
        columns = np.ascontiguousarray(centred_columns(dataset.values).T)
        return tuple(_of_rows(dataset, columns, criterion, k) for k in row_weights)
    covariance, rows = scatter_of(dataset.values) / dataset.n_rows, dataset.counted_rows
    return tuple(
        gaussian_from_covariance(
            dataset.names, covariance, rows, criterion=criterion, row_weight=row_weight
        )
        for row_weight in row_weights
    )


def gaussian_from_covariance(
    names: Sequence[str],
    covariance: Floats,
    rows: float,
    *,
    criterion: Literal["bic", "aic"] = "bic",
    row_weight: float = 1.0,
) -> TabulatedScore:
    """Gaussian BIC or AIC of data of which the covariance is known.

    Parameters
    ----------
    names : the variables, sorted as text, as `covariance` has them.
    covariance : [n, n], symmetric, with denominator N.
    rows : N ≥ 1.
    row_weight : k ≥ 1: the score is that of k N rows with this covariance.

    Raises
    ------
    ConfigError : the row weight is below 1.
    DataError : the shape does not fit, an entry is not finite, the matrix is not symmetric, or the
        names are not sorted.

    >>> score = gaussian_from_covariance(["a", "b"], np.array([[1.0, 0.5], [0.5, 1.0]]), 100)
    >>> round(score.local_score(1, [0]) - score.local_score(1, []), 4)
    12.0815
    """
    from fedbn._core.scores import GaussianScore

    n = len(names)
    matrix = np.array(covariance, dtype=np.float64)
    if matrix.shape != (n, n) or not np.isfinite(matrix).all() or rows < 1:
        raise DataError(
            f"a covariance of {count_of(n, 'variable')} must be {n} by {n} finite numbers from at "
            f"least 1 row, not {matrix.shape} from {rows}"
        )
    if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise DataError("a covariance must be symmetric")
    if list(names) != sorted(names):
        raise DataError("the variables of a covariance must be sorted by name")
    constant, exponent, penalty = _by_size(n, rows, criterion, row_weight)
    core = GaussianScore((matrix + matrix.T) / 2.0, constant, exponent)
    label = label_with(f"gaussian-{criterion}", row_weight)
    return TabulatedScore(tuple(names), label, core, int(rows), float(row_weight), penalty)


def _of_rows(
    dataset: Dataset,
    columns: Floats,
    criterion: Literal["bic", "aic"],
    row_weight: float,
) -> TabulatedScore:
    """Gaussian BIC or AIC from the centred columns [n, rows]."""
    from fedbn._core.scores import GaussianScore

    rows = dataset.counted_rows
    constant, exponent, penalty = _by_size(dataset.n, rows, criterion, row_weight)
    core = GaussianScore.of_rows(columns, constant, exponent)
    label = label_with(f"gaussian-{criterion}", row_weight)
    return TabulatedScore(dataset.names, label, core, int(rows), float(row_weight), penalty)


def _by_size(
    n: int, rows: float, criterion: Literal["bic", "aic"], row_weight: float
) -> tuple[Floats, Floats, float]:
    """Constant and exponent of J by the size of the set, and the penalty of a parent."""
    from fedbn._core.scores import logarithm

    require_row_weight(row_weight)
    counted = row_weight * rows
    penalty = 0.5 * logarithm(counted) if criterion == "bic" else 1.0
    size = np.arange(n + 1, dtype=np.float64)
    constant = -0.5 * counted * (1.0 + logarithm(2.0 * math.pi)) * size
    constant -= penalty * size * (size - 1.0) / 2.0
    return constant, np.full(n + 1, 0.5 * counted), penalty


def bge_ladder(dataset: Dataset, row_weights: Sequence[float]) -> tuple[TabulatedScore, ...]:
    """BGe with α_μ = 1 and α_w = n + 2 for each row weight; the rows are read once. Raises
    DataError for other data."""
    require_kind(dataset, "gaussian", "bge")
    scatter = scatter_of(dataset.values)
    return tuple(_bge(dataset, scatter, row_weight) for row_weight in row_weights)


def _bge(dataset: Dataset, scatter: Floats, row_weight: float) -> TabulatedScore:
    """BGe from the cross products of the centred columns."""
    from fedbn._core.scores import GaussianScore, log_gamma, logarithm

    require_row_weight(row_weight)
    rows, n = row_weight * dataset.counted_rows, dataset.n
    mean_weight, degrees = 1.0, n + 2.0
    t = mean_weight * (degrees - n - 1.0) / (mean_weight + 1.0)
    constant = np.zeros(n + 1)
    exponent = np.zeros(n + 1)
    log_ratio = 0.5 * logarithm(mean_weight / (rows + mean_weight))
    for size in range(1, n + 1):
        prior = 0.5 * (degrees - n + size)
        exponent[size] = 0.5 * rows + prior
        constant[size] = size * (log_ratio - 0.5 * rows * logarithm(math.pi) + prior * logarithm(t))
        for j in range(size):
            constant[size] += log_gamma(exponent[size] - 0.5 * j) - log_gamma(prior - 0.5 * j)
    gram = row_weight * dataset.row_weight * scatter + t * np.eye(n)
    core, label = GaussianScore(gram, constant, exponent), label_with("bge", row_weight)
    whole = int(dataset.counted_rows)
    return TabulatedScore(dataset.names, label, core, whole, float(row_weight), 0.0)


def require_regular(score: TabulatedScore) -> None:
    """Checks that a Gaussian score is finite on every family, as exact searches need.

    Raises
    ------
    DataError : a column is constant, there are not more rows than columns, or a column's variance
        given all others is below 1e-10 of its variance; the collinear columns are named.
    """
    gram, n = score.core.gram, score.n
    variance = np.diag(gram)
    if (variance <= ABSOLUTE_VARIANCE).any():
        name = score.names[int(np.argmin(variance))]
        raise DataError(f"every column must vary, {name!r} is constant")
    if score.parameter > 0.0 and score.n_rows <= n:
        raise DataError(
            f"{score.label} needs more rows than columns, these are "
            f"{count_of(score.n_rows, 'row')} of {count_of(n, 'column')}"
        )
    scale = 1.0 / np.sqrt(variance)
    values, vectors = np.linalg.eigh(gram * np.outer(scale, scale))
    squares = vectors * vectors
    if (1.0 / (squares / np.maximum(values, 1e-300)).sum(axis=1)).min() < MIN_PIVOT:
        share = np.abs(vectors[:, 0])
        named = [repr(score.names[int(j)]) for j in np.flatnonzero(share > 0.05 * share.max())]
        raise DataError(f"columns must not be collinear: {', '.join(named)}")


def rounding(score: TabulatedScore) -> float:
    """What rounding may do to the score of a DAG, in natural logarithms; 0 for categorical data.

    A residual variance σ² comes with an error of about n ε times the column's variance, so
    N/2 ln σ² with n ε N / (2 r), where r is the least share of its variance that the others leave
    of a column.
    """
    if not score.is_gaussian:
        return 0.0
    gram, n = score.core.gram, score.n
    scale = 1.0 / np.sqrt(np.diag(gram))
    precision = np.linalg.inv(gram * np.outer(scale, scale))
    counted = score.row_weight * score.n_rows
    each = 0.5 * counted * n * np.finfo(np.float64).eps * np.diag(precision).max()
    return float(n * each)
