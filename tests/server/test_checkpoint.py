"""The state after every round: kept whole, gone on from to the same bytes."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message

from fedbn.errors import ConfigError, QuorumError, ResultsError
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.rounds import FederationResult
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from server import checkpoint as files
from server.server_app import federate, run_and_write
from simulations.in_process_grid import Fault, InProcessGrid
from simulations.run import node_configs

PLAN = Experiment.of(network="asia", clients=4, rows=100, seed=2, rounds_limit=4)


@pytest.fixture(autouse=True)
def _silent_flower() -> None:
    logging.getLogger("flwr").setLevel(logging.ERROR)


def kept_in(folder: Path, **changes: Any) -> Experiment:
    return PLAN.change(checkpoint=str(folder / "state.json"), **changes)


def run(experiment: Experiment, fault: Fault | None = None) -> FederationResult:
    grid = InProcessGrid(
        to_run_config(experiment), node_configs(experiment.data.clients), fault=fault
    )
    return federate(grid, experiment).result


def nobody_after(rounds: int) -> Callable[[int, Message], Message | None]:
    """All clients fall silent after so many rounds."""
    answers = {"train": 0}

    def fault(node: int, reply: Message) -> Message | None:
        if reply.metadata.message_type == "train":
            answers["train"] += 1
        return reply if answers["train"] <= rounds * PLAN.data.clients else None

    return fault


def everything(result: FederationResult) -> tuple[Any, ...]:
    """All of a result but times and refusals."""
    replies = [replace(reply, seconds=None) for reply in result.replies]
    states = [(s.theta, s.reading, s.n_edges, s.mean_smhd) for s in result.consensus.states]
    return (
        (result.consensus.dag, result.consensus.theta, result.path.steps, result.path.order),
        (states, replies, result.rounds, result.converged, result.schema),
    )


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_run_that_goes_on_gives_what_an_uninterrupted_one_gives(
    tmp_path: Path, rounds: int
) -> None:
    experiment, whole = kept_in(tmp_path), run(PLAN)
    assert whole.rounds > 2
    with pytest.raises(QuorumError):
        run(experiment, nobody_after(rounds))
    assert everything(run(experiment.change(resume=True))) == everything(whole)


def test_a_finished_run_is_not_repeated(tmp_path: Path) -> None:
    experiment = kept_in(tmp_path)
    whole = run(experiment)
    nobody = experiment.change(resume=True)
    assert everything(run(nobody, fault=lambda node, reply: None)) == everything(whole)


def test_a_checkpoint_survives_its_text(tmp_path: Path) -> None:
    run(kept_in(tmp_path))
    text = (tmp_path / "state.json").read_text()
    read = read_checkpoint(text, "here")
    assert checkpoint_text(read) == text
    empty = replace(read.state, result=None)
    without = Checkpoint(read.experiment, empty)
    assert read_checkpoint(checkpoint_text(without), "here") == without


def test_a_full_disk_ends_the_run_and_keeps_the_round_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, whole = kept_in(tmp_path), run(PLAN)
    calls = {"fsync": 0}

    def full_after_one(handle: int) -> None:
        calls["fsync"] += 1
        if calls["fsync"] > 1:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_after_one)
    with pytest.raises(ResultsError, match="after round 2 cannot be written.*No space left"):
        run(experiment)
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]
    assert json.loads((tmp_path / "state.json").read_text())["rounds"] == 1
    monkeypatch.undo()
    assert everything(run(experiment.change(resume=True))) == everything(whole)


def test_a_run_that_goes_on_has_its_own_settings(tmp_path: Path) -> None:
    experiment = kept_in(tmp_path)
    run(experiment)
    go_on = experiment.change(resume=True)
    with pytest.raises(ConfigError, match="seed is 3, in .*state.json it is 2"):
        run(go_on.change(seed=3))
    with pytest.raises(ConfigError, match="reading is 'search'"):
        run(go_on.change(consensus=ConsensusSettings(reading="search")))
    lenient = ConsensusSettings(min_fraction=0.25)
    assert run(go_on.change(consensus=lenient, rounds_limit=9)).rounds > 2


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "fedbn-checkpoint-1"}', "\x00"])
def test_a_file_that_is_no_checkpoint_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(ResultsError, match="must be a checkpoint of fedbn"):
        run(kept_in(tmp_path, resume=True))


def test_there_must_be_something_to_resume(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="nothing to resume: no checkpoint"):
        run(kept_in(tmp_path, resume=True))
    with pytest.raises(ConfigError, match="set checkpoint or out-dir"):
        run(PLAN.change(resume=True))


def test_without_a_place_nothing_is_kept_and_beside_the_results_by_default(tmp_path: Path) -> None:
    assert files.checkpoint_file(PLAN) is None
    beside = files.checkpoint_file(PLAN.change(out_dir=str(tmp_path / "out")))
    assert beside == tmp_path / "out.checkpoint.json"


def served(folder: Path, **changes: Any) -> None:
    """The server app's own work: run, write the results, forget the checkpoint."""
    experiment = PLAN.change(out_dir=str(folder / "out"), **changes)
    grid = InProcessGrid(to_run_config(experiment), node_configs(experiment.data.clients))
    run_and_write(grid, experiment)


def test_results_that_cannot_be_written_leave_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ResultsError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr("server.server_app.write_folder", full)
        with pytest.raises(ResultsError, match="no space left"):
            served(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out.checkpoint.json"]
    served(tmp_path, resume=True)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert json.loads((tmp_path / "out" / "state.json").read_text())["rounds"] > 2


def test_a_folder_that_may_not_be_replaced_is_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ResultsError, match="is not a result of fedbn"):
        served(tmp_path)
    assert not (tmp_path / "out.checkpoint.json").exists()
