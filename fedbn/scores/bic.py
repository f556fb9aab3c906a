"""BIC and AIC of categorical data: log-likelihood - penalty × free parameters.

The parameters of a family are (r - 1) q with the agreed arities; the penalty is (ln N) / 2 for BIC
(Schwarz 1978) and 1 for AIC (Akaike 1974).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import MEMORY_MB, categorical_tables, require_kind

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset

__all__ = ["aic", "bic"]


def bic(dataset: Dataset, memory_mb: float = MEMORY_MB) -> TabulatedScore:
    """BIC of categorical data; raises DataError for Gaussian data."""
    return _criterion(dataset, "bic", 0.5 * math.log(dataset.n_rows), memory_mb)


def aic(dataset: Dataset, memory_mb: float = MEMORY_MB) -> TabulatedScore:
    """AIC of categorical data; raises DataError for Gaussian data."""
    return _criterion(dataset, "aic", 1.0, memory_mb)


def _criterion(dataset: Dataset, name: str, penalty: float, memory_mb: float) -> TabulatedScore:
    from fedbn.scores._tables import INFORMATION

    require_kind(dataset, "categorical", name)
    tables = categorical_tables(dataset, INFORMATION, penalty, memory_mb)
    return TabulatedScore(dataset.names, name, tables)
