"""The averaged DAG by its definition: one pair after another, cycles by what is reached."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Pairs = set[tuple[int, int]]


def naive_averaged_arcs(
    votes: np.ndarray,
    threshold: Fraction,
    seen: np.ndarray,
    forbidden: Pairs,
    required: Sequence[tuple[int, int]],
) -> Pairs:
    """Arcs x -> y of the DAG: required ones, then pairs of which a larger share than the threshold
    of those who see them has voted, or all."""
    n = len(votes)
    strengths = votes + votes.T
    arcs = set(required)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if strengths[a, b] > 0]
    share = {pair: Fraction(int(strengths[pair]), int(seen[pair])) for pair in pairs}
    for a, b in sorted(pairs, key=lambda pair: (-share[pair], pair)):
        if share[a, b] <= threshold and share[a, b] != 1:
            continue
        for x, y in ((a, b), (b, a)):
            liked = votes[x, y] >= votes[y, x] or (y, x) in forbidden
            if liked and (x, y) not in forbidden and not _reaches(arcs, y, x):
                arcs.add((x, y))
                break
    return arcs


def _reaches(arcs: Pairs, start: int, end: int) -> bool:
    reached = {start}
    while more := {y for x, y in arcs if x in reached} - reached:
        reached |= more
    return end in reached
