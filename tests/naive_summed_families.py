"""Sums of a number's family, and least squares with a constant for every site, by their
definitions: fractions, one row at a time."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fedbn.data.dataset import Dataset
from fedbn.networks.conditional_gaussian import NumberFamily

Rows = list[tuple[int, list[Fraction]]]
"""Of every row its configuration, and ones, number parents and number."""


def rows_of(table: Dataset, family: NumberFamily, centres: Sequence[float]) -> Rows:
    """The rows of a site, its numbers less their centres."""
    place = family.configuration(table).tolist()
    found = []
    for i, c in enumerate(place):
        values = [Fraction(float(table.column(k)[i])) for k in family.columns]
        less = [x - Fraction(m) for x, m in zip(values, centres, strict=True)]
        found.append((c, [Fraction(1), *less]))
    return found


def total(sites: Sequence[Rows], c: int, i: int, j: int) -> Fraction:
    """A sum of products by configuration, over all sites."""
    return sum((row[i] * row[j] for rows in sites for d, row in rows if d == c), Fraction(0))


def between(sites: Sequence[Rows], one: tuple[int, int], other: tuple[int, int]) -> Fraction:
    """The sum over the sites of the products of two of their sums, divided by their rows; of a
    column in one configuration, or in all (-1)."""
    found = Fraction(0)
    for rows in sites:
        sums = [sum(row[i] for d, row in rows if c in (d, -1)) for c, i in (one, other)]
        found += Fraction(sums[0]) * sums[1] / len(rows)
    return found


def residual_squares(sites: Sequence[Rows], q: int) -> list[Fraction]:
    """Of every configuration the sum of squares that least squares leaves, with an equation for
    each and a constant for every site: the rows are unique even where the solution is not."""
    k = len(sites[0][0][1]) - 1
    columns, right = [], []
    for s, rows in enumerate(sites):
        for c, row in rows:
            of_site = [Fraction(s == t) for t in range(len(sites))]
            columns.append([row[i] * (c == d) for d in range(q) for i in range(k)] + of_site)
            right.append(row[k])
    solution = _solve(columns, right)
    found = [Fraction(0)] * q
    place = [c for rows in sites for c, _ in rows]
    for c, line, y in zip(place, columns, right, strict=True):
        found[c] += (y - sum(a * b for a, b in zip(line, solution, strict=True))) ** 2
    return found


def _solve(columns: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """A solution of the normal equations: unknowns that others determine are 0."""
    size = len(columns[0])
    lines = [
        [sum(a[i] * a[j] for a in columns) for j in range(size)]
        + [sum(a[i] * y for a, y in zip(columns, right, strict=True))]
        for i in range(size)
    ]
    pivots = []
    for j in range(size):
        free = [i for i in range(size) if i not in dict(pivots) and lines[i][j]]
        if not free:
            continue
        pivots.append((free[0], j))
        pivot = [value / lines[free[0]][j] for value in lines[free[0]]]
        for i in range(size):
            factor = lines[i][j]
            lines[i] = [x - factor * p for x, p in zip(lines[i], pivot, strict=True)]
        lines[free[0]] = pivot
    found = [Fraction(0)] * size
    for i, j in pivots:
        found[j] = lines[i][-1]
    return found
