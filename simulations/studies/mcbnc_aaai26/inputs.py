"""The inputs of the study: DAGs that GES learns, each from rows of its own, kept in inputs.jsonl.

Input k of a network is learned by GES with BDeu, ess 1, ties by name, from 5,000 rows of the seed
[seed, k]. The r inputs of a cell are k = 0, ..., r - 1, in every repetition: repetitions differ in
the ties of the fusion alone, as in the paper.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.errors import ConfigError, ResultsError
from fedbn.graphs.dag import DAG
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from fedbn.scores import make_score
from fedbn.search.ges import ges
from simulations.study import Study
from simulations.study_cases import Case

FILE = "inputs.jsonl"


def input_cases(network: str, rows: int, seed: int, r: int) -> Iterator[dict[str, Any]]:
    """The cases of the first r inputs of a network."""
    for k in range(r):
        yield {"part": "inputs", "network": network, "rows": rows, "seed": seed, "k": k}


def learned_input(case: Case, network_dir: Path | None) -> dict[str, Any]:
    """The edges of one input, as pairs of names in sorted order."""
    rng = np.random.default_rng([case["seed"], case["k"]])
    data = network_of(case["network"], network_dir).sample(case["rows"], rng)
    dag = ges(make_score("bdeu", data)).dag
    return {"edges": sorted([a, b] for a, b in dag.edges)}


@cache
def network_of(name: str, network_dir: Path | None) -> BayesianNetwork:
    """A network of the study, read once a process.

    Raises
    ------
    ConfigError : it has no tables of probabilities.
    """
    network = load_network(name, network_dir)
    if not isinstance(network, BayesianNetwork):
        raise ConfigError(f"the study needs a categorical network, {name!r} is Gaussian")
    return network


@cache
def known_inputs(
    folder: Path, network: str, rows: int, seed: int, network_dir: Path | None
) -> dict[int, DAG]:
    """k -> input, of all lines in the folder's file; read once a process."""
    wanted = {"network": network, "rows": rows, "seed": seed}
    names = network_of(network, network_dir).names
    return {
        row["k"]: DAG.from_edges(names, row["edges"])
        for row in Study(folder, FILE).rows
        if all(row[key] == value for key, value in wanted.items())
    }


def first_inputs(folder: Path, case: Case, network_dir: Path | None) -> list[DAG]:
    """The r inputs of a case.

    Raises
    ------
    ResultsError : the folder's file lacks one of them.
    """
    found = known_inputs(folder, case["network"], case["rows"], case["seed"], network_dir)
    missing = [k for k in range(case["r"]) if k not in found]
    if missing:
        raise ResultsError(
            f"{folder / FILE} must hold input {missing[0]} of {case['network']} for r = {case['r']}"
        )
    return [found[k] for k in range(case["r"])]


def fingerprint(dags: list[DAG]) -> str:
    """SHA-256 of the inputs, in their order."""
    text = json.dumps([sorted(dag.edges) for dag in dags])
    return hashlib.sha256(text.encode()).hexdigest()
