"""Whether some table could have the sums of products that somebody tells."""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.scores.mixed import block_widths

ROUNDING = 1e-6
"""So far a correlation matrix may be from one: its sums were rounded."""


def require_of_a_table(products: Floats, what: str, tolerance: float = ROUNDING) -> None:
    """Raise MessageError unless some table could have these sums of products, float64 [..., k, k]:
    no combination of columns has less than 0, but for the tolerance of their correlations."""
    own = np.diagonal(products, axis1=-2, axis2=-1)
    if (own < 0).any():
        raise MessageError(f"the sums of squares of {what} must not be below 0")
    scale = np.sqrt(np.where(own > 0, own, 1.0))
    correlations = products / scale[..., :, None] / scale[..., None, :]
    if products.size and np.linalg.eigvalsh(correlations)[..., 0].min() < -tolerance:
        raise MessageError(f"the sums of {what} are those of no table")


def require_of_indicators(own: Floats, rows: int, schema: Schema) -> None:
    """Raise MessageError where an indicator has more than a quarter of the rows.

    own : the sums of squares of the columns of all blocks.
    """
    start = 0
    for variable, width in zip(schema.variables, block_widths(schema), strict=True):
        block = own[start : start + width]
        start += width
        if variable.states is not None and (block > (0.25 + ROUNDING) * rows).any():
            raise MessageError(
                f"the sums of {variable.name!r} are those of no indicators in {rows} rows"
            )
