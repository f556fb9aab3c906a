"""Slow twins of the credible sets: every DAG, every class, from the definitions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.scores.base import LocalScore
from fedbn.search.families.families import Families


@cache
def all_parent_sets(n: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """The parents of every node, for every DAG over n nodes (29,281 for n = 5)."""
    subsets = [
        [
            parents
            for size in range(n)
            for parents in itertools.combinations([j for j in range(n) if j != i], size)
        ]
        for i in range(n)
    ]

    def acyclic(choice: tuple[tuple[int, ...], ...]) -> bool:
        left = set(range(n))
        while left:
            free = {i for i in left if not left.intersection(choice[i])}
            if not free:
                return False
            left -= free
        return True

    return tuple(choice for choice in itertools.product(*subsets) if acyclic(choice))


def table(rng: np.random.Generator, rows: int, arities: list[int], copied: bool) -> Dataset:
    """A random table with dependent columns; `copied` makes two columns equal."""
    n = len(arities)
    codes = np.empty((rows, n), dtype=np.int64)
    for j, arity in enumerate(arities):
        codes[:, j] = rng.integers(arity, size=rows)
        if j and rng.random() < 0.7:
            source = codes[:, int(rng.integers(j))] % arity
            codes[:, j] = np.where(rng.random(rows) < 0.7, source, codes[:, j])
    if copied and n > 1 and arities[0] <= arities[1]:
        codes[:, 1] = codes[:, 0]
    states = {f"x{j}": [str(s) for s in range(arity)] for j, arity in enumerate(arities)}
    return Dataset(Schema.categorical(states), codes)


def local_costs(data: Dataset, score: str, ess: float) -> dict[tuple[int, tuple[int, ...]], float]:
    """-local score of every family, counted row by row."""
    costs = {}
    arities = [int(a) for a in data.cardinalities]
    for i in range(data.n):
        others = [j for j in range(data.n) if j != i]
        for size in range(data.n):
            for parents in itertools.combinations(others, size):
                counts: dict[tuple[int, ...], list[int]] = {}
                for row in data.codes.tolist():
                    cell = counts.setdefault(tuple(row[j] for j in parents), [0] * arities[i])
                    cell[row[i]] += 1
                q = math.prod(arities[j] for j in parents)
                total = 0.0
                for cell in counts.values():
                    if score == "bdeu":
                        a, b = ess / q, ess / (q * arities[i])
                        total += math.lgamma(a) - math.lgamma(a + sum(cell))
                        total += sum(math.lgamma(b + c) - math.lgamma(b) for c in cell)
                    else:
                        total += sum(c * math.log(c / sum(cell)) for c in cell if c)
                if score != "bdeu":
                    weight = 0.5 * math.log(data.n_rows) if score == "bic" else 1.0
                    total -= weight * (arities[i] - 1) * q
                costs[i, parents] = -total
    return costs


def candidates(costs: dict[tuple[int, tuple[int, ...]], float], epsilon: float) -> set:
    """Families that no subset beats by more than epsilon (lemma 3)."""
    return {
        (i, parents)
        for (i, parents), cost in costs.items()
        if all(
            cost <= costs[i, subset] + epsilon + 1e-8
            for size in range(len(parents))
            for subset in itertools.combinations(parents, size)
        )
    }


def credible(
    costs: dict[tuple[int, tuple[int, ...]], float], n: int, epsilon: float
) -> tuple[float, list[tuple[float, tuple[tuple[int, ...], ...]]]]:
    """OPT, and (excess, parents) of every credible DAG by ascending cost."""
    totals = [
        (sum(costs[i, parents] for i, parents in enumerate(choice)), choice)
        for choice in all_parent_sets(n)
    ]
    opt = min(total for total, _ in totals)
    return opt, sorted((t - opt, choice) for t, choice in totals if t - opt <= epsilon + 1e-8)


def covered_share(costs: dict[tuple[int, tuple[int, ...]], float], n: int, epsilon: float) -> float:
    """The share of exp(-cost) over all DAGs that credible ones have."""
    totals = np.array(
        [sum(costs[i, p] for i, p in enumerate(choice)) for choice in all_parent_sets(n)]
    )
    weights = np.exp(totals.min() - totals)
    return float(weights[totals <= totals.min() + epsilon + 1e-8].sum() / weights.sum())


def log_sum_of_dags(score: LocalScore, n: int) -> float:
    """ln Σ exp(score) over all DAGs, by inclusion and exclusion over the nodes without children.

    Terms of both signs cancel (Tian & He 2009): whole numbers, weights times 2^K, lose nothing.
    """
    scores = [[-math.inf] * (1 << n) for _ in range(n)]
    for i in range(n):
        for mask in range(1 << n):
            if not mask >> i & 1:
                parents = tuple(j for j in range(n) if mask >> j & 1)
                scores[i][mask] = score.local_score(i, parents) / math.log(2.0)
    top = [math.ceil(max(row)) for row in scores]
    K = 60 + max(top[i] - math.floor(x) for i in range(n) for x in scores[i] if x > -math.inf)
    weights = [[0] * (1 << n) for _ in range(n)]
    for i in range(n):
        for mask, x in enumerate(scores[i]):
            if x > -math.inf:
                whole = math.floor(x)
                weights[i][mask] = int(2.0 ** (x - whole + 52)) << (K - 52 + whole - top[i])
        for j in range(n):
            for mask in range(1 << n):
                if mask >> j & 1:
                    weights[i][mask] += weights[i][mask ^ 1 << j]
    Z = [1]  # Z[V] is times 2^(K |V|)
    for V in range(1, 1 << n):
        Z.append(0)
        for mask in range(1, V + 1):
            if mask & ~V == 0:
                ways, sign = Z[V ^ mask], -1
                for i in range(n):
                    if mask >> i & 1:
                        ways, sign = ways * weights[i][V ^ mask], -sign
                Z[V] += sign * ways
    return math.log(Z[-1]) + (sum(top) - n * K) * math.log(2.0)


def dag_of(names: tuple[str, ...], choice: tuple[tuple[int, ...], ...]) -> DAG:
    """The DAG with these parents."""
    return DAG.from_edges(
        names, [(names[p], names[i]) for i, parents in enumerate(choice) for p in parents]
    )


def class_sizes(dags: list[DAG]) -> dict[bytes, int]:
    """Number of DAGs per CPDAG."""
    sizes: dict[bytes, int] = {}
    for dag in dags:
        key = dag_to_cpdag(dag).adjacency.tobytes()
        sizes[key] = sizes.get(key, 0) + 1
    return sizes


def coarse_classes(dags: list[DAG]) -> int:
    """Distinct (skeleton, all colliders)."""
    keys = set()
    for dag in dags:
        skeleton = (dag.adjacency | dag.adjacency.T).tobytes()
        colliders = frozenset(
            (*pair, c) for c in range(dag.n) for pair in itertools.combinations(dag.parents(c), 2)
        )
        keys.add((skeleton, colliders))
    return len(keys)


def edge_posteriors(found: list[tuple[float, tuple[tuple[int, ...], ...]]], n: int) -> np.ndarray:
    """Share of the weight exp(-excess) per edge."""
    out = np.zeros((n, n))
    for excess, choice in found:
        for i, parents in enumerate(choice):
            for p in parents:
                out[p, i] += math.exp(-excess)
    return out / sum(math.exp(-excess) for excess, _ in found)


def chained_sets(costs: dict[tuple[int, tuple[int, ...]], float], epsilon: float) -> int:
    """The paper's bookkeeping: a set is compared with what its immediate subsets stand for."""
    stands: dict[tuple[int, tuple[int, ...]], float] = {}
    kept = 0
    for (i, parents), cost in sorted(costs.items(), key=lambda item: len(item[0][1])):
        below = [stands[i, parents[:k] + parents[k + 1 :]] for k in range(len(parents))]
        if min(below, default=math.inf) + epsilon + 1e-8 < cost:
            stands[i, parents] = min(below)
        else:
            stands[i, parents] = cost
            kept += 1
    return kept


def class_edge_posteriors(
    found: list[tuple[float, tuple[tuple[int, ...], ...]]], names: tuple[str, ...]
) -> np.ndarray:
    """Share of edges when each class counts once, and its members share that equally."""
    dags = [dag_of(names, choice) for _, choice in found]
    sizes = class_sizes(dags)
    out, total = np.zeros((len(names), len(names))), 0.0
    for (excess, _), dag in zip(found, dags, strict=True):
        weight = math.exp(-excess) / sizes[dag_to_cpdag(dag).adjacency.tobytes()]
        out += weight * dag.adjacency
        total += weight
    return out / total


def count_by_exclusion(families: Families, limit: float) -> int:
    """DAGs of at most `limit`, by inclusion and exclusion over marked nodes without children.

    Each DAG on U is counted once for every non-empty set S of its sinks, with sign
    (-1)^(|S| + 1); these add up to 1.
    """
    ways = [Counter({0.0: 1})]
    for U in range(1, 1 << families.n):
        found: Counter[float] = Counter()
        for S in range(1, U + 1):
            if S & ~U:
                continue
            members = [i for i in range(families.n) if S >> i & 1]
            part = Counter(ways[U ^ S])
            for i in members:
                more: Counter[float] = Counter()
                for f in range(families.start[i], families.start[i + 1]):
                    if not int(families.bits[f, 0]) & ~(U ^ S):
                        for cost, number in part.items():
                            more[round(cost + float(families.cost[f]), 9)] += number
                part = more
            for cost, number in part.items():
                found[cost] += number if len(members) % 2 else -number
        ways.append(Counter({c: number for c, number in found.items() if number and c <= limit}))
    return sum(ways[-1].values())
