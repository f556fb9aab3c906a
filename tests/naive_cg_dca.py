"""Slow, obvious twins of CG-DCA's parts: set functions, Lovász extension, minima, clusters."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from fedbn.data.dataset import Dataset

Sets = list[tuple[int, ...]]


def subsets(items) -> Sets:
    items = list(items)
    return [s for k in range(len(items) + 1) for s in combinations(items, k)]


@dataclass
class Row:
    """A cluster row: its nodes, its dual, its k."""

    members: set[int]
    dual: float
    k: int


def log_det(dataset: Dataset, members: tuple[int, ...]) -> float:
    correlation = np.corrcoef(dataset.values, rowvar=False)
    return float(np.linalg.slogdet(correlation[np.ix_(members, members)])[1])


def entropy(dataset: Dataset, members: tuple[int, ...]) -> float:
    counts = Counter(tuple(row[list(members)]) for row in dataset.codes)
    return -sum(c / dataset.n_rows * math.log(c / dataset.n_rows) for c in counts.values())


def g(dataset: Dataset, node: int, J: tuple[int, ...], rows: list[Row], penalty: float) -> float:
    """The first submodular function of Propositions 1 and 2, not shifted."""
    met = sum(r.dual * min(len(r.members & set(J)), r.k) for r in rows)
    if dataset.kind == "gaussian":
        return 0.5 * dataset.n_rows * log_det(dataset, (*J, node)) + penalty * len(J) + met
    return dataset.n_rows * entropy(dataset, (*J, node)) + met


def f(dataset: Dataset, node: int, J: tuple[int, ...], rows: list[Row], penalty: float) -> float:
    """The second."""
    met = sum(r.dual * min(len(r.members & set(J)), r.k - 1) for r in rows)
    if dataset.kind == "gaussian":
        return 0.5 * dataset.n_rows * log_det(dataset, J) + met
    states = math.prod(int(dataset.cardinalities[j]) for j in J)
    own = int(dataset.cardinalities[node]) - 1
    return dataset.n_rows * entropy(dataset, J) - penalty * own * states + met


def reduced_cost(score, node: int, J: tuple[int, ...], rows: list[Row], pi: float) -> float:
    held = sum(r.dual for r in rows if node in r.members and len(r.members & set(J)) < r.k)
    return -score.local_score(node, J) - pi - held


def lovasz(values: dict[tuple[int, ...], float], x: dict[int, float]) -> float:
    """∫ F({j : x_j ≥ θ}) dθ over [0, 1], F(∅) = 0, from all sets' values."""
    levels = sorted({0.0, *x.values()})
    total = 0.0
    for low, high in pairwise(levels):
        total += (high - low) * values[tuple(sorted(j for j in x if x[j] >= high))]
    return total


def left_side(node, parents, x, cluster: set[int], k: int) -> float:
    return sum(
        weight
        for i, row, weight in zip(node, parents, x, strict=True)
        if i in cluster and len(cluster & set(np.flatnonzero(row))) < k
    )


def min_left_side(node, parents, x, n: int, k: int) -> float:
    clusters = [set(s) for s in subsets(range(n)) if len(s) > k]
    return min(left_side(node, parents, x, cluster, k) for cluster in clusters)
