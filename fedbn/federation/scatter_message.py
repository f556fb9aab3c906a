"""Sums of products of all columns on the wire; what is asked is the agreed schema alone.

header    uint8   [33]   version, SHA-256 of the schema
rows      int64   [1]
products  float64 [P]    the upper triangle, row by row, of `fedbn.scores.scatter.Scatter`

No mean leaves: the sums are centred at the site. Indicators of states are columns like numbers, so
the sums hold how many rows have which states of every two columns; a site looks at these counts
before it answers (`fedbn.federation.counts_in_sums`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.data.dataset import Schema
from fedbn.errors import DataError, MessageError
from fedbn.federation.moments_message import MAX_SITE_ROWS, MAX_VALUE
from fedbn.scores.mixed import block_widths
from fedbn.scores.scatter import Scatter
from fedbn.wire.arrays import ArrayFormat, Field
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

__all__ = [
    "SCATTERS",
    "require_askable",
    "scatter_from_arrays",
    "scatter_to_arrays",
]

MAX_COLUMNS = 2_000
"""Columns of all blocks at most: 2,001,000 sums."""

_ROUNDING = 1e-6
"""So far a correlation matrix may be from one, and a variance from its bound: sums were rounded."""

SCATTERS = ArrayFormat(
    "scatter",
    version=1,
    about="schema",
    fields=(
        Field("rows", np.int64, (1,), least=1, most=MAX_SITE_ROWS),
        Field("products", np.float64, ("P",), least=-(MAX_VALUE**2), most=MAX_VALUE**2),
    ),
)


def require_askable(schema: Schema) -> None:
    """Raise DataError where sums may not be asked for: of categories alone, which are counted, or
    of too many columns."""
    if schema.kind == "categorical":
        raise DataError("sums of products are for tables with numbers; categories are counted")
    size = sum(block_widths(schema))
    if size > MAX_COLUMNS:
        raise DataError(
            f"sums of products are for at most {MAX_COLUMNS} columns, a category of r states "
            f"counting as r - 1, not {size}"
        )


def scatter_to_arrays(scatter: Scatter, schema: Schema) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an answer, as `SCATTERS` has them."""
    upper = np.triu_indices(len(scatter.products))
    return SCATTERS.encode(
        bytes.fromhex(schema.hash), rows=[scatter.rows], products=scatter.products[upper]
    )


def scatter_from_arrays(arrays: Arrays, schema: Schema, *, sender: str) -> Scatter:
    """Check the arrays of an answer from an untrusted site and build it.

    Raises
    ------
    MessageError : naming the sender and the first thing that is wrong.
    """
    with said_by(sender):
        size = sum(block_widths(schema))
        found = SCATTERS.decode(arrays, bytes.fromhex(schema.hash), P=size * (size + 1) // 2)
        products = np.zeros((size, size))
        products[np.triu_indices(size)] = found["products"]
        products = np.triu(products) + np.triu(products, 1).T
        rows = int(found["rows"][0])
        _require_of_a_table(products, rows, schema)
        return Scatter(rows, products)


def _require_of_a_table(products: npt.NDArray[np.float64], rows: int, schema: Schema) -> None:
    """Some table could have these sums: no combination has less than 0, no indicator more than a
    quarter of the rows."""
    own = np.diag(products)
    if (own < 0).any():
        raise MessageError("the sum of squares of a column must not be below 0")
    scale = np.sqrt(np.where(own > 0, own, 1.0))
    correlations = products / scale[:, None] / scale
    if len(own) and np.linalg.eigvalsh(correlations)[0] < -_ROUNDING * len(own):
        raise MessageError("the sums of products are those of no table")
    start = 0
    for variable, width in zip(schema.variables, block_widths(schema), strict=True):
        block = own[start : start + width]
        start += width
        if variable.states is not None and (block > (0.25 + _ROUNDING) * rows).any():
            raise MessageError(
                f"the sums of {variable.name!r} are those of no indicators in {rows} rows"
            )
