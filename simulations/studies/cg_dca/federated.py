"""Does a better local score give a better consensus? Clients that learn by several learners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from fedbn.learners import LearnerSettings
from fedbn.networks.catalog import load_network
from fedbn.results.outcome import Outcome
from fedbn.results.summary import summarise
from fedbn.scores import dag_score
from simulations.run import run_experiment

SCORE = "gaussian-bic"


def federated_cases(run: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One case per density, repetition and learner; a repetition is a network of its own."""
    plan = run["federated"]
    for repetition in range(1, plan["repetitions"] + 1):
        for density in plan["densities"]:
            for learner in plan["learners"]:
                yield {
                    "part": "federated", "n": plan["variables"], "d": density,
                    "rows": plan["rows"], "clients": plan["clients"],
                    "repetition": repetition, "learner": learner,
                }  # fmt: skip


def run_federated(case: Mapping[str, Any]) -> dict[str, Any]:
    """SMHD and SHD of the consensus and of the clients' DAGs to the truth; their mean score."""
    edges = round(case["n"] * case["d"])
    network = f"random-gaussian:{case['n']}:{edges}:{case['repetition']}"
    experiment = Experiment.of(
        network=network,
        rows=case["rows"],
        clients=case["clients"],
        learner=LearnerSettings(learner=case["learner"], score=SCORE),
        seed=case["repetition"],
        share_diagnostics=True,
        engine="in-process",
    )
    done = run_experiment(experiment)
    assert isinstance(done.result, FederationResult)  # an open run
    found = summarise(Outcome.of_federation(done.result, load_network(network).dag))
    scores = [
        dag_score(reply.dags[0], site.dataset, SCORE)
        for reply, site in zip(done.result.replies, done.simulation.sites, strict=True)
    ]
    return {
        "local_score": float(np.mean(scores)),
        "local_smhd": found.inputs_to_gold,
        "consensus_smhd": found.smhd_to_gold,
        "consensus_shd": found.shd_to_gold,
        "seconds": float(np.mean([reply.seconds or 0.0 for reply in done.result.replies])),
    }
