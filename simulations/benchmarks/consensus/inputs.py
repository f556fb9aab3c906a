"""Inputs of the benchmarks: from files, around a base DAG, or learned from samples of a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_structures
from fedbn.graphs.random import perturb, random_dag
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from simulations.benchmarks.consensus.walk import walked_inputs


@dataclass(frozen=True)
class Inputs:
    """DAGs to be fused, and the DAG behind them, where there is one."""

    label: str
    dags: Sequence[DAG]
    base: DAG | None = None


def changed_inputs(
    n: int, r: int, rng: np.random.Generator, changes: int | None = None
) -> tuple[DAG, list[DAG]]:
    """A random base with 1.5 n edges, and r copies with 0.75 n or so many changes that all take
    effect."""
    names = [f"v{i:04d}" for i in range(n)]
    base = random_dag(names, edges=min(3 * n // 2, n * (n - 1) // 2), rng=rng)
    changes = 3 * n // 4 if changes is None else changes
    return base, [perturb(base, changes, rng=rng) for _ in range(r)]


GENERATORS: dict[str, Callable[[int, int, np.random.Generator], tuple[DAG, list[DAG]]]] = {
    "walk": walked_inputs,
    "changes": changed_inputs,
}


def around_random(generator: str, n: int, r: int, changes: int | None, seed: int) -> Inputs:
    """r DAGs around a random base of n nodes; `changes` of each, if they are to be changed."""
    rng = np.random.default_rng(seed)
    if generator == "changes" and changes is not None:
        base, dags = changed_inputs(n, r, rng, changes)
        return Inputs(f"{changes} changes, seed {seed}", dags, base)
    base, dags = GENERATORS[generator](n, r, rng)
    return Inputs(f"{generator}, seed {seed}", dags, base)


def around_network(
    name: str, folder: Path | None, r: int, changes: int | None, seed: int
) -> Inputs:
    """r copies of a network's DAG with so many random changes each; 0.75 n by default."""
    dag = load_network(name, folder).dag
    base = dag.reorder(sorted(dag.names))
    rng = np.random.default_rng(seed)
    changes = 3 * base.n // 4 if changes is None else changes
    label = f"{name}, {changes} changes, seed {seed}"
    return Inputs(label, [perturb(base, changes, rng=rng) for _ in range(r)], base)


def learn(
    name: str, folder: Path | None, r: int, rows: int, seed: int, lacking: float = 0.0
) -> Inputs:
    """r DAGs that GES (BDeu, random ties) learns, each from its own sample of a network, without so
    large a share of the variables, at random."""
    network = load_network(name, folder)
    dags = []
    for k in range(r):
        rng = np.random.default_rng([seed, k])
        table = network.sample(rows, rng)
        if lacking:
            kept = rng.random(len(table.names)) >= lacking
            table = table.select([v for v, there in zip(table.names, kept, strict=True) if there])
        dags.append(ges(make_score("bdeu", table), SearchRules(rng=rng)).dag)
    label = f"{name}, GES of {rows} rows, seed {seed}"
    return Inputs(label, dags, network.dag)


def from_file(file: Path, r: int) -> Inputs | None:
    """The first r DAGs of a file, or None if it has fewer."""
    dags = [entry.dag for entry in read_structures(file)]
    return Inputs(file.name.split(".")[0], dags[:r]) if r <= len(dags) else None
