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


def grid_cell(value: float, low: float, high: float, grid: int) -> int:
    """A number clipped to its bounds, as a whole number from -grid at `low` to grid at `high`."""
    inside = min(max(value, low), high)
    middle, half = (low + high) / 2, (high - low) / 2
    return round(min(max((inside - middle) / half, -1.0), 1.0) * grid)


def margins(rows: Sequence[Row], grid: int) -> list[int]:
    """N T², then T Σ t per column, then Σ t² per column."""
    columns = range(len(rows[0]))
    return [
        len(rows) * grid**2,
        *(grid * sum(row[x] for row in rows) for x in columns),
        *(sum(row[x] ** 2 for row in rows) for x in columns),
    ]


def number_products(rows: Sequence[Row], bound: int, unit: int) -> list[int]:
    """Σ w f_x f_y for all pairs x ≤ y, a row being whole-number features; w as in `products`."""
    keys = [(x, y) for x in range(len(rows[0])) for y in range(x, len(rows[0]))]
    sums = dict.fromkeys(keys, 0)
    for row in rows:
        entries = {(x, y): row[x] * row[y] for x, y in keys}
        length = sum(entry**2 for entry in entries.values())
        weight = max(w for w in range(unit + 1) if w**2 * length <= unit**2 * bound)
        for key, entry in entries.items():
            sums[key] += weight * entry
    return list(sums.values())


def products(
    rows: Sequence[Row], tables: Sequence[Sequence[Sequence[int]]], bound: int, unit: int
) -> list[int]:
    """Σ w f_x,i f_y,j for all pairs x < y and coordinates; w the largest with w² S ≤ unit² · bound.

    In the order of x, of its coordinate, of y, of its coordinate.
    """
    sizes = [len(table[0]) for table in tables]
    keys = [
        (x, i, y, j)
        for x in range(len(tables))
        for i in range(sizes[x])
        for y in range(x + 1, len(tables))
        for j in range(sizes[y])
    ]
    sums = dict.fromkeys(keys, 0)
    for row in rows:
        feature = [table[state] for table, state in zip(tables, row, strict=True)]
        entries = {(x, i, y, j): feature[x][i] * feature[y][j] for x, i, y, j in keys}
        length = sum(entry**2 for entry in entries.values())
        weight = max(w for w in range(unit + 1) if w**2 * length <= unit**2 * bound)
        for key, entry in entries.items():
            sums[key] += weight * entry
    return list(sums.values())
