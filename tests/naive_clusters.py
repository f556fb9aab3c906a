"""Slow, obvious twins of the cluster relaxation's parts and of orders; sets are Python sets."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass
class Columns:
    """Families in any order: nodes, parents, and a number for each."""

    n: int
    node: list[int]
    parents: list[set[int]]
    x: list[float]

    def covered(self, cluster: set[int], k: int) -> list[int]:
        return [
            f
            for f, i in enumerate(self.node)
            if i in cluster and len(cluster & self.parents[f]) < k
        ]

    def side(self, cluster: set[int], k: int) -> float:
        return sum(self.x[f] for f in self.covered(cluster, k))


def reduced_costs(columns: Columns, clusters: list[set[int]], duals: list[float]):
    price = [
        cost - sum(d for c, d in zip(clusters, duals, strict=True) if f in columns.covered(c, 1))
        for f, cost in enumerate(columns.x)
    ]
    least = [
        min((p for p, i in zip(price, columns.node, strict=True) if i == v), default=math.inf)
        for v in range(columns.n)
    ]
    reduced = [p - least[i] for p, i in zip(price, columns.node, strict=True)]
    return sum(least) + sum(duals), least, reduced


def grow(columns: Columns, seed: set[int], k: int) -> tuple[set[int], float]:
    """Best single changes until none helps; small sets grow first."""
    cluster = set(seed)
    for _ in range(3 * columns.n):
        side = columns.side(cluster, k) if len(cluster) > k else math.inf
        flips = [v for v in range(columns.n) if not (v in cluster and len(cluster) <= k + 1)]
        sides = [columns.side(cluster ^ {v}, k) for v in flips]
        if not flips or (len(cluster) > k and min(sides) >= side - 1e-9):
            break
        cluster ^= {flips[int(np.argmin(sides))]}
    return cluster, columns.side(cluster, k) if len(cluster) > k else math.inf


def walk(columns: Columns, seed: set[int], k: int, steps: int) -> tuple[set[int], float]:
    """The best set that is met when always the best node that has rested is flipped."""
    cluster, last = set(seed), dict.fromkeys(range(columns.n), -columns.n)
    best, least = set(seed), math.inf
    for step in range(steps):
        if columns.side(cluster, k) < least - 1e-9:
            best, least = set(cluster), columns.side(cluster, k)
        free = [
            v
            for v in range(columns.n)
            if step - last[v] > columns.n // 4 and not (v in cluster and len(cluster) <= k + 1)
        ]
        if not free:
            break
        flip = min(free, key=lambda v: columns.side(cluster ^ {v}, k))
        cluster ^= {flip}
        last[flip] = step
    return best, least


def order_cost(columns: Columns, order: list[int]) -> float:
    """Σ of the least costs of families whose parents come before."""
    total = 0.0
    for at, v in enumerate(order):
        total += min(
            (
                cost
                for i, parents, cost in zip(columns.node, columns.parents, columns.x, strict=True)
                if i == v and parents <= set(order[:at])
            ),
            default=math.inf,
        )
    return total


def descend(columns: Columns, order: list[int]) -> list[int]:
    """Every node in turn to the place where an order costs least, until no order costs less; of
    equal places the nearest, those before the node first."""
    cost = order_cost(columns, order)
    while True:
        for v in range(len(order)):
            rest, here = [u for u in order if u != v], order.index(v)
            ways = [range(here, -1, -1), range(here, len(order))]
            places = [at for way in ways for at in _until_no_order(columns, rest, v, way)]
            order = min(
                ([*rest[:at], v, *rest[at:]] for at in places),
                key=lambda each: order_cost(columns, each),
            )
        before, cost = cost, order_cost(columns, order)
        if not cost < before:
            return order


def _until_no_order(columns: Columns, rest: list[int], v: int, way: range) -> Iterator[int]:
    """The places that a node reaches by swaps before an order leaves a node without a family."""
    for at in way:
        if order_cost(columns, [*rest[:at], v, *rest[at:]]) == math.inf:
            return
        yield at
