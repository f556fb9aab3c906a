"""Scores of tables of numbers and categories: the degenerate Gaussian (`core/scores/mixed.hpp`).

Andrews, Ramsey & Cooper (2019). A number is one column, a category of r agreed states r - 1
indicators, of all states but the last; a variable v is a block B_v of columns. With S the
covariance of all columns (denominator N) a family costs and fits

    s(v, P) = -N/2 (ln det S[B_P + B_v] - ln det S[B_P]) - Λ R_v R_P - N/2 (1 + ln 2π) R_v

with ranks R in place of numbers of columns, Λ = ln N / 2 for BIC and 1 for AIC. Of numbers alone it
is Gaussian BIC or AIC. States that no row has, and constants, have no column: a constant neither
gains nor loses anything. A column of which the others leave at most 1e-10 of its variance is
determined, and counts in no determinant and no rank; a family of which a member is determined
whole by the others is refused: -inf. Means only enter as they are taken off, so a score of sums
that were centred within sites is a score of this kind, too.

A row weight k multiplies N, as if every row were there k times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.arrays import Floats
from fedbn.errors import DataError
from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import MEMORY_MB, label_with, require_memory_mb, require_row_weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedbn.data.dataset import Dataset
    from fedbn.data.schema import Schema

Criterion = Literal["bic", "aic"]


def mixed_ladder(
    dataset: Dataset,
    criterion: Criterion,
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
) -> tuple[TabulatedScore, ...]:
    """Mixed BIC or AIC of a table of any kind, for each row weight; the rows are read once."""
    columns, widths = block_columns(dataset)
    covariance = scatter_of(columns) / dataset.n_rows
    return mixed_from_covariance(
        dataset.names,
        widths,
        covariance,
        dataset.counted_rows,
        criterion=criterion,
        row_weights=row_weights,
        memory_mb=memory_mb,
    )


def mixed_from_covariance(
    names: Sequence[str],
    widths: Sequence[int],
    covariance: Floats,
    rows: float,
    *,
    criterion: Criterion = "bic",
    row_weights: Sequence[float] = (1.0,),
    memory_mb: float = MEMORY_MB,
) -> tuple[TabulatedScore, ...]:
    """The scores of data of which the covariance of all columns is known.

    Parameters
    ----------
    names : the variables, sorted as text.
    widths : how many columns each of them has: 1 of a number, r - 1 of a category.
    covariance : [M, M] of all columns, symmetric, with denominator N, the blocks one after the
        other.
    rows : N ≥ 1.
    row_weights : k ≥ 1 each.
    memory_mb : bound on the fits that are kept; when it is full it is emptied.

    Raises
    ------
    ConfigError : a row weight, or the memory, is below 1.
    DataError : the shape does not fit, an entry is not finite, the matrix is not symmetric, or the
        names are not sorted.

    >>> (score,) = mixed_from_covariance("ab", [1, 1], np.array([[1.0, 0.5], [0.5, 1.0]]), 100)
    >>> round(score.local_score(1, [0]) - score.local_score(1, []), 4)
    12.0815
    """
    from fedbn._core.scores import MixedScore, logarithm

    matrix = np.array(covariance, dtype=np.float64)
    size = int(sum(widths))
    if matrix.shape != (size, size) or len(widths) != len(names) or rows < 1:
        raise DataError(
            f"a covariance of {size} columns must be {size} by {size} numbers from at least 1 row, "
            f"not {matrix.shape} from {rows}"
        )
    scale = np.abs(matrix).max(initial=0.0)
    if not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        raise DataError(f"a covariance must be finite and symmetric; its largest entry is {scale}")
    if list(names) != sorted(names):
        raise DataError("the variables of a covariance must be sorted by name")
    require_memory_mb(memory_mb)
    for row_weight in row_weights:
        require_row_weight(row_weight)
    penalties = [0.5 * logarithm(k * rows) if criterion == "bic" else 1.0 for k in row_weights]
    rungs = [(float(k * rows), p) for k, p in zip(row_weights, penalties, strict=True)]
    memory = int(memory_mb * (1 << 20))
    cores = MixedScore.rungs((matrix + matrix.T) / 2.0, list(map(int, widths)), rungs, memory)
    label = f"mixed-{criterion}"
    return tuple(
        TabulatedScore(tuple(names), label_with(label, k), core, int(rows), float(k), penalty)
        for core, k, penalty in zip(cores, row_weights, penalties, strict=True)
    )


def block_widths(schema: Schema) -> tuple[int, ...]:
    """How many columns each variable has: 1 of a number, r - 1 of a category of r agreed states."""
    return tuple(1 if each.states is None else len(each.states) - 1 for each in schema.variables)


def block_columns(dataset: Dataset) -> tuple[Floats, tuple[int, ...]]:
    """The columns of all blocks, [rows, M], and how many of them each variable has."""
    dataset.require_complete()
    parts = []
    for variable, column in zip(dataset.schema.variables, dataset.table.T, strict=True):
        if variable.states is None:
            parts.append(column[:, None].astype(np.float64))
        else:
            shown = np.arange(len(variable.states) - 1)
            parts.append((column[:, None] == shown).astype(np.float64))
    return np.concatenate(parts, axis=1), tuple(part.shape[1] for part in parts)


def scatter_of(columns: Floats) -> Floats:
    """Σ (x - mean)(x - mean)ᵀ, symmetric to the last bit; [rows, M] to [M, M]."""
    without_means = centred_columns(columns)
    scatter: Floats = without_means.T @ without_means
    return (scatter + scatter.T) / 2.0


def centred_columns(columns: Floats) -> Floats:
    """The columns less their means."""
    without_means: Floats = columns - columns.mean(axis=0)
    without_means[:, np.ptp(columns, axis=0) == 0.0] = 0.0  # else rounding of the mean stays
    return without_means
