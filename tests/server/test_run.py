"""A run as Flower shows it: its lines, a record of every round, results by the run's id."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest
from flwr.app import Context, RecordDict

import server.rounds
from fedbn.errors import QuorumError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.state import ServerState
from server.replies import LOG
from server.server_app import main, of_run
from simulations.in_process_grid import Fault, InProcessGrid
from simulations.run import node_configs

ASIA = Experiment.of(network="asia", clients=4, rows=100, seed=2, rounds_limit=2, reply_seconds=1.0)


@contextmanager
def printing() -> Iterator[io.StringIO]:
    """What the server app prints, as in a process of its own: nobody has set up a log there."""
    before = LOG.handlers, LOG.level, LOG.propagate
    LOG.handlers, LOG.propagate = [], False
    try:
        with redirect_stdout(io.StringIO()) as stream:
            yield stream
    finally:
        LOG.handlers, LOG.propagate = before[0], before[2]
        LOG.setLevel(before[1])


def run(experiment: Experiment, fault: Fault | None = None) -> None:
    config = to_run_config(experiment)
    grid = InProcessGrid(config, node_configs(experiment.data.clients), fault=fault)
    main(grid, Context(4711, 1, {}, RecordDict(), config))


def test_what_is_refused_and_where_results_are_is_printed(tmp_path: Path) -> None:
    experiment = ASIA.change(out_dir=str(tmp_path / "{run}"), min_replies=2)
    with printing() as printed:
        run(experiment, fault=lambda node, reply: None if node == 3 else reply)
    lines = printed.getvalue().splitlines()
    assert "WARNING fedbn: refused: client 2: no reply" in lines
    assert "INFO fedbn: structural consensus of 3 clients" in lines
    assert f"INFO fedbn: the results of run 4711 are in {tmp_path / '4711'}" in lines


def test_results_and_checkpoint_are_found_by_the_run_s_id(tmp_path: Path) -> None:
    run(ASIA.change(out_dir=str(tmp_path / "{run}")))
    assert [path.name for path in tmp_path.iterdir()] == ["4711"]
    assert json.loads((tmp_path / "4711" / "run.json").read_text())["run_id"] == "4711"
    named = of_run(ASIA.change(out_dir="/r/{run}/x", checkpoint="/c/{run}.json"), 5)
    assert (named.output.out_dir, named.output.checkpoint) == ("/r/5/x", "/c/5.json")
    assert of_run(ASIA, 5) == ASIA


def test_a_failed_run_says_why(tmp_path: Path) -> None:
    with printing() as printed, pytest.raises(QuorumError):
        run(ASIA.change(out_dir=str(tmp_path / "{run}")), fault=lambda node, reply: None)
    assert "refused: client 4: no reply" in printed.getvalue()


def test_every_round_has_a_record(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    last: list[ServerState] = []
    monkeypatch.setattr(server.rounds, "keep", lambda state, run: last.append(state))
    silent = lambda node, reply: None if (node, kind(reply)) == (3, "train") else reply  # noqa: E731
    with caplog.at_level("INFO", "fedbn.server"):
        run(ASIA.change(min_replies=2), fault=silent)
    assert 1 <= len(last) <= 2
    assert last[-1].result is not None
    consensus = last[-1].result.consensus
    theta = "" if consensus.theta is None else f", θ {float(consensus.theta):g}"
    assert caplog.messages[-1] == (
        f"round {len(last)}: 3 good, 1 refused; {len(consensus.dag.edges)} edges, mean SMHD "
        f"{float(consensus.mean_smhd):g}, gap {float(consensus.gap):g}{theta}"
    )


def kind(reply: object) -> str:
    return str(reply.metadata.message_type)  # type: ignore[attr-defined]
