"""A score of fedbn's own parts: BIC with twice its penalty."""

from __future__ import annotations

import math

import fedbn as fb
from fedbn.scores import TabulatedScore
from fedbn.scores.bic import criterion
from fedbn.scores.counts import MEMORY_MB


@fb.register_score("strict-bic", kind="categorical")
def strict_bic(table: fb.Table, row_weight: float) -> TabulatedScore:
    """Log-likelihood less ln N for every free parameter."""
    penalty = math.log(row_weight * len(table))
    return criterion(table.dataset, "strict-bic", [penalty], [row_weight], MEMORY_MB)[0]
