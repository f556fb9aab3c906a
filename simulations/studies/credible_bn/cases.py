"""The cases of the reproduction: what is run, and what one run gives."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.credible.averaging import skeleton_posteriors
from fedbn.credible.classes import MarkovClasses, markov_classes
from fedbn.credible.enumerate import CredibleSet, credible_set
from fedbn.credible.pruning import PAPER_EPSILON, candidate_sets, paper_parent_sets
from fedbn.data.dataset import Dataset
from fedbn.data.tables import read_dataset
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.dag import DAG
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from simulations.study_cases import study_settings

HERE = Path(__file__).parent
Settings = Mapping[str, Any]
Case = Mapping[str, Any]


def settings(smoke: bool) -> Settings:
    """experiment.toml; with `smoke` its smaller values."""
    return study_settings(HERE, smoke)


def cases(run: Settings, data_dir: Path | None) -> Iterator[dict[str, Any]]:
    """Every case of Tables 1 to 5, those of tables that are there and of samples."""
    tables = run["tables"]
    common = {"k_best": tables["k_best"], **run["limits"]}
    for name in tables["names"]:
        if data_dir is None or not (data_dir / f"{name}.csv").is_file():
            continue
        for factor in tables.get("only", {}).get(name, tables["bayes_factors"]):
            yield {"data": name, "score": "bic", "bf": factor, **common}
        if name in tables["bdeu"]:
            yield {"data": name, "score": "bdeu", "bf": 20, **common}
    for network, rows, factors in run["samples"]["cases"]:
        for seed in range(1, run["samples"]["seeds"] + 1):
            for factor in factors:
                sample = {"network": network, "rows": rows, "seed": seed, "bf": factor}
                yield sample | run["limits"]


def run_case(case: Case, data_dir: Path | None, network_dir: Path | None) -> dict[str, Any]:
    """Counts and CPU seconds of one case; of a sample also how well the averages do."""
    if "network" in case:
        network = load_network(case["network"], network_dir)
        if not isinstance(network, BayesianNetwork):
            raise ConfigError(f"{case['network']} must have conditional probability tables")
        sample = network.sample(case["rows"], np.random.default_rng(case["seed"]))
        found, row = _count(sample, "bic", case)
        return row | _accuracy(found, network.dag)
    assert data_dir is not None
    data = read_dataset(data_dir / f"{case['data']}.csv", "categorical")
    found, row = _count(data, case["score"], case)
    if case["score"] == "bic":
        row["paper_parent_sets"] = paper_parent_sets(data, epsilon=PAPER_EPSILON[case["bf"]])
    return row | _k_best(found, case["k_best"])


def _count(data: Dataset, score: str, case: Case) -> tuple[CredibleSet, dict[str, Any]]:
    """The set, its counts, CPU seconds of scoring, of the set and of its classes."""
    limits: dict[str, Any] = {
        "memory": int(case["memory_gib"] * 2**30),
        "seconds": case["seconds"],
    }
    clock = [time.process_time()]
    candidates = candidate_sets(data, score, bayes_factor=case["bf"], **limits)
    clock.append(time.process_time())
    found = credible_set(candidates, **limits)
    clock.append(time.process_time())
    classes = _classes(found)
    row: dict[str, Any] = {
        "variables": data.n,
        "table_rows": data.n_rows,
        "parent_sets": candidates.families.size,
        "opt": found.opt,
        "dags": found.count,
        "classes": None if classes is None else classes.count,
        "complete": found.complete,
        "proof": found.proof,
    }
    clock.append(time.process_time())
    seconds = np.diff(clock).tolist()
    row |= dict(zip(("score_seconds", "set_seconds", "class_seconds"), seconds, strict=True))
    return found, row | _paper_classes(classes)


def _classes(found: CredibleSet) -> MarkovClasses | None:
    try:
        return markov_classes(found)
    except SearchError:
        return None


def _paper_classes(classes: MarkovClasses | None) -> dict[str, Any]:
    """The paper's |M|, where the set can be listed."""
    try:
        return {"paper_classes": None if classes is None else classes.coarse_count}
    except SearchError:
        return {"paper_classes": None}


def _k_best(found: CredibleSet, sizes: list[int]) -> dict[str, Any]:
    """CPU seconds for the k best DAGs and classes, within the set."""
    row: dict[str, Any] = {}
    for k in sizes:
        clock = [time.process_time()]
        row[f"k{k}_dags"] = len(found.k_best(k))
        clock.append(time.process_time())
        row[f"k{k}_classes"] = sum(1 for _ in zip(range(k), markov_classes(found), strict=False))
        clock.append(time.process_time())
        row[f"k{k}_seconds"], row[f"k{k}_class_seconds"] = np.diff(clock).tolist()
    return row


def _accuracy(found: CredibleSet, truth: DAG) -> dict[str, float]:
    """F1 of the adjacencies of the best DAG, and of those with a posterior of 0.5 or more."""
    order = [truth.names.index(name) for name in found.names]
    adjacent = (truth.adjacency | truth.adjacency.T)[np.ix_(order, order)]
    best = found.k_best(1)[0].dag.adjacency
    return {
        "f1_best": _f1(best | best.T, adjacent),
        "f1_averaged": _f1(skeleton_posteriors(found) >= 0.5, adjacent),
    }


def _f1(found: np.ndarray, truth: np.ndarray) -> float:
    both = float((found & truth).sum())
    total = float(found.sum() + truth.sum())
    return 2.0 * both / total if total else 1.0
