"""Fusions of bounded treewidth: MCBNC under a bound beside the genetic fusions, on the same inputs.

python -m simulations.benchmarks.narrow_fusions --networks child,insurance,alarm --seeds 3

Ten sites sample a network and learn by GES (BDeu). Per network and bound, means over the seeds:
SMHD to the inputs and to the truth, edges, CPU seconds of the fusion. `theta alone` is the state of
the path that is nearest to the inputs within the bound; `mcbnc` lets it gain edges that fit where
the bound excludes what would be taken otherwise; polished, it always may.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.polish import polish
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import preference
from fedbn.fusion.genetic import genetic_inputs, genetic_union
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.treewidth import dag_treewidth
from simulations.benchmarks.arguments import count, counts
from simulations.benchmarks.consensus.inputs import Inputs, learn

SITES = 10


class Found(NamedTuple):
    """What a method found: mean SMHD to the inputs, SMHD to the truth, edges, CPU seconds."""

    to_inputs: float
    to_truth: float
    edges: float
    seconds: float


def theta_alone(dags: Sequence[DAG], bound: int, seed: int) -> DAG:
    states = [s for path in mcbnc_paths(dags) for s in select_among([path])[1].states]
    return next(s.dag for s in sorted(states, key=preference) if dag_treewidth(s.dag) <= bound)


def mcbnc(dags: Sequence[DAG], bound: int, seed: int) -> DAG:
    return select_among(mcbnc_paths(dags), max_treewidth=bound)[1].dag


def polished_mcbnc(dags: Sequence[DAG], bound: int, seed: int) -> DAG:
    path, consensus = select_among(mcbnc_paths(dags), max_treewidth=bound)
    return polish(consensus, path, bound).dag


def by_union(dags: Sequence[DAG], bound: int, seed: int) -> DAG:
    return genetic_union(dags, rng=np.random.default_rng(seed), max_treewidth=bound)


def by_inputs(dags: Sequence[DAG], bound: int, seed: int) -> DAG:
    return genetic_inputs(dags, rng=np.random.default_rng(seed), max_treewidth=bound)


METHODS: dict[str, Callable[[Sequence[DAG], int, int], DAG]] = {
    "mcbnc": mcbnc,
    "mcbnc, polished": polished_mcbnc,
    "theta alone": theta_alone,
    "genetic-union": by_union,
    "genetic-inputs": by_inputs,
}


def judge(method: str, inputs: Inputs, bound: int, seed: int) -> Found:
    assert inputs.base is not None
    dags, truth = inputs.dags, inputs.base
    began = time.process_time()
    dag = METHODS[method](dags, bound, seed)
    seconds = time.process_time() - began
    assert dag_treewidth(dag) <= bound
    to_truth = smhd(dag, truth.reorder(dag.names))
    return Found(float(mean_smhd(dag, dags)), to_truth, dag.n_edges, seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", default="child,insurance,alarm")
    parser.add_argument("--rows", type=count, default=500)
    parser.add_argument("--bounds", type=counts, default=[2, 3, 4])
    parser.add_argument("--seeds", type=count, default=3)
    given = parser.parse_args(arguments)
    print("| network | bound | method | to inputs | to truth | edges | seconds |")
    print("|---|---|---|---|---|---|---|")
    for name in given.networks.split(","):
        seeds = range(1, given.seeds + 1)
        federations = [learn(name, None, SITES, given.rows, seed) for seed in seeds]
        for bound in given.bounds:
            for method in METHODS:
                rows = [
                    judge(method, inputs, bound, seed)
                    for seed, inputs in zip(seeds, federations, strict=True)
                ]
                means = np.mean(rows, axis=0)
                cells = [name, bound, method, *(f"{mean:.1f}" for mean in means)]
                print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
