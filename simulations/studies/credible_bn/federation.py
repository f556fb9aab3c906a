"""One DAG per client against several: what reaches the consensus.

Each of the clients has its own sample of a network. It sends (a) the DAG of GES, (b) its best
credible DAG, which is the optimum, (c) its credible set, one DAG per class, (d) the DAGs of GES on
resampled rows, as many at most as (c). All use BIC. The server fuses them by MCBNC; what counts is
the SMHD of the consensus to the true network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fedbn.credible.client import credible_structures
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.federation.rounds import fuse_classes
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from fedbn.scores import dag_score

METHODS = {
    "ges": "GES",
    "optimal": "optimum",
    "credible": "credible set",
    "bootstrap": "bootstrap of GES",
}
SETTINGS = ("clients", "bayes_factor", "max_dags", "replicates", "seconds")
Settings = Mapping[str, Any]
Weighted = tuple[Sequence[DAG], Sequence[float]]


def federation_cases(run: Settings) -> Iterator[dict[str, Any]]:
    """Every network, number of rows and repetition, repetitions outermost."""
    study = run["federation"]
    for repetition in range(1, study["repetitions"] + 1):
        for network in study["networks"]:
            for rows in study["rows"]:
                case = {"network": network, "rows_per_client": rows, "repetition": repetition}
                yield case | {key: study[key] for key in SETTINGS}


def run_federation(study: Mapping[str, Any]) -> dict[str, Any]:
    """SMHD of each method's consensus to the truth, and how much of the credible sets was sent.

    `study` is one of `federation_cases`.
    """
    network = load_network(study["network"])
    if not isinstance(network, BayesianNetwork):
        raise ConfigError(f"{study['network']} must have conditional probability tables")
    rng = np.random.default_rng([study["repetition"], study["rows_per_client"]])
    tables = [network.sample(study["rows_per_client"], rng) for _ in range(study["clients"])]
    sent: dict[str, list[Weighted]] = {name: [] for name in METHODS}
    dropped, complete = [], 0
    for table in tables:
        credible = credible_structures(
            table, "bic", bayes_factor=study["bayes_factor"], max_dags=study["max_dags"],
            seconds=study["seconds"], rng=rng,
        )  # fmt: skip
        sent["credible"].append((credible.dags, credible.weights))
        best = max(range(len(credible.dags)), key=lambda k: _bic(table, credible.dags[k]))
        sent["optimal"].append(((credible.dags[best],), (1.0,)))
        sent["ges"].append(_learn(table, "ges", study, rng))
        sent["bootstrap"].append(_learn(table, "bootstrap", study, rng))
        dropped.append(credible.dropped)
        complete += not credible.met
    result: dict[str, Any] = {name: _distance(sent[name], network.dag) for name in METHODS}
    return result | {
        "clients_alone": float(np.mean([smhd(dags[0], network.dag) for dags, _ in sent["ges"]])),
        "dropped": float(np.mean(dropped)),
        "complete": complete / len(tables),
        "credible_dags": float(np.mean([len(dags) for dags, _ in sent["credible"]])),
        "bootstrap_dags": float(np.mean([len(dags) for dags, _ in sent["bootstrap"]])),
    }


def _bic(table: Dataset, dag: DAG) -> float:
    return dag_score(dag, table, "bic")


def _learn(table: Dataset, learner: str, study: Settings, rng: np.random.Generator) -> Weighted:
    settings = LearnerSettings(learner=learner, score="bic")
    if learner in ("credible", "bootstrap"):
        settings = replace(settings, max_dags=study["max_dags"])
    if learner == "bootstrap":
        settings = replace(settings, replicates=study["replicates"])
    found = learn(table, settings, rng)
    return found.dags, found.weights


def _distance(sent: Sequence[Weighted], truth: DAG) -> int:
    """SMHD of the consensus to the truth; the selection of the consensus does not know it."""
    replies = [
        ClientReply(f"{k:03}", tuple(dags), tuple(weights), "complete")
        for k, (dags, weights) in enumerate(sent)
    ]
    (fused,) = fuse_classes(replies, ConsensusSettings())
    return smhd(fused.consensus.dag, truth)
