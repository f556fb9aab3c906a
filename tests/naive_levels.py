"""Slow, obvious twins of the levels of parent sets: a set is a sorted tuple, a list is a dict."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Set = tuple[int, ...]


def colex(members: list[int], size: int) -> list[Set]:
    """All sets of one size in the order of their ranks."""
    return sorted(combinations(members, size), key=lambda chosen: chosen[::-1])


@dataclass
class Table:
    """Categorical rows; joint values are those of BIC: Σ n ln n over observed configurations."""

    rows: np.ndarray  # [rows, n]
    arities: list[int]
    penalty: float

    @property
    def n(self) -> int:
        return len(self.arities)

    def joint(self, members: Set) -> float:
        counts = Counter(map(tuple, self.rows[:, list(members)].tolist()))
        return sum(c * math.log(c) for c in counts.values())

    def configurations(self, members: Set) -> float:
        return float(math.prod(self.arities[v] for v in members))

    def cost(self, i: int, parents: Set) -> float:
        """-s(i, P)."""
        free = (self.arities[i] - 1) * self.configurations(parents)
        return self.joint(parents) - self.joint(tuple(sorted((*parents, i)))) + self.penalty * free


def without_one(chosen: Set) -> list[Set]:
    return [chosen[:j] + chosen[j + 1 :] for j in range(len(chosen))]


def extend(
    others: list[int], best: dict[Set, float], size: int, is_worth: Callable[[Set, float], bool]
) -> dict[Set, float]:
    """Sets of one more, all of whose subsets are there, with the least value of these."""
    found = {}
    for chosen in colex(others, size + 1):
        if all(part in best for part in without_one(chosen)):
            bound = min(best[part] for part in without_one(chosen))
            if is_worth(chosen, bound):
                found[chosen] = bound
    return found


def last_level(
    table: Table, size: int, best: list[dict[Set, float]], limit: list[float], slack: float
) -> list[tuple[int, Set, float]]:
    """Families of `size` parents within the limit that no known subset of one less beats."""
    found = []
    for family in colex(list(range(table.n)), size + 1):
        for i in family:
            parents = tuple(v for v in family if v != i)
            cost = table.cost(i, parents)
            known = [best[i].get(part, -math.inf) for part in without_one(parents)]
            if cost <= limit[i] and not min(known) + slack < cost:
                found.append((i, parents, cost))
    return found


def undominated(values: list[float], node: int, n: int, slack: float) -> dict[int, float]:
    """By mask: the sets that no proper subset beats by more than the slack."""
    masks = [mask for mask in range(1 << n) if not mask >> node & 1]
    cost = {mask: values[mask] - values[mask | 1 << node] for mask in masks}
    return {
        mask: cost[mask]
        for mask in masks
        if not any(cost[p] + slack < cost[mask] for p in masks if p != mask and not p & ~mask)
    }


def price(
    covariance: np.ndarray,
    parents: Set,
    scale: float,
    penalty: float,
    duals: list[tuple[set, float]],
) -> float:
    """Of a Gaussian parent set of variable 0: scale ln σ² + penalty |P| + duals of what P meets."""
    given = list(parents)
    rest = covariance[0, 0]
    if given:
        inside = covariance[np.ix_(given, given)]
        rest -= covariance[0, given] @ np.linalg.solve(inside, covariance[given, 0])
    paid = sum(dual for cluster, dual in duals if cluster & set(parents))
    return scale * math.log(rest) + penalty * len(parents) + paid
