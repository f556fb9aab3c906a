"""A search by hostile sites for the structure that moves the consensus most.

The hostile sites know everything: the honest structures, the server's code and its settings. All
send one DAG. From each of some starts it is changed at random, a few edges at a time, and a change
is kept where the drift, as the true `server_round` gives it, is not smaller. What is found is a
lower bound of what such sites can do; no more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Bools
from fedbn.federation.reply_limits import Limits
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

MOST_CHANGES = 8
"""Edges that one step changes, at most."""


@dataclass(frozen=True)
class Found:
    """The structure that moved the consensus most, by how much, and after how many tries."""

    dag: DAG
    drift: int
    tries: int


def search_attack(
    starts: Sequence[DAG],
    fuse: Callable[[DAG], DAG],
    honest: DAG,
    rng: np.random.Generator,
    *,
    tries: int,
    max_edges: int,
    within: int | None = None,
) -> Found:
    """Search from the starts, in equal parts of the tries.

    Parameters
    ----------
    starts : at least one, over the names of `honest`; not beyond `within`.
    fuse : the consensus where the hostile sites send this.
    honest : the consensus of the honest sites alone.
    tries : calls of `fuse`, at least one for each start.
    max_edges : edges at most, as pass the server's door.
    within : SMHD to the honest consensus at most; None: any.
    """
    best = Found(starts[0], -1, 0)
    done = 0
    for place, start in enumerate(starts):
        now, drift = start, smhd(honest, fuse(start))
        done += 1
        for _ in range(tries * (place + 1) // len(starts) - done):
            other = change_edges(now, rng, max_edges)
            if within is not None and smhd(honest, other) > within:
                other = now
            reached = smhd(honest, fuse(other))
            done += 1
            if reached >= drift:
                now, drift = other, reached
        if drift > best.drift:
            best = Found(now, drift, done)
    return Found(best.dag, best.drift, done)


def change_edges(dag: DAG, rng: np.random.Generator, max_edges: int) -> DAG:
    """With up to `MOST_CHANGES` edges added, removed or turned, whichever keep it a DAG."""
    matrix = dag.adjacency.copy()
    for x, y in _pairs(rng, dag.n):
        if matrix[x, y]:
            matrix[x, y] = False
            if rng.random() < 0.5 and not _reaches(matrix, x, y):
                matrix[y, x] = True
        elif matrix[y, x] or matrix.sum() >= max_edges or _reaches(matrix, y, x):
            continue
        elif matrix[:, y].sum() < Limits().max_in_degree:
            matrix[x, y] = True
    return DAG(dag.names, matrix)


def _pairs(rng: np.random.Generator, n: int) -> Iterator[tuple[int, int]]:
    for _ in range(int(rng.integers(1, MOST_CHANGES + 1))):
        x, y = rng.choice(n, size=2, replace=False).tolist()
        yield x, y


def _reaches(matrix: Bools, a: int, b: int) -> bool:
    """Whether there is a directed way from a to b."""
    seen, waiting = {a}, [a]
    while waiting:
        for after in np.flatnonzero(matrix[waiting.pop()]).tolist():
            if after == b:
                return True
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return False
