"""Who is awaited, and replies that Flower cannot read."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from flwr.app import Message

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from server import awaited
from server.awaited import WatchedGrid
from server.server_app import federate
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs

PLAN = Experiment.of(network="asia", clients=3, rows=60, seed=2, reply_seconds=3600.0)
SOUTH = 4


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Time that passes only where somebody sleeps, and then a hundred times as fast."""
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now

    def sleep(seconds: float) -> None:
        clock.now += 100 * seconds

    clock.sleep = sleep
    monkeypatch.setattr(awaited, "time", clock)
    return clock


class LateGrid(InProcessGrid):
    """Node SOUTH answers its request to learn when so much time has passed."""

    def __init__(self, clock: SimpleNamespace, seconds: float, **options: Any) -> None:
        super().__init__(to_run_config(PLAN), node_configs(3), **options)
        self.clock, self.until = clock, seconds

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        there = [
            key
            for key in message_ids
            if key in self._waiting
            and (
                self.clock.now >= self.until
                or self._waiting[key].metadata.src_node_id != SOUTH
                or self._waiting[key].metadata.message_type == "query"
            )
        ]
        return super().pull_messages(there)


def test_who_is_awaited_is_said_anew_every_five_minutes(
    clock: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="fedbn.server"):
        result = federate(WatchedGrid(LateGrid(clock, 1600.0)), PLAN).result
    assert len(result.replies) == 3
    said = [r.getMessage() for r in caplog.records if "still waiting" in r.getMessage()]
    minutes = [int(line.split()[1]) for line in said]
    assert [minute // 5 for minute in minutes] == [1, 2, 3, 4, 5]
    assert all(line.endswith("2 of 3 have answered; still waiting for client 3") for line in said)


def test_who_never_answers_is_no_longer_awaited_after_reply_seconds(
    clock: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="fedbn.server"):
        result = federate(WatchedGrid(LateGrid(clock, 1e9)), PLAN).result
    assert result.refused == (("client 3", "round 1: client 3: no reply"),)
    assert sum("still waiting" in record.getMessage() for record in caplog.records) == 11
    assert 3600 <= clock.now < 4200


def test_a_reply_that_flower_cannot_read_is_refused_and_the_run_goes_on() -> None:
    """Flower's reader raises an error in the server app, which ended the run for everybody."""

    class Garbled(InProcessGrid):
        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            found = list(super().pull_messages(message_ids))
            for reply in found:
                if reply.metadata.src_node_id == SOUTH and reply.metadata.message_type == "train":
                    raise KeyError("a part of the message\nthat is not there")
            return found

    grid = WatchedGrid(Garbled(to_run_config(PLAN), node_configs(3)))
    result = federate(grid, PLAN).result
    assert [reply.client for reply in result.replies] == ["client 1", "client 2"]
    ((client, reason),) = result.refused
    assert client == "client 3"
    assert reason.startswith("round 1: client 3: the reply cannot be read: KeyError(")


def test_a_superlink_that_is_gone_ends_the_run() -> None:
    class Gone(InProcessGrid):
        def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
            raise ConnectionError("refused")

    with pytest.raises(ConnectionError):
        federate(WatchedGrid(Gone(to_run_config(PLAN), node_configs(3))), PLAN)


def test_after_a_long_sleep_of_the_machine_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    grid = WatchedGrid(InProcessGrid(to_run_config(PLAN), node_configs(3)))
    with caplog.at_level(logging.INFO, logger="fedbn.server"):
        for seconds in (1.0, 1503.0, 1506.0, 1509.0, 1801.0, 0.5, 301.0):
            grid.watch([SOUTH], 3, seconds)
    said = [r.getMessage().split()[1] for r in caplog.records if "waiting" in r.getMessage()]
    assert said == ["25", "30", "5"]
