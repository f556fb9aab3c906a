"""Sums of products in fixed point by their definition: fractions, one cell at a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fedbn.scores.scatter import Scatter


def level(squares: Sequence[float]) -> int:
    """The least level that no site's sum of squares is above."""
    if not any(squares):
        return 0
    return next(k for k in range(1, 257) if max(squares) <= Fraction(16) ** (k - 128))


def unit(one: int, other: int, sites: int) -> Fraction:
    """What a whole number of a cell stands for."""
    bits = next(b for b in range(61, -1, -1) if sites * 2**b <= 2**61)
    return Fraction(4) ** (one - 128) * Fraction(4) ** (other - 128) / 2**bits


def whole_numbers(scatter: Scatter, levels: Sequence[int], sites: int) -> list[int]:
    """What a site adds; Python rounds halves to even, as numpy does."""
    size = len(levels)
    cells = [(i, j) for i in range(size) for j in range(i, size)]
    return [scatter.rows] + [
        round(Fraction(float(scatter.products[i, j])) / unit(levels[i], levels[j], sites))
        for i, j in cells
    ]


def largest_error(scatter: Scatter, levels: Sequence[int], sites: int) -> np.ndarray:
    """How far every sum of products may be from the sum of what the sites have, [M, M]."""
    units = np.array([[float(unit(one, other, sites)) for other in levels] for one in levels])
    return sites / 2 * units + np.ldexp(np.abs(scatter.products), -53)


def total(scatters: Sequence[Scatter], i: int, j: int) -> Fraction:
    """The sum of what the sites have, exact."""
    return sum((Fraction(float(each.products[i, j])) for each in scatters), Fraction(0))
