"""Random scores, and their best DAG by trying all."""

from __future__ import annotations

from functools import cache

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.networks.random import node_names
from fedbn.scores import TabulatedScore, make_score
from fedbn.search.families.families import Families
from tests import naive_credible as naive


def gaussian(rng: np.random.Generator, rows: int, n: int, density: float = 0.5) -> Dataset:
    """A table of a random linear-Gaussian network."""
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < density), 1)
    values = np.zeros((rows, n))
    for j in range(n):
        values[:, j] = values @ weights[:, j] + rng.normal(size=rows)
    return Dataset(Schema.gaussian([f"g{j:02}" for j in range(n)]), values)


def random_score(name: str, rng: np.random.Generator, n: int) -> TabulatedScore:
    """A score of a random table of n columns."""
    rows = int(rng.integers(n + 10, 120))
    if name.startswith("gaussian") or name == "bge":
        return make_score(name, gaussian(rng, rows, n, rng.uniform(0.2, 0.9)))
    return make_score(name, categorical(rng, rows, rng.integers(2, 4, size=n).tolist()))


def categorical(rng: np.random.Generator, rows: int, arities: list[int]) -> Dataset:
    """Columns that often repeat an earlier one; one in ten tables has two equal columns."""
    codes = np.empty((rows, len(arities)), dtype=np.int32)
    for j, size in enumerate(arities):
        other = codes[:, rng.integers(j)] % size if j else np.zeros(rows, dtype=np.int32)
        codes[:, j] = np.where(rng.random(rows) < 0.6, other, rng.integers(size, size=rows))
    if rng.random() < 0.1:
        codes[:, 0] = codes[:, 1] % arities[0]
    states = {f"c{j:02}": [str(state) for state in range(a)] for j, a in enumerate(arities)}
    return Dataset(Schema.categorical(states), codes)


def random_families(rng: np.random.Generator, n: int, most: int) -> Families:
    """The empty set and up to `most` cheaper ones per node."""
    lists = []
    for i in range(n):
        others = [j for j in range(n) if j != i]
        chosen = {()} | {
            tuple(sorted(rng.choice(others, rng.integers(1, min(n, 4)), replace=False).tolist()))
            for _ in range(rng.integers(0, most + 1) if others else 0)
        }
        lists.append([(rng.uniform(0, 9) - 2 * len(P), P) for P in sorted(chosen)])
    return Families.from_parents(node_names(n), lists)


@cache
def _choices(n: int) -> np.ndarray:
    """[DAGs, n]: the parents of every node as numbers (bit j is node j)."""
    return np.array(
        [[sum(1 << j for j in parents) for parents in dag] for dag in naive.all_parent_sets(n)]
    )


def best_of_all(score: TabulatedScore) -> float:
    """The greatest total over all DAGs."""
    n = score.n
    local = np.full((n, 1 << n), -np.inf)
    for i in range(n):
        for bits in range(1 << n):
            if not bits >> i & 1:
                local[i, bits] = score.local_score(i, [j for j in range(n) if bits >> j & 1])
    return float(local[np.arange(n), _choices(n)].sum(axis=1).max())
