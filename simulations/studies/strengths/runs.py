"""One case of the study: alike sites learn, and every pair that some of them join is looked up.

In the part `counted` the sites' counts are summed, and resampled `REPLICATES` times: every site
draws as many of its rows as it has, with replacement, and GES learns from the sums. What is stated
of a pair is the share of the replicates that join it.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.data.dataset import Dataset
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from simulations.study_cases import Case, Row

__all__ = ["REPLICATES", "run_case"]

STUDY = 381
"""Seeds of the study."""

REPLICATES = 40


def run_case(case: Case) -> Row:
    """For every number of sites n, [k, pairs that k of n join, how many of them are true].

    The first n of the same sites are taken for every n. In the part `counted` k is of the
    replicates, not of the sites.
    """
    name = str(case["network"])
    key = [STUDY, case["seed"], case["rows"], *(ord(letter) for letter in name)]
    rng = np.random.default_rng(key)
    network = load_network(f"{name}:{case['seed']}" if name.startswith("random:") else name)
    assert isinstance(network, BayesianNetwork)
    true = network.dag.adjacency | network.dag.adjacency.T
    if case["part"] == "counted":
        return {f"of_{n}": _of_sums(network, n, case["rows"], rng) for n in case["sites"]}
    joined = np.zeros((max(case["sites"]), *true.shape), dtype=bool)
    for site in range(len(joined)):
        table = network.sample(case["rows"], rng)
        dag = learn(table, LearnerSettings(), np.random.default_rng(site)).dags[0]
        adjacency = dag.reorder(network.dag.names).adjacency
        joined[site] = adjacency | adjacency.T
    upper = np.triu_indices(len(true), k=1)
    row: Row = {}
    for sites in case["sites"]:
        votes = joined[:sites].sum(axis=0)[upper]
        row[f"of_{sites}"] = _counts(votes, true[upper], sites)
    return row


def _counts(votes: Ints, true: Bools, most: int) -> list[list[int]]:
    """[k, pairs with k votes, how many of them are true] for k = 1 to most."""
    found = ((k, votes == k) for k in range(1, most + 1))
    return [[k, int(at.sum()), int(true[at].sum())] for k, at in found]


def _of_sums(
    network: BayesianNetwork, sites: int, rows: int, rng: np.random.Generator
) -> list[list[int]]:
    """`_counts` over the replicates of the sites' summed counts."""
    tables = [network.sample(rows, rng) for _ in range(sites)]
    true = network.dag.adjacency | network.dag.adjacency.T
    joined = np.zeros(true.shape, dtype=np.int64)
    for _ in range(REPLICATES):
        drawn = [table.table[rng.integers(rows, size=rows)] for table in tables]
        pooled = Dataset(tables[0].schema, np.concatenate(drawn))
        dag = learn(pooled, LearnerSettings(), np.random.default_rng(0)).dags[0]
        adjacency = dag.reorder(network.dag.names).adjacency
        joined += adjacency | adjacency.T
    upper = np.triu_indices(len(true), k=1)
    return _counts(joined[upper], true[upper], REPLICATES)
