"""Scores of linear-Gaussian networks, from one matrix of cross products.

Gaussian BIC of a family: -(N/2)(1 + ln 2π) - (N/2) ln σ² - (ln N / 2) |Pa|, σ² the residual
variance with denominator N. BGe: Geiger & Heckerman 2002 as corrected by Kuipers, Moffa &
Heckerman 2014, with α_μ = 1, α_w = n + 2, T = t I and the prior mean at the sample mean.

A column that others determine exactly keeps 10^-12 of its variance, so scores stay finite.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import gaussian_tables, require_kind

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset

__all__ = ["bge", "gaussian_bic"]


def gaussian_bic(dataset: Dataset) -> TabulatedScore:
    """Gaussian BIC; raises DataError for categorical data."""
    require_kind(dataset, "gaussian", "gaussian-bic")
    rows, n = dataset.n_rows, dataset.n
    size = np.arange(n + 1, dtype=np.float64)
    constant = -0.5 * rows * (1.0 + math.log(2.0 * math.pi)) * size
    constant -= 0.5 * math.log(rows) * size * (size - 1.0) / 2.0
    exponent = np.full(n + 1, 0.5 * rows)
    tables = gaussian_tables(rows, _scatter(dataset) / rows, constant, exponent)
    return TabulatedScore(dataset.names, "gaussian-bic", tables)


def bge(dataset: Dataset) -> TabulatedScore:
    """BGe with α_μ = 1 and α_w = n + 2; raises DataError for categorical data."""
    require_kind(dataset, "gaussian", "bge")
    rows, n = dataset.n_rows, dataset.n
    mean_weight, degrees = 1.0, n + 2.0
    t = mean_weight * (degrees - n - 1.0) / (mean_weight + 1.0)
    constant = np.zeros(n + 1)
    exponent = np.zeros(n + 1)
    log_ratio = 0.5 * math.log(mean_weight / (rows + mean_weight))
    for size in range(1, n + 1):
        prior = 0.5 * (degrees - n + size)
        exponent[size] = 0.5 * rows + prior
        constant[size] = size * (log_ratio - 0.5 * rows * math.log(math.pi) + prior * math.log(t))
        for j in range(size):
            constant[size] += math.lgamma(exponent[size] - 0.5 * j) - math.lgamma(prior - 0.5 * j)
    gram = _scatter(dataset) + t * np.eye(n)
    tables = gaussian_tables(rows, gram, constant, exponent)
    return TabulatedScore(dataset.names, "bge", tables)


def _scatter(dataset: Dataset) -> NDArray[np.float64]:
    """Σ (x - mean)(x - mean)ᵀ, symmetric to the last bit."""
    centred = dataset.values - dataset.values.mean(axis=0)
    scatter: NDArray[np.float64] = centred.T @ centred
    return (scatter + scatter.T) / 2.0
