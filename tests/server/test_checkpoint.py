"""The state after every round: kept whole, gone on from to the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message

from fedbn.errors import ConfigError, QuorumError, ResultsError
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import FederationResult
from fedbn.results.report import results_folder
from fedbn.whole_file import replace_file
from server import checkpoint as files
from server.server_app import federate, run_and_write
from simulations.in_process_grid import Fault, InProcessGrid
from simulations.run import node_configs

PLAN = Experiment.of(network="asia", clients=4, rows=100, seed=2, rounds_limit=4)


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
    without = Checkpoint(read.settings, empty)
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
    assert files.checkpoint_file(PLAN.output) is None
    beside = files.checkpoint_file(PLAN.change(out_dir=str(tmp_path / "out")).output)
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


def test_two_runs_with_one_checkpoint_are_one_too_many(tmp_path: Path) -> None:
    """Before, the second wrote over the state of the first, and either resumed from the other's."""
    experiment = kept_in(tmp_path)
    with files.hold(experiment.output):
        text = "another run writes .*state.json just now: give this one another out-dir"
        with pytest.raises(ConfigError, match=text):
            run(experiment)
        beside = experiment.change(checkpoint=str(tmp_path / "other.json"))
        assert run(beside).rounds > 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.json"]
    assert run(experiment).rounds > 2


HOLDER = """
import sys
from fedbn.federation.settings import Experiment
from server.checkpoint import hold
with hold(Experiment.of(checkpoint=sys.argv[1]).output):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_lock_is_between_processes_and_ends_with_the_one_that_is_killed(tmp_path: Path) -> None:
    experiment = kept_in(tmp_path)
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "state.json")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ConfigError, match="another run writes"), files.hold(experiment.output):
            pass
        holder.kill()
    with files.hold(experiment.output):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def _same_process_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers: the first process of each has the number 1."""
    monkeypatch.setattr(os, "getpid", lambda: 1)


@pytest.mark.usefixtures("_same_process_number")
def test_two_containers_on_one_volume_write_no_file_of_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both wrote to one temporary name, and one of them renamed what the other had half written."""
    file, written = tmp_path / "state.json", []
    sync = os.fsync

    def other_comes_between(handle: int) -> None:
        if not written:
            written.append(b"theirs" * 1000)
            replace_file(file, written[0])
        sync(handle)

    monkeypatch.setattr(os, "fsync", other_comes_between)
    replace_file(file, b"ours")
    assert file.read_bytes() == b"ours"
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.usefixtures("_same_process_number")
def test_two_containers_on_one_volume_write_whole_results(tmp_path: Path) -> None:
    """The second removed the folder in which the first was writing."""
    with results_folder(tmp_path / "out") as ours:
        (ours / "a").write_text("ours")
        with results_folder(tmp_path / "out") as theirs:
            (theirs / "run.json").write_text(json.dumps({"program": "fedbn"}))
        (ours / "b").write_text("ours")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
