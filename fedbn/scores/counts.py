"""The arrays from which the kernels count, for categorical and for Gaussian data.

Rows are merged with weights; every state has a bitmap over the rows unless these would take more
than a quarter of the memory allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import ConfigError, DataError
from fedbn.scores._parts import (
    empty_store,
    empty_table,
    factor_of,
    scratch_of_classes,
    scratch_of_rows,
    signs_of,
)
from fedbn.scores.terms import no_terms, terms_of

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.scores._tables import Tables

__all__ = [
    "MEMORY_MB",
    "categorical_tables",
    "gaussian_tables",
    "label_with",
    "require_kind",
    "require_row_weight",
    "tables_over",
]

MEMORY_MB = 512
_LARGEST_ARITY = 65_535
_WORDS_TOGETHER = 8


def require_kind(dataset: Dataset, kind: str, score: str) -> None:
    """Checks that the data are of the kind that a score needs; raises DataError."""
    if dataset.kind != kind:
        raise DataError(f"{score} needs {kind} data, these are {dataset.kind}")


def require_row_weight(row_weight: float) -> None:
    """Checks that a row weight is a finite number of at least 1; raises ConfigError."""
    if not 1.0 <= row_weight < math.inf:
        raise ConfigError(f"row-weight must be at least 1 and finite, not {row_weight}")


def label_with(label: str, row_weight: float) -> str:
    """A score's label with its row weight, where that is not 1.

    >>> label_with("bic", 1.0), label_with("bic", 2.5)
    ('bic', 'bic, row weight 2.5')
    """
    return label if row_weight == 1.0 else f"{label}, row weight {row_weight:g}"


def categorical_tables(
    dataset: Dataset,
    kind: int,
    parameters: Sequence[float],
    row_weights: Sequence[float],
    memory_mb: float = MEMORY_MB,
) -> tuple[Tables, ...]:
    """Tables of categorical data, one for each row weight; they share everything, so what one
    counts the others know.

    Parameters
    ----------
    dataset : categorical.
    kind : `_tables.BDEU` or `_tables.INFORMATION`.
    parameters : ess, or the penalty per free parameter, for each row weight.
    row_weights : k ≥ 1, by which every count is multiplied.
    memory_mb : bound in MB on the store of scores (emptied when full) and the bitmaps.

    Raises
    ------
    DataError : a variable has more than 65,535 states, or rows × states reach 2^31.
    ConfigError : `memory_mb` or a row weight is below 1.
    """
    if not memory_mb >= 1:
        raise ConfigError(f"the memory of a score must be at least 1 MB, not {memory_mb}")
    for row_weight in row_weights:
        require_row_weight(row_weight)
    arities = _checked_arities(dataset)
    first = _tables(
        dataset.n,
        bytes_of_store=int(memory_mb * (1 << 20)) // 2,
        kind=kind,
        n_rows=dataset.n_rows,
        row_weight=float(row_weights[0]),
        parameter=float(parameters[0]),
        terms=terms_of(kind, dataset.n_rows, arities, parameters, row_weights),
        arities=arities,
        **_preparation(dataset, arities, memory_mb),
    )
    pairs = enumerate(zip(row_weights, parameters, strict=True))
    return tuple(
        first._replace(rung=rung, row_weight=float(k), parameter=float(parameter))
        for rung, (k, parameter) in pairs
    )


def _preparation(dataset: Dataset, arities: NDArray[np.int64], memory_mb: float) -> dict[str, Any]:
    """Merged rows, bitmaps, and the rows outside the modes."""
    from fedbn.scores._preparation_kernels import merge_rows, rows_outside_modes, state_bitmaps

    codes = np.ascontiguousarray(dataset.codes.T, dtype=np.uint16)
    bits = np.ceil(np.log2(np.maximum(arities, 1))).astype(np.int64)
    first, weights = merge_rows(codes, bits)
    words = -(-dataset.n_rows // (64 * _WORDS_TOGETHER)) * _WORDS_TOGETHER
    bitmaps = np.zeros((0, 0), dtype=np.uint64)
    if arities.sum() * words * 8 <= memory_mb * (1 << 18):
        bitmaps = state_bitmaps(codes, arities, words)
    merged = first.size < dataset.n_rows
    kept = np.take(codes, first, axis=1) if merged else codes
    modes, other_start, other_rows, other_codes = rows_outside_modes(kept, arities)
    return {
        "codes": kept,
        "weights": weights,
        "merged": merged,
        "modes": modes,
        "other_start": other_start,
        "other_rows": other_rows,
        "other_codes": other_codes,
        "first_state": np.concatenate(([0], np.cumsum(arities)[:-1])).astype(np.int64),
        "bitmaps": bitmaps,
    }


def _checked_arities(dataset: Dataset) -> NDArray[np.int64]:
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


def gaussian_tables(
    n_rows: int,
    gram: NDArray[np.float64],
    constant: NDArray[np.float64],
    exponent: NDArray[np.float64],
    penalty: float = 0.0,
    row_weight: float = 1.0,
) -> Tables:
    """Tables of a Gaussian score J(A) = constant[|A|] - exponent[|A|] ln det gram[A, A].

    `penalty` is that of one parent where the score has one (it is in `constant` already); so is
    `row_weight`, and in `exponent`.
    """
    from fedbn.scores._tables import GAUSSIAN

    return _tables(
        gram.shape[0],
        bytes_of_store=0,
        kind=GAUSSIAN,
        n_rows=n_rows,
        row_weight=float(row_weight),
        parameter=float(penalty),
        gram=np.ascontiguousarray(gram),
        constant=constant,
        exponent=exponent,
    )


def tables_over(t: Tables, nodes: NDArray[np.intp]) -> Tables:
    """The tables of some variables, in the order given; the scratch is shared with `t`, but for a
    factor, which goes on from the last one of its own."""
    from fedbn.scores._tables import GAUSSIAN

    m = nodes.size
    if t.kind == GAUSSIAN:
        return t._replace(
            arities=t.arities[nodes],
            gram=np.ascontiguousarray(t.gram[np.ix_(nodes, nodes)]),
            constant=t.constant[: m + 1],
            exponent=t.exponent[: m + 1],
            other_start=t.other_start[: m + 1],
            signs=np.ascontiguousarray(t.signs[nodes]),
            **factor_of(m),
        )
    ranges = [slice(t.other_start[v], t.other_start[v + 1]) for v in nodes]
    return t._replace(
        codes=np.ascontiguousarray(t.codes[nodes]),
        arities=t.arities[nodes],
        modes=t.modes[nodes],
        other_start=np.concatenate(([0], np.cumsum([r.stop - r.start for r in ranges]))),
        other_rows=np.concatenate([t.other_rows[r] for r in ranges]),
        other_codes=np.concatenate([t.other_codes[r] for r in ranges]),
        first_state=t.first_state[nodes],
        signs=np.ascontiguousarray(t.signs[nodes]),
    )


def _tables(n: int, *, bytes_of_store: int, **given: Any) -> Tables:
    """Fill in the empty parts and the scratch."""
    from fedbn.scores._tables import Tables

    categorical = "codes" in given
    rows = given["weights"].size if categorical else 0
    words = given["bitmaps"].shape[1] if categorical else 0
    rungs = given["terms"].row_weight.size if categorical else 0
    parts: dict[str, Any] = {
        **empty_table(n),
        "terms": None if categorical else no_terms(),
        "signs": signs_of(n),
        "rung": 0,
        **empty_store(n, rungs, bytes_of_store),
        **scratch_of_rows(rows),
        **scratch_of_classes(words),
        **factor_of(0 if categorical else n),
        "members": np.zeros(n + 2, dtype=np.int64),
    }
    return Tables(**(parts | given))
