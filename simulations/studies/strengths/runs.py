"""One case of the study: alike sites learn, and every pair that some of them join is looked up."""

from __future__ import annotations

import numpy as np

from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from simulations.study_cases import Case, Row

__all__ = ["run_case"]

STUDY = 381
"""Seeds of the study."""


def run_case(case: Case) -> Row:
    """For every number of sites n, [k, pairs that k of n join, how many of them are true].

    The first n of the same sites are taken for every n.
    """
    name = str(case["network"])
    key = [STUDY, case["seed"], case["rows"], *(ord(letter) for letter in name)]
    rng = np.random.default_rng(key)
    network = load_network(f"{name}:{case['seed']}" if name.startswith("random:") else name)
    true = network.dag.adjacency | network.dag.adjacency.T
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
        found = ((k, votes == k) for k in range(1, sites + 1))
        row[f"of_{sites}"] = [[k, int(at.sum()), int(true[upper][at].sum())] for k, at in found]
    return row
