"""What privacy costs: the structures of the sites and their consensus against the truth."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from fedbn.attacks.single_sites import unique_votes
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import select_among
from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd, smhd
from fedbn.networks.catalog import load_network
from simulations.benchmarks.secure_sums import compare
from simulations.studies.privacy.cases import learn_site, site_seed


def run_utility(case: Mapping[str, Any]) -> dict[str, Any]:
    """F1 of the skeleton, SMHD and SHD to the truth: mean site and consensus, and CPU seconds."""
    truth, sites = tables(case["network"], case["rows"], case["sites"], case["seed"])
    began = time.process_time()
    dags = [
        learn_site(
            table,
            case["mechanism"],
            case["epsilon"],
            case.get("delta", 1e-6),
            site_seed(case["seed"], number),
        )
        for number, table in enumerate(sites)
    ]
    seconds = (time.process_time() - began) / len(sites)
    _, chosen = select_among(mcbnc_paths(dags), "best")
    consensus = chosen.dag
    return {
        "site_f1": float(np.mean([skeleton_f1(dag, truth) for dag in dags])),
        "site_smhd": float(np.mean([smhd(dag, truth) for dag in dags])),
        "f1": skeleton_f1(consensus, truth),
        "smhd": smhd(consensus, truth),
        "shd": shd(consensus, truth),
        "site_seconds": seconds,
    }


def run_sums(case: Mapping[str, Any]) -> dict[str, Any]:
    """Rounds and bytes of secure sums, and whether the result is that of the open run."""
    _, sites = tables(case["network"], case["rows"], case["sites"], 1)
    dags = [learn_site(table, "ges", None, 0.0, 0) for table in sites]
    found = compare(dags, case["look_ahead"], "mean")
    return {
        "equal": found["equal paths"] and found["equal consensus"],
        "rounds": found["rounds, with that of the keys"],
        "up_mb": found["up, MB per site"],
        "down_mb": found["down, MB per site"],
        "union_edges": found["edges of G+"],
        **_pointing(dags),
    }


def _pointing(dags: Sequence[DAG]) -> dict[str, int]:
    """Moral edges whose votes point at one site."""
    votes = unique_votes(dags)
    return {
        "moral_edges": votes.one.of,
        "one_vote": votes.one.hits,
        "all_votes_but_one": votes.all_but_one.hits,
    }


@lru_cache(1)
def tables(network: str, rows: int, sites: int, seed: int) -> tuple[DAG, tuple[Dataset, ...]]:
    """The true DAG and the tables of the sites, all of the same distribution."""
    loaded = load_network(network)
    made = (loaded.sample(rows, np.random.default_rng([seed, site])) for site in range(sites))
    return loaded.dag, tuple(made)


def skeleton_f1(dag: DAG, truth: DAG) -> float:
    """F1 of the pairs that are joined, whatever the direction; 0 where neither joins any.

    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> skeleton_f1(DAG.from_edges("abc", [("b", "a"), ("a", "c")]), chain)
    0.5
    """
    ours, true = dag.adjacency | dag.adjacency.T, truth.adjacency | truth.adjacency.T
    both = int(ours.sum() + true.sum())
    return 2 * int((ours & true).sum()) / both if both else 0.0
