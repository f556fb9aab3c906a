"""Scores that count categorical data, and what all scores check and are called."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedbn.arrays import Ints
from fedbn.errors import ConfigError, DataError
from fedbn.scores.base import TabulatedScore

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset

MEMORY_MB = 512
_LARGEST_ARITY = 65_535


def require_kind(dataset: Dataset, kind: str, score: str) -> None:
    """Checks that the data are of the kind that a score needs; raises DataError."""
    if dataset.kind != kind:
        raise DataError(f"{score} needs {kind} data, these are {dataset.kind}")


def require_row_weight(row_weight: float) -> None:
    """Checks that a row weight is a finite number of at least 1; raises ConfigError."""
    if not 1.0 <= row_weight < math.inf:
        raise ConfigError(f"row-weight must be at least 1 and finite, not {row_weight}")


def require_memory_mb(memory_mb: float) -> None:
    """Checks that a score has at least 1 MB for what it keeps; raises ConfigError."""
    if not memory_mb >= 1:
        raise ConfigError(f"the memory of a score must be at least 1 MB, not {memory_mb}")


def label_with(label: str, row_weight: float) -> str:
    """A score's label with its row weight, where that is not 1.

    >>> label_with("bic", 1.0), label_with("bic", 2.5)
    ('bic', 'bic, row weight 2.5')
    """
    return label if row_weight == 1.0 else f"{label}, row weight {row_weight:g}"


def categorical_scores(
    dataset: Dataset,
    label: str,
    kind: Literal["bdeu", "information"],
    parameters: Sequence[float],
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
    threads: int = 1,
) -> tuple[TabulatedScore, ...]:
    """A score of categorical data for each row weight; what one counts the others know.

    Parameters
    ----------
    dataset : categorical.
    label : of the score, without its row weight.
    kind : "bdeu", or "information" for log-likelihood less a penalty.
    parameters : ess, or the penalty per free parameter, for each row weight.
    row_weights : k ≥ 1; every count is multiplied by k and the row weight of the dataset.
    memory_mb : bound in MB on the store of scores (emptied when full) and the bitmaps.
    threads : that prepare the table and count.

    Raises
    ------
    DataError : a variable has more than 65,535 states, or rows × states reach 2^31.
    ConfigError : `memory_mb` or a row weight is below 1.
    """
    from fedbn._core.scores import DiscreteScore, ScoreKind

    require_memory_mb(memory_mb)
    for row_weight in row_weights:
        require_row_weight(row_weight)
    arities = _checked_arities(dataset)
    weights = [float(k) * dataset.row_weight for k in row_weights]
    rungs = [(k, float(p)) for k, p in zip(weights, parameters, strict=True)]
    codes = np.ascontiguousarray(dataset.codes.T, dtype=np.int32)
    memory = int(memory_mb * (1 << 20))
    given = codes, arities.tolist(), rungs, memory, threads
    cores = DiscreteScore.rungs(getattr(ScoreKind, kind), *given)
    return tuple(
        TabulatedScore(dataset.names, label_with(label, k), core, dataset.n_rows, *rung)
        for core, k, rung in zip(cores, row_weights, rungs, strict=True)
    )


def _checked_arities(dataset: Dataset) -> Ints:
    """The numbers of states; raises DataError where counts would overflow."""
    arities = dataset.cardinalities.astype(np.int64)
    if arities.max() > _LARGEST_ARITY:
        name = dataset.names[int(arities.argmax())]
        raise DataError(f"column {name!r} has {arities.max()} states, at most 65535 are possible")
    if arities.max() * dataset.n_rows > np.iinfo(np.int32).max:
        raise DataError(
            f"rows × states of a column must stay below 2^31, these are {dataset.n_rows} rows "
            f"and {arities.max()} states"
        )
    return arities
