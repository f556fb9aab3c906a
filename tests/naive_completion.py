"""Slow twins of `core/scores/completion.cpp` and `fedbn/learners/mixed_completion.py`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import multivariate_normal

from fedbn.data.dataset import Schema
from fedbn.graphs.dag import DAG

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
    schema: Schema,
    table: np.ndarray,
    gone: np.ndarray,
    dag: DAG,
    sweeps: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Cell by cell: least squares, and Bayes' rule with normals that share a covariance."""
    states = [variable.states for variable in schema.variables]
    given, drawn, n = table.copy(), table.copy(), len(table)

    def blanket(row: np.ndarray, v: int) -> np.ndarray:
        children = [c for c in range(dag.n) if v in dag.parents(c)]
        near = {*dag.parents(v), *children, *(p for c in children for p in dag.parents(c))} - {v}
        found: list[float] = []
        for u in sorted(near):
            own = states[u]
            if own is None:
                found.append(float(row[u]))
            else:
                found += [float(row[u] == code) for code in range(len(own) - 1)]
        return np.array(found)

    for _ in range(sweeps):
        for v in range(schema.n):
            if not gone[:, v].any():
                continue
            z = np.array([blanket(row, v) for row in given])
            variances = z.var(axis=0)
            prior = np.diag(np.where(variances > 0, variances, 1.0))
            own = states[v]
            cells = np.flatnonzero(gone[:, v])
            noise = rng.standard_normal(len(cells)) if own is None else rng.random(len(cells))
            y = given[:, v]
            for r, number in zip(cells, noise, strict=True):
                here = blanket(drawn[r], v)
                if own is None:
                    middle = z.mean(axis=0)
                    inner = (z - middle).T @ (z - middle) + prior
                    slopes = np.linalg.inv(inner) @ ((z - middle).T @ (y - y.mean()))
                    left = y - y.mean() - (z - middle) @ slopes
                    fitted = y.mean() + (here - middle) @ slopes
                    drawn[r, v] = fitted + number * np.sqrt(np.mean(left**2))
                    continue
                inside = [z[y == code] for code in range(len(own))]
                within = prior + sum((p - p.mean(axis=0)).T @ (p - p.mean(axis=0))
                                     for p in inside if len(p))  # fmt: skip
                weights = np.zeros(len(own))
                for code, part in enumerate(inside):
                    if len(part):
                        density = 1.0
                        if len(here):
                            normal = multivariate_normal(part.mean(axis=0), within / n)
                            density = float(np.exp(normal.logpdf(here)))
                        weights[code] = len(part) / n * density
                bounds = np.cumsum(weights) / weights.sum()
                drawn[r, v] = int((number >= bounds[:-1]).sum())
    return drawn
