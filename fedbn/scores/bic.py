"""BIC and AIC of categorical data: log-likelihood - penalty × free parameters.

The parameters of a family are (r - 1) q with the agreed arities; the penalty is (ln N) / 2 for BIC
(Schwarz 1978) and 1 for AIC (Akaike 1974). With row weight k the log-likelihood is multiplied by k
and N by k, as if every row were there k times.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import (
    MEMORY_MB,
    categorical_tables,
    label_with,
    require_kind,
    require_row_weight,
)

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset

__all__ = ["aic", "bic", "criterion"]


def bic(dataset: Dataset, row_weight: float = 1.0, memory_mb: float = MEMORY_MB) -> TabulatedScore:
    """BIC of categorical data; raises DataError for Gaussian data."""
    require_row_weight(row_weight)
    penalty = 0.5 * math.log(row_weight * dataset.n_rows)
    return criterion(dataset, "bic", penalty, row_weight, memory_mb)


def aic(dataset: Dataset, row_weight: float = 1.0, memory_mb: float = MEMORY_MB) -> TabulatedScore:
    """AIC of categorical data; raises DataError for Gaussian data."""
    return criterion(dataset, "aic", 1.0, row_weight, memory_mb)


def criterion(
    dataset: Dataset, name: str, penalty: float, row_weight: float, memory_mb: float
) -> TabulatedScore:
    """Log-likelihood - penalty × free parameters, called `name`; raises DataError for floats."""
    from fedbn.scores._tables import INFORMATION

    require_kind(dataset, "categorical", name)
    tables = categorical_tables(dataset, INFORMATION, penalty, row_weight, memory_mb)
    return TabulatedScore(dataset.names, label_with(name, row_weight), tables)
