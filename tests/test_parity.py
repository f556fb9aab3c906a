"""A real Flower run and the in-process grid give the same bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fedbn.federation.choice_record import choice_to_dict
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from fedbn.graphs.writing import structure_text
from simulations.run import run_experiment

ASIA = Experiment.of(
    network="asia",
    clients=3,
    rows=300,
    partition="dirichlet-latent",
    rounds_limit=2,
    row_weight="ladder",
    row_weights="1 2",
    choose="climb",
    count_rounds=2,
    parameters="federated",
    seed=7,
    share_diagnostics=True,
    engine="in-process",
)


def published(result: FederationResult) -> str:
    """Everything about a result but times, as text."""
    consensus = result.consensus
    replies = [
        (reply.client, reply.rows, reply.status, reply.weights, [dag.edges for dag in reply.dags])
        for reply in result.replies
    ]
    assert result.choice is not None
    states = [(s.theta, s.reading, s.n_edges, s.mean_smhd) for s in consensus.states]
    return "\n".join(
        map(
            str,
            [
                structure_text(consensus.dag, ".json"),
                (consensus.theta, consensus.reading, consensus.mean_smhd, consensus.lower_bound),
                states,
                result.path.order,
                result.path.steps,
                replies,
                (result.row_weight, choice_to_dict(result.choice)),
                (result.schema.hash, result.refused, result.rounds, result.converged),
            ],
        )
    )


@pytest.mark.slow
@pytest.mark.usefixtures("warm_flwr")
def test_flower_gives_the_bytes_of_the_in_process_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = run_experiment(ASIA)
    monkeypatch.chdir(tmp_path)
    there = run_experiment(ASIA.change(engine="flower"))
    assert published(there.result) == published(here.result)
    assert here.network is not None
    assert there.network == here.network
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_worker_processes_and_repetition_change_nothing() -> None:
    once = published(run_experiment(ASIA).result)
    assert published(run_experiment(ASIA).result) == once
    assert published(run_experiment(ASIA.change(processes=2)).result) == once


@pytest.mark.slow
@pytest.mark.usefixtures("warm_flwr")
def test_secure_sums_on_flower_give_the_consensus_of_the_open_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """But for the families of what single sites sent, which only the open run can ask for."""
    monkeypatch.setattr("fedbn.federation.counting.sent_families", lambda _: [])
    plain = ASIA.change(rounds_limit=1, row_weight=1.0)
    summed = plain.change(aggregation="secure-sums")
    opened = run_experiment(plain)
    for there in (summed.change(engine="flower"), summed.change(processes=2)):
        found = run_experiment(there)
        dags = [run.result.consensus.dag for run in (found, opened)]
        assert structure_text(dags[0], ".json") == structure_text(dags[1], ".json")
        unknown = replace(opened.result.choice, rows={})  # of sums nobody knows whose rows they are
        assert choice_to_dict(found.result.choice) == choice_to_dict(unknown)
        assert found.network == opened.network
