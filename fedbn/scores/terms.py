"""What the cells of a table add to J, before any is known: the arrays and their unit.

The unit is 2^-e nats (docs/decisions/020): e is so large that the terms of all rows of the data, at
any row weight, just fit into 63 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fedbn.scores._tables import Terms

__all__ = ["no_terms", "terms_of"]

_SLOTS = 256
_BYTES = 8 << 20
_EXPONENTS = (-1000.0, 44.0)


def terms_of(
    kind: int,
    rows: int,
    arities: NDArray[np.int64],
    parameters: Sequence[float],
    row_weights: Sequence[float],
) -> Terms:
    """The terms of no set yet.

    Parameters
    ----------
    kind : `_tables.BDEU` or `_tables.INFORMATION`.
    rows, arities : of the data.
    parameters : ess, or the penalty per free parameter, for each row weight.
    row_weights : k ≥ 1.
    """
    from fedbn.scores._tables import BDEU, LANES, LOOKED_UP, Terms

    weights, penalties = np.array(row_weights, dtype=np.float64), np.array(parameters)
    largest = weights * np.log(weights * rows + 2.0)
    if kind == BDEU:
        largest = weights * np.log(weights * rows + parameters[0] + 2.0)
        largest += abs(math.log(parameters[0])) + np.log(arities).sum()
    exponent = np.floor(62.0 - np.log2(rows * largest + 1.0))
    lanes = 1 if weights.size == 1 else -(-weights.size // LANES) * LANES
    counts = min(rows + 1, max(LOOKED_UP, _BYTES // (8 * _SLOTS * lanes)))
    probe = int(np.argmax(weights != 1.0)) if kind == BDEU else 0
    begun = kind == BDEU and weights[probe] == 1.0
    return Terms(
        kind=kind,
        parameter=float(parameters[0]),
        row_weight=weights,
        penalty=penalties,
        units=np.exp2(np.clip(exponent, *_EXPONENTS)),
        size=np.full(_SLOTS, -1.0),
        alpha=np.zeros(_SLOTS),
        offset=np.zeros(_SLOTS),
        base=np.zeros((_SLOTS, weights.size)),
        probe=probe,
        unknown=LOOKED_UP if begun else (1 if kind == BDEU else 2),
        known=np.empty((_SLOTS, counts + 1, lanes), dtype=np.int64),
        sums=np.zeros(lanes, dtype=np.int64),
    )


def no_terms() -> Terms:
    """Of Gaussian tables."""
    from fedbn.scores._tables import GAUSSIAN, Terms

    none = np.zeros(0)
    whole = np.zeros(0, dtype=np.int64)
    known = whole.reshape(0, 0, 0)
    table = none.reshape(0, 0)
    return Terms(GAUSSIAN, 0.0, none, none, none, none, none, none, table, 0, 0, known, whole)
