"""Run the command as a user does, in this process: its exit status and what it printed."""

import json
import math
import pickle
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Message
from flwr.common.serde import message_from_proto, message_to_proto

import simulations.run
from fedbn.federation.run_config import from_run_config, to_run_config
from fedbn.federation.settings import Experiment
from server.server_app import Federated, federate
from simulations.cli import main
from simulations.flower.bundle import write_bundle
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs
from simulations.sites.tables import simulation


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        assert self.status == 0, self.err
        content = json.loads(self.out)
        assert isinstance(content, dict)
        return content

    @property
    def error(self) -> str:
        """The one line of an error of fedbn."""
        assert self.status == 1
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("fedbn: error: ")
        return lines[0]


Fedbn = Callable[..., Ran]


@pytest.fixture
def fedbn(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fedbn:
    # Wide enough that help and tables wrap nothing that a test looks for.
    monkeypatch.setenv("COLUMNS", "160")
    # How long a command takes here is no matter of a test.
    monkeypatch.setattr("simulations.progress.FIRST_SECONDS", math.inf)

    def run(*arguments: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        code = ended.value.code
        return Ran(0 if code is None else int(code), printed.out, printed.err)

    return run


class PackedGrid(InProcessGrid):
    """Packs every message and every reply as Flower does between processes."""

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        asked = list(messages)
        keys = list(super().push_messages([packed(message) for message in asked]))
        for message, key in zip(asked, keys, strict=True):
            message.metadata.__dict__["_message_id"] = key
        return keys

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [packed(reply) for reply in super().pull_messages(message_ids)]


def packed(message: Message) -> Message:
    sent = message_to_proto(message).SerializeToString()
    return message_from_proto(type(message_to_proto(message)).FromString(sent))


@pytest.fixture
def packed_flower(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The engine flower does what a real run does to settings, messages and outcome, without its
    processes, which `tests/test_parity.py` starts."""

    def run(experiment: Experiment, *_: object) -> Federated:
        write_bundle(tmp_path / "app", to_run_config(experiment))
        project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text("utf-8"))
        config = project["tool"]["flwr"]["app"]["config"]
        found = from_run_config(config)
        grid = PackedGrid(config, node_configs(len(simulation(found).sites)))
        outcome = federate(grid, found)
        return pickle.loads(pickle.dumps(outcome))

    monkeypatch.setattr(simulations.run, "_flower", run)
