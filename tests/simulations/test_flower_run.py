"""What goes wrong around a Flower run is one of fedbn's own errors."""

from pathlib import Path
from unittest.mock import Mock

import pytest
from flwr.app import Context, RecordDict

from fedbn.errors import FlowerRunError, QuorumError, ResultsError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from simulations.flower import run as runs
from simulations.flower.processes import (
    Home,
    free_ports,
    new_home,
    require_running,
    start,
    stop,
)
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs
from simulations.sites import server_app
from simulations.sites.server_app import HANDOVER

PLAN = Experiment.of(network="asia")


def silent(words: str) -> None:
    """Progress that nobody wants."""


def test_a_folder_that_vanishes_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(folder: Path, config: object) -> None:
        folder.parent.rmdir()
        (folder / "clients").mkdir()

    monkeypatch.setattr(runs, "write_bundle", gone)
    with pytest.raises(FlowerRunError, match="the run's folder .* cannot be used"):
        runs.flower_run(PLAN, 2, silent)


def test_an_error_of_fedbn_stays_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, config: object) -> None:
        raise ResultsError("no space")

    monkeypatch.setattr(runs, "write_bundle", full)
    with pytest.raises(ResultsError, match="no space"):
        runs.flower_run(PLAN, 2, silent)


def test_a_failing_run_raises_what_the_server_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Flower starts, called here; that a run fails so on Flower is in test_folder_run.py."""
    config = to_run_config(PLAN.change(clients=2, rows=50, min_replies=3))
    monkeypatch.setenv(HANDOVER, str(runs.handover(tmp_path)))
    monkeypatch.setattr(server_app.server_app, "show_lines", lambda: None)
    grid, context = InProcessGrid(config, node_configs(2)), Context(1, 1, {}, RecordDict(), config)
    words = "at least 3 good replies of 2 clients"
    with pytest.raises(QuorumError, match=words) as raised:
        server_app.main(grid, context)
    monkeypatch.setattr(runs, "run_status", lambda *_: ("finished:failed", "an error"))
    running = runs.Runtime(Home(tmp_path, {}), Mock(poll=lambda: None))
    with pytest.raises(QuorumError, match=words) as told:
        runs.outcome_of(running, "1")
    assert told.value is not raised.value
    runs.handover(tmp_path).unlink()
    monkeypatch.setattr(runs, "app_log", lambda *_: "one line\nthe last line")
    with pytest.raises(FlowerRunError, match="finished:failed: an error\none line\nthe last"):
        runs.outcome_of(running, "1")


@pytest.mark.slow
def test_a_process_that_ends_early_is_shown_with_its_log(tmp_path: Path) -> None:
    process = start(new_home(tmp_path), "superlink", "flower-superlink", "--port", "no number")
    try:
        process.wait(60)
        with pytest.raises(FlowerRunError, match="superlink ended with status 2"):
            require_running(new_home(tmp_path), "superlink", process)
    finally:
        stop(tmp_path, [process])


def test_ports_are_distinct() -> None:
    assert len(set(free_ports(20))) == 20
