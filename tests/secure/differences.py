"""What sums over different sets of sites tell together: a search for differences.

A sum is a set of unknown numbers, each of one site. Whoever hears several sums can combine them, by
any factors; what is left of a combination may be of a few sites only. The search tries all sets of
fewer than `least` sites, and asks of each, by ranks, whether some combination of the sums is of
them alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from typing import NamedTuple

PRIME = (1 << 61) - 1
"""Ranks are those modulo it."""


class Unknown(NamedTuple):
    """A number that one site has."""

    site: int
    quantity: Hashable


Sum = frozenset[Unknown]


def sites_alone(sums: Iterable[Iterable[Unknown]], least: int) -> tuple[int, ...] | None:
    """Fewer than `least` sites of which alone some combination of the sums is; None: none are."""
    rows = list(dict.fromkeys(frozenset(each) for each in sums))
    unknowns = sorted({u for row in rows for u in row}, key=repr)
    sites = sorted({u.site for u in unknowns})
    whole = rank(rows, unknowns)
    for few in combinations(sites, min(least - 1, len(sites))):
        others = [u for u in unknowns if u.site not in few]
        if rank(rows, others) < whole:
            return few
    return None


def rank(rows: Sequence[Sum], unknowns: Sequence[Unknown]) -> int:
    """Of the matrix with a 1 for every unknown of a sum, modulo PRIME."""
    matrix = [[int(u in row) for u in unknowns] for row in rows]
    found = 0
    for column in range(len(unknowns)):
        pivot = next((r for r in range(found, len(matrix)) if matrix[r][column]), None)
        if pivot is None:
            continue
        matrix[found], matrix[pivot] = matrix[pivot], matrix[found]
        inverse = pow(matrix[found][column], -1, PRIME)
        top = matrix[found]
        for r in range(found + 1, len(matrix)):
            factor = matrix[r][column] * inverse % PRIME
            if factor:
                matrix[r] = [(a - factor * b) % PRIME for a, b in zip(matrix[r], top, strict=True)]
        found += 1
    return found
