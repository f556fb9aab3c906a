"""What goes wrong around a Flower run is one of fedbn's own errors."""

from pathlib import Path

import pytest

from fedbn.errors import FlowerRunError, ResultsError
from fedbn.federation.settings import Experiment
from simulations.flower import run as runs
from simulations.flower.processes import free_ports, new_home, require_running, start, stop

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
