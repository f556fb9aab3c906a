"""Slow, obvious twins of fedbn.privacy, in Python integers and fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import floor

Row = tuple[int, ...]


def utility(rows: Sequence[Row], x: int, y: int, given: Sequence[int]) -> int:
    """Σ_s floor(64 · Σ_ab |n_s n_s,ab - n_s,a n_s,b| / (2 n_s)), word for word."""
    total = 0
    for stratum in {tuple(row[z] for z in given) for row in rows}:
        inside = [row for row in rows if tuple(row[z] for z in given) == stratum]
        n = len(inside)
        both = Counter((row[x], row[y]) for row in inside)
        of_x, of_y = Counter(row[x] for row in inside), Counter(row[y] for row in inside)
        part = sum(abs(n * both[a, b] - of_x[a] * of_y[b]) for a in of_x for b in of_y)
        total += floor(Fraction(64 * part, 2 * n))
    return total
