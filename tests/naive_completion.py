"""Slow twins of `core/scores/completion.cpp` and `core/scores/mixed_completion.cpp`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import multivariate_normal

MASK = 2**64 - 1


class SplitMix64:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def uniform(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return float((z ^ (z >> 31)) >> 11) * 2.0**-53


def draw_missing(
    codes: np.ndarray,
    gone: np.ndarray,
    arities: Sequence[int],
    parents: Sequence[Sequence[int]],
    ess: float,
    fits: int,
    sweeps: int,
    seed: int,
) -> np.ndarray:
    """codes, gone: [n, rows]."""
    random = SplitMix64(seed)
    for _ in range(fits):
        codes = _draw_from_one_fit(codes, gone, arities, parents, ess, sweeps, random)
    return codes.copy()


def _draw_from_one_fit(
    codes: np.ndarray,
    gone: np.ndarray,
    arities: Sequence[int],
    parents: Sequence[Sequence[int]],
    ess: float,
    sweeps: int,
    random: SplitMix64,
) -> np.ndarray:
    given, drawn = codes.copy(), codes.copy()

    def probability(node: int, row: np.ndarray) -> float:
        """P(x | p) of a row's x and p, counted from the codes that were given."""
        above, configurations = list(parents[node]), 1
        for parent in above:
            configurations *= arities[parent]
        same = np.ones(given.shape[1], dtype=bool)
        for parent in above:
            same &= given[parent] == row[parent]
        with_x = int((same & (given[node] == row[node])).sum())
        cell, margin = ess / (configurations * arities[node]), ess / configurations
        return (with_x + cell) / (int(same.sum()) + margin)

    for r in range(codes.shape[1]):
        for _ in range(sweeps):
            for v in np.flatnonzero(gone[:, r]):
                children = [c for c in range(len(arities)) if v in parents[c]]
                rows = []
                for x in range(arities[v]):
                    row = drawn[:, r].copy()
                    row[v] = x
                    rows.append(row)
                weights = [probability(int(v), row) for row in rows]
                for child in children:
                    factors = [probability(child, row) for row in rows]
                    weights = [w * f for w, f in zip(weights, factors, strict=True)]
                    if max(weights) < 2.0**-300:
                        weights = [w / max(weights) for w in weights]
                left = random.uniform() * sum(weights)
                drawn[v, r] = arities[v] - 1
                for x, weight in enumerate(weights[:-1]):
                    left -= weight
                    if left < 0:
                        drawn[v, r] = x
                        break
    return drawn


def draw_mixed(
    table: np.ndarray,
    gone: np.ndarray,
    states: Sequence[int],
    blankets: Sequence[Sequence[int]],
    fits: int,
    sweeps: int,
    seed: int,
) -> np.ndarray:
    """Cell by cell: least squares, and Bayes' rule with normals that share a covariance.

    table, gone: [n, rows].
    """
    stream = Normals(seed)
    for _ in range(fits):
        table = _draw_mixed_from_one_fit(table, gone, states, blankets, sweeps, stream)
    return table.copy()


class Normals(SplitMix64):
    """Marsaglia's polar method: two normal numbers at a time."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kept: list[float] = []

    def normal(self) -> float:
        while not self.kept:
            a, b = 2 * self.uniform() - 1, 2 * self.uniform() - 1
            if 0 < a * a + b * b < 1:
                factor = float(np.sqrt(-2 * np.log(a * a + b * b) / (a * a + b * b)))
                self.kept = [b * factor, a * factor]
        return self.kept.pop()


def _draw_mixed_from_one_fit(
    given: np.ndarray,
    gone: np.ndarray,
    states: Sequence[int],
    blankets: Sequence[Sequence[int]],
    sweeps: int,
    stream: Normals,
) -> np.ndarray:
    drawn, rows = given.copy(), given.shape[1]

    def blanket(table: np.ndarray, r: int, v: int) -> np.ndarray:
        found: list[float] = []
        for u in blankets[v]:
            codes = range(states[u] - 1)
            found += [float(table[u, r] == code) for code in codes] if states[u] else [table[u, r]]
        return np.array(found)

    for _ in range(sweeps):
        for v in np.flatnonzero(gone.any(axis=1)):
            z, y = np.array([blanket(given, r, v) for r in range(rows)]), given[v]
            variances = z.var(axis=0)
            prior = np.diag(np.where(variances > 0, variances, 1.0))
            for r in np.flatnonzero(gone[v]):
                here = blanket(drawn, r, v)
                if states[v] == 0:
                    middle = z.mean(axis=0)
                    inner = (z - middle).T @ (z - middle) + prior
                    slopes = np.linalg.inv(inner) @ ((z - middle).T @ (y - y.mean()))
                    left = y - y.mean() - (z - middle) @ slopes
                    fitted = y.mean() + (here - middle) @ slopes
                    drawn[v, r] = fitted + stream.normal() * np.sqrt(np.mean(left**2))
                    continue
                inside = [z[y == code] for code in range(states[v])]
                within = prior + sum((p - p.mean(axis=0)).T @ (p - p.mean(axis=0))
                                     for p in inside if len(p))  # fmt: skip
                weights = np.zeros(states[v])
                for code, part in enumerate(inside):
                    if len(part):
                        density = 1.0
                        if len(here):
                            normal = multivariate_normal(part.mean(axis=0), within / rows)
                            density = float(np.exp(normal.logpdf(here)))
                        weights[code] = len(part) / rows * density
                left = stream.uniform() * weights.sum()
                drawn[v, r] = int((left >= np.cumsum(weights)[:-1]).sum())
    return drawn
