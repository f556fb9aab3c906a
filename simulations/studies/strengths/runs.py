"""One case of the study: alike sites learn, and every pair that some of them join is looked up.

In the part `counted` the sites' counts are summed, and resampled `REPLICATES` times: every site
draws as many of its rows as it has, with replacement, and GES learns from the sums. What is stated
of a pair is the share of the replicates that join it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedbn.arrays import Bools, Ints
from fedbn.consensus.sureness import pairs_of
from fedbn.data.dataset import Dataset
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network, network_in
from fedbn.networks.network import BayesianNetwork
from simulations.studies.strengths.cases import FROM_FOLDER
from simulations.studies.strengths.networks import drawn_network
from simulations.study_cases import Case, Row

STUDY = 384
"""Seeds of the study; 381 to 383 were looked at before."""

DRAWN = "drawn"
"""The network of a case that has a random one of its own (`networks.py`)."""

REPLICATES = 40

LEARNER = LearnerSettings(max_parents=6)
"""Where states determine each other, GES would look at thousands of sets of parents."""


def run_case(case: Case, network_dir: Path | None = None) -> Row:
    """For every number of sites n and every pair that some of them join, [k of n, common, degree,
    clustering, 1 if the pair is true] (`fedbn.consensus.sureness`).

    network_dir : has the file of a case's network if that is named so.

    The first n of the same sites are taken for every n. In the part `counted` it is [k, pairs that
    k of the replicates join, how many of them are true].
    """
    name = str(case["network"])
    key = [STUDY, case["seed"], case["rows"], *(ord(letter) for letter in name)]
    rng = np.random.default_rng(key)
    network = _network(name, case["seed"], rng, network_dir)
    true = network.dag.adjacency | network.dag.adjacency.T
    if case["part"] == "counted":
        return {f"of_{n}": _of_sums(network, n, case["rows"], rng) for n in case["sites"]}
    votes = np.zeros(true.shape, dtype=np.int64)
    row: Row = {"variables": len(true)}
    for site in range(max(case["sites"])):
        dag = learn(network.sample(case["rows"], rng), LEARNER, np.random.default_rng(site)).dags[0]
        adjacency = dag.reorder(network.dag.names).adjacency
        votes += adjacency | adjacency.T
        if site + 1 in case["sites"]:
            row[f"of_{site + 1}"] = _surroundings(votes, true, site + 1)
    return row


def _network(
    name: str, seed: int, rng: np.random.Generator, network_dir: Path | None
) -> BayesianNetwork:
    if name == DRAWN:
        return drawn_network(rng)
    if name.startswith(FROM_FOLDER):
        assert network_dir is not None
        network = network_in(network_dir, name.removeprefix(FROM_FOLDER))
    else:
        network = load_network(f"{name}:{seed}" if name.startswith("random:") else name)
    assert isinstance(network, BayesianNetwork)
    return network


def _surroundings(votes: Ints, true: Bools, sites: int) -> list[list[float]]:
    """What `run_case` says of every pair; shares of what is joined are rounded to four digits."""
    found = pairs_of(votes, sites)
    columns = (found.joining, found.common, found.degree, found.clustering)
    edges = true[found.one, found.other]
    return [
        [int(k), *(round(float(value), 4) for value in around), int(edge)]
        for k, *around, edge in zip(*columns, edges, strict=True)
    ]


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
