"""BIC and AIC of categorical data: log-likelihood - penalty × free parameters.

The parameters of a family are (r - 1) q with the agreed arities; the penalty is (ln N) / 2 for BIC
(Schwarz 1978) and 1 for AIC (Akaike 1974). With row weight k the log-likelihood is multiplied by k
and N by k, as if every row were there k times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import (
    MEMORY_MB,
    categorical_scores,
    require_kind,
    require_row_weight,
)

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset


def bic_ladder(
    dataset: Dataset,
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """BIC of categorical data for each row weight; what one of them counts the others know. Raises
    DataError for other data."""
    from fedbn._core.scores import logarithm

    for row_weight in row_weights:
        require_row_weight(row_weight)
    penalties = [0.5 * logarithm(row_weight * dataset.counted_rows) for row_weight in row_weights]
    return criterion(dataset, "bic", penalties, row_weights, memory_mb, threads)


def aic_ladder(
    dataset: Dataset,
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """AIC, as `bic_ladder`."""
    return criterion(dataset, "aic", [1.0] * len(row_weights), row_weights, memory_mb, threads)


def criterion(
    dataset: Dataset,
    name: str,
    penalties: Sequence[float],
    row_weights: Sequence[float],
    memory_mb: float,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """Log-likelihood - penalty × free parameters, called `name`, for each row weight and its
    penalty; raises DataError for floats."""
    require_kind(dataset, "categorical", name)
    return categorical_scores(
        dataset, name, "information", penalties, row_weights, memory_mb, threads
    )
