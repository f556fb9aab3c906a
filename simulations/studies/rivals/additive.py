"""A measurement, not a score of fedbn: BIC of regressions on functions of each parent.

A family's score is -(N/2) ln σ² - (ln N / 2) k, σ² the residual variance of the child on k
functions of its parents, each parent for itself (a generalized additive model with a fixed basis).
Like Gaussian BIC it needs sums of products alone, so that sites could add theirs up; unlike it,
members of a class score differently. The search is hill climbing over DAGs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from fedbn.arrays import Bools, Floats

_TIE = 1e-9
_RIDGE = 1e-9


def _quadratic(z: Floats) -> list[Floats]:
    return [z, z**2]


def _spline(z: Floats) -> list[Floats]:
    """A truncated basis with knots at -1, 0 and 1 deviations."""
    return [z, *(np.maximum(z - knot, 0.0) ** 2 for knot in (-1.0, 0.0, 1.0))]


BASES: Mapping[str, Callable[[Floats], list[Floats]]] = {
    "linear": lambda z: [z],
    "quadratic": _quadratic,
    "spline": _spline,
}


def climb_additively(sites: Floats, basis: str) -> Bools:
    """The adjacency of the DAG that hill climbing finds on all sites' sums of products.

    Parameters
    ----------
    sites : [sites, rows, n]; a site's rows are centred at its own means.
    basis : one of BASES; its argument is a column scaled by mean and deviation over all sites.
    """
    rows, n = sites.shape[0] * sites.shape[1], sites.shape[2]
    scaled = (sites - sites.mean(axis=(0, 1))) / sites.std(axis=(0, 1))
    per_column = [BASES[basis](scaled[:, :, v]) for v in range(n)]
    width = len(per_column[0])
    columns = [scaled[:, :, v] for v in range(n)] + [f for each in per_column for f in each]
    centred = [column - column.mean(axis=1, keepdims=True) for column in columns]
    flat = np.stack([column.ravel() for column in centred])
    products = flat @ flat.T / rows

    @cache
    def score(child: int, parents: frozenset[int]) -> float:
        used = [n + p * width + k for p in sorted(parents) for k in range(width)]
        among = products[np.ix_(used, used)] + _RIDGE * np.eye(len(used))
        towards = products[used, child]
        left = float(products[child, child])
        if used:
            left -= float(towards @ np.linalg.solve(among, towards))
        fit = -rows / 2 * math.log(max(left, 1e-12))
        return float(fit - math.log(rows) / 2 * len(used))

    return _climb(n, score)


def _climb(n: int, score: Callable[[int, frozenset[int]], float]) -> Bools:
    parents = [frozenset[int]() for _ in range(n)]
    while True:
        best, found = _TIE, None
        for changed in _moves(parents):
            gain = sum(score(v, new) - score(v, parents[v]) for v, new in changed.items())
            if gain > best + _TIE:
                best, found = gain, changed
        if found is None:
            break
        for v, new in found.items():
            parents[v] = new
    adjacency = np.zeros((n, n), dtype=np.bool_)
    for v, own in enumerate(parents):
        adjacency[list(own), v] = True
    return adjacency


def _moves(parents: list[frozenset[int]]) -> Iterator[dict[int, frozenset[int]]]:
    """Additions, deletions and reversals that leave no cycle: nodes and their new parents."""
    n = len(parents)
    above = [_ancestors(parents, v) for v in range(n)]
    for a in range(n):
        for b in range(n):
            if a in parents[b]:
                yield {b: parents[b] - {a}}
                if all(a not in above[c] for c in parents[b] - {a}):
                    yield {b: parents[b] - {a}, a: parents[a] | {b}}
            elif a != b and b not in parents[a] and b not in above[a]:
                yield {b: parents[b] | {a}}


def _ancestors(parents: list[frozenset[int]], v: int) -> set[int]:
    found: set[int] = set()
    waiting = list(parents[v])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(parents[node])
    return found
