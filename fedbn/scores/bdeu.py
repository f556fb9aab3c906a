"""BDeu: the marginal likelihood with a uniform Dirichlet prior of given equivalent sample size.

Heckerman, Geiger & Chickering 1995, with Buntine's uniform cells: α/(r q) and α/q, where q is the
product of the *agreed* arities of the parents; states that nobody saw count.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fedbn.scores.base import TabulatedScore
from fedbn.scores.counts import MEMORY_MB, categorical_scores, require_kind
from fedbn.setting import equivalent_sample_size

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset


def bdeu(
    dataset: Dataset, ess: float = 1.0, row_weight: float = 1.0, memory_mb: float = MEMORY_MB
) -> TabulatedScore:
    """BDeu of categorical data.

    Parameters
    ----------
    dataset : categorical.
    ess : equivalent sample size α > 0, at most 1e8, beyond which logarithms of Γ lose digits. 1, as
        the programs of the consensus papers have it.
    row_weight : k ≥ 1, by which every count is multiplied: N_ijk becomes k N_ijk.
    memory_mb : bound on the store of local scores and the bitmaps of states.

    Raises
    ------
    DataError : the data are not categorical.
    ConfigError : ess is not above 0 and at most 1e8, or the row weight is below 1.
    """
    return bdeu_ladder(dataset, ess, (row_weight,), memory_mb)[0]


def bdeu_ladder(
    dataset: Dataset,
    ess: float,
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """`bdeu` for each row weight; what one of them counts the others know."""
    require_kind(dataset, "categorical", "bdeu")
    equivalent_sample_size("ess", ess)
    parameters = [ess] * len(row_weights)
    label = f"bdeu, ess {ess:g}"
    return categorical_scores(dataset, label, "bdeu", parameters, row_weights, memory_mb, threads)
