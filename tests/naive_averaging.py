"""The averaged DAG by its definition: one pair after another, cycles by what is reached."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Pairs = set[tuple[int, int]]


def naive_averaged_arcs(
    votes: np.ndarray, above: int, total: int, forbidden: Pairs, required: Sequence[tuple[int, int]]
) -> Pairs:
    """Arcs x -> y of the DAG: required ones, then pairs of more than `above` votes or of all."""
    n = len(votes)
    strengths = votes + votes.T
    arcs = set(required)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if strengths[a, b] > 0]
    for a, b in sorted(pairs, key=lambda pair: (-strengths[pair], pair)):
        if not (strengths[a, b] > above or strengths[a, b] == total):
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
