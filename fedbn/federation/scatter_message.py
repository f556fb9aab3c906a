"""Sums of products of all columns on the wire; what is asked is the agreed schema alone.

header    uint8   [33]   version, SHA-256 of the schema
rows      int64   [1]
products  float64 [P]    the upper triangle, row by row, of `fedbn.scores.scatter.Scatter`

No mean leaves. Indicators of states are columns like numbers, so the sums hold how many rows have
which states of every two columns; a site looks at these counts before it answers
(`fedbn.federation.counts_in_sums`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.data.dataset import Schema
from fedbn.errors import DataError, MessageError
from fedbn.federation.moments_message import ROUNDING, ROWS, products_field, require_of_a_table
from fedbn.scores.mixed import block_widths
from fedbn.scores.scatter import Scatter
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by

__all__ = ["SCATTERS", "require_askable", "scatter_from_arrays", "scatter_to_arrays"]

MAX_COLUMNS = 2_000
"""Columns of all blocks at most: 2,001,000 sums."""

SCATTERS = ArrayFormat("scatter", version=1, about="schema", fields=(ROWS, products_field()))


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


@said_by()
def scatter_from_arrays(arrays: Arrays, schema: Schema) -> Scatter:
    """Check the arrays of an answer from an untrusted site and build it; raises MessageError,
    naming the first thing that is wrong."""
    size = sum(block_widths(schema))
    found = SCATTERS.decode(arrays, bytes.fromhex(schema.hash), P=size * (size + 1) // 2)
    products = np.zeros((size, size))
    products[np.triu_indices(size)] = found["products"]
    products = np.triu(products) + np.triu(products, 1).T
    rows = int(found["rows"][0])
    require_of_a_table(products, "all columns", ROUNDING * size)
    _require_of_indicators(np.diag(products), rows, schema)
    return Scatter(rows, products)


def _require_of_indicators(own: npt.NDArray[np.float64], rows: int, schema: Schema) -> None:
    """Raise MessageError where an indicator has more than a quarter of the rows."""
    start = 0
    for variable, width in zip(schema.variables, block_widths(schema), strict=True):
        block = own[start : start + width]
        start += width
        if variable.states is not None and (block > (0.25 + ROUNDING) * rows).any():
            raise MessageError(
                f"the sums of {variable.name!r} are those of no indicators in {rows} rows"
            )
