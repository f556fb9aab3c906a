"""A slow twin of `core/scores/completion.cpp`: one cell after the other, by the definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
    sweeps: int,
    seed: int,
) -> np.ndarray:
    """codes, gone: [n, rows]."""
    given, drawn, random = codes.copy(), codes.copy(), SplitMix64(seed)

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
                    largest = max(weights)
                    weights = [w / largest for w in weights]
                left = random.uniform() * sum(weights)
                drawn[v, r] = arities[v] - 1
                for x, weight in enumerate(weights[:-1]):
                    left -= weight
                    if left < 0:
                        drawn[v, r] = x
                        break
    return drawn
