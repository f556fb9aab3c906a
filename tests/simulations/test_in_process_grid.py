"""Flower's grid without Flower: what worker processes say reaches who started them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from flwr.app import Context, Message, RecordDict

from fedbn.errors import FedbnWarning
from simulations.in_process_grid import InProcessGrid


def warning_app() -> Callable[[Message, Context], Message]:
    def answer(message: Message, context: Context) -> Message:
        warnings.warn(f"site {context.node_id} has a doubt", FedbnWarning, stacklevel=2)
        return Message(RecordDict(), reply_to=message)

    return answer


@pytest.mark.parametrize("processes", [None, 2])
def test_warnings_of_sites_are_given_where_the_grid_is(
    processes: int | None, capfd: pytest.CaptureFixture[str]
) -> None:
    grid = InProcessGrid({}, [{}, {}], app=warning_app, processes=processes)
    with grid:
        messages = [Message(RecordDict(), node, "query") for node in grid.get_node_ids()]
        with pytest.warns(FedbnWarning) as caught:
            replies = list(grid.send_and_receive(messages))
    assert all(reply.has_content() for reply in replies)
    said = [str(each.message) for each in caught]
    assert said == [f"site {node} has a doubt" for node in grid.get_node_ids()]
    assert "doubt" not in capfd.readouterr().err
