"""Beyond the paper: hostile inputs, sites that differ, unequal tables, other learners, fewer rows.

Each case fuses the DAGs of some clients by several methods and gives their SMHD to the truth.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.arrays import Indices
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.consensus.threshold import select_consensus
from fedbn.data.dataset import Dataset
from fedbn.data.partition import (
    Sizes,
    part_sizes,
    partition_dirichlet,
    partition_dirichlet_latent,
    partition_iid,
)
from fedbn.errors import FedbnWarning
from fedbn.fusion.baselines import edge_vote, fuse_by
from fedbn.fusion.median import median_dag
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings, learn
from fedbn.scores import make_score
from fedbn.search.ges import ges
from simulations.studies.mcbnc_aaai26.inputs import first_inputs, network_of
from simulations.study_cases import Case

HALF = Fraction(1, 2)
VOTE = 10_000  # of a client, dealt to its DAGs


def fuse(
    dags: Sequence[DAG], gold: DAG, weights: Sequence[Weight] | None = None, pooling: str = "mean"
) -> dict[str, Any]:
    """SMHD to the truth by method, the gap of the best reading, and CPU seconds of the path.

    "default" is what fedbn does unless told otherwise: the better of two poolings.
    """
    began = time.process_time()
    path = mcbnc_path(dags, weights, pooling=pooling)  # type: ignore[arg-type]
    took = time.process_time() - began
    best = select_consensus(path)
    vote = edge_vote(dags, weights, threshold=HALF)
    _, default = select_among(mcbnc_paths(dags, weights))
    methods = {
        "default": default.dag,
        "search": select_consensus(path, "search").dag,
        "refusion": select_consensus(path, "refusion").dag,
        "best": best.dag,
        "vote 1/2": vote,
        "vote automatic": edge_vote(dags, weights),
        "median from vote": median_dag(dags, weights, start=vote),
        "union": fuse_by("union", dags, weights),
    }
    distances = {name: smhd(dag, gold) for name, dag in methods.items()}
    each = [smhd(dag, gold) for dag in dags]
    return {
        "smhd": distances | {"inputs": float(np.mean(each)), "best input": min(each)},
        "gap": float(best.gap),
        "seconds": round(took, 4),
    }


def learn_by_ges(tables: Sequence[Dataset]) -> list[DAG]:
    """GES with BDeu on every table."""
    return [ges(make_score("bdeu", table)).dag for table in tables]


def run_robust(case: Case, folder: Path, network_dir: Path | None) -> dict[str, Any]:
    """The first inputs replaced by hostile ones, under a pooling of the cuts."""
    dags = first_inputs(folder, case, network_dir)
    gold = network_of(case["network"], network_dir).dag
    rng = np.random.default_rng([case["seed"], 7, case["hostile"]])
    for k in range(case["hostile"]):
        dags[k] = _hostile(case["kind"], dags[k], rng)
    return fuse(dags, gold, pooling=case["pooling"])


def _hostile(kind: str, dag: DAG, rng: np.random.Generator) -> DAG:
    """A complete DAG, one of 3 n random edges, or the input with every edge reversed."""
    if kind == "reversed":
        return DAG(dag.names, dag.adjacency.T)
    max_edges = dag.n * (dag.n - 1) // 2
    return random_dag(
        dag.names, edges=max_edges if kind == "complete" else min(3 * dag.n, max_edges), rng=rng
    )


def run_non_iid(case: Case, network_dir: Path | None) -> dict[str, Any]:
    """One table split over the clients, IID or not, beside GES on the whole of it."""
    network = network_of(case["network"], network_dir)
    rng = np.random.default_rng([case["seed"], 11])
    table = network.sample(case["clients"] * case["rows"], rng)
    parts = _split(case, table, network.dag, np.random.default_rng([case["seed"], 13]))
    found = fuse(learn_by_ges([table.take(rows) for rows in parts]), network.dag)
    pooled = smhd(learn_by_ges([table])[0], network.dag)
    return found | {"smhd": found["smhd"] | {"pooled rows": pooled}}


def _split(case: Case, table: Dataset, dag: DAG, rng: np.random.Generator) -> list[Indices]:
    """ "column": by the variable with most children; "skewed": IID of Zipf sizes."""
    clients, alpha = case["clients"], case["alpha"]
    if case["split"] in ("iid", "skewed"):
        sizes: Sizes = "equal" if case["split"] == "iid" else "skewed"
        return partition_iid(table.n_rows, clients, rng, sizes)
    if case["split"] == "latent":
        return partition_dirichlet_latent(table, clients, alpha, rng)
    branching = int(dag.adjacency.sum(axis=1).argmax())
    return partition_dirichlet(table.codes[:, branching], clients, alpha, rng)


def run_sizes(case: Case, network_dir: Path | None) -> dict[str, Any]:
    """Equal or Zipf sizes of the same total; each input weighs one, or its rows."""
    network = network_of(case["network"], network_dir)
    rng = np.random.default_rng([case["seed"], 17])
    sizes = part_sizes(case["clients"] * case["rows"], case["clients"], rng, case["sizes"])
    dags = learn_by_ges([network.sample(int(size), rng) for size in sizes])
    weights = None if case["weights"] == "one" else [int(size) for size in sizes]
    return fuse(dags, network.dag, weights)


def run_learners(case: Case, network_dir: Path | None) -> dict[str, Any]:
    """Clients that learn by another learner; each client's DAGs share one vote."""
    network = network_of(case["network"], network_dir)
    settings = LearnerSettings(learner=case["learner"])
    dags: list[DAG] = []
    weights: list[int] = []
    took = 0.0
    for k in range(case["clients"]):
        rng = np.random.default_rng([case["seed"], 19, k])
        with warnings.catch_warnings():
            # that a credible set is sent in part is in the study's text
            warnings.simplefilter("ignore", FedbnWarning)
            result = learn(network.sample(case["rows"], rng), settings, rng)
        dags += result.dags
        total = sum(result.weights)
        weights += [max(1, round(VOTE * weight / total)) for weight in result.weights]
        took += result.seconds
    weighted = None if len(dags) == case["clients"] else weights
    return fuse(dags, network.dag, weighted) | {"learning_seconds": round(took, 3)}


def run_rows(case: Case, network_dir: Path | None) -> dict[str, Any]:
    """GES on fewer rows."""
    network = network_of(case["network"], network_dir)
    rngs = [np.random.default_rng([case["seed"], 23, k]) for k in range(case["clients"])]
    return fuse(learn_by_ges([network.sample(case["rows"], rng) for rng in rngs]), network.dag)


BY_PART: Mapping[str, Callable[[Case, Path | None], dict[str, Any]]] = {
    "non-iid": run_non_iid,
    "sizes": run_sizes,
    "learners": run_learners,
    "rows": run_rows,
}
"""The parts whose clients learn for themselves."""
