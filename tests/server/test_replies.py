"""Replies are held against what was asked, not against what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from fedbn.errors import DataError, MessageError
from server.replies import read_replies, replies_by_node
from simulations.in_process_grid import InProcessGrid


class Hostile(InProcessGrid):
    """A grid whose replies a hostile site has had a hand in."""

    def __init__(self, change: Callable[[list[Message]], list[Message]]) -> None:
        super().__init__({}, [{"partition-id": i} for i in range(3)], app=lambda: _echo)
        self.change = change

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        return self.change(list(super().send_and_receive(messages, timeout=timeout)))


def _echo(message: Message, context: Any) -> Message:
    content = RecordDict({"said": ConfigRecord({"node": context.node_id})})
    return Message(content, reply_to=message)


def said(change: Callable[[list[Message]], list[Message]]) -> dict[int, int]:
    grid = Hostile(change)
    messages = [Message(RecordDict(), node, "query") for node in grid.get_node_ids()]
    found = replies_by_node(grid, messages, None)
    return {node: reply.content["said"]["node"] for node, reply in found.items()}


def pretend(replies: list[Message]) -> list[Message]:
    """Node 4 answers its own message in the name of node 2."""
    replies[2].metadata.__dict__["_src_node_id"] = 2
    return replies


def answer_for_another(replies: list[Message]) -> list[Message]:
    """Node 4 answers the message of node 2, before that one does."""
    replies[2].metadata.__dict__["_reply_to_message_id"] = replies[0].metadata.reply_to_message_id
    return replies[::-1]


def replay(replies: list[Message]) -> list[Message]:
    """Node 4 answers a message of long ago, and twice."""
    replies[2].metadata.__dict__["_reply_to_message_id"] = "0"
    return [*replies, replies[1], replies[2]]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        (lambda replies: replies, [2, 3, 4]),
        (lambda replies: [*replies, *replies], [2, 3, 4]),
        (pretend, [2, 3]),
        (answer_for_another, [2, 3]),
        (replay, [2, 3]),
    ],
)
def test_every_node_answers_for_itself_once(
    change: Callable[[list[Message]], list[Message]], kept: list[int]
) -> None:
    assert said(change) == {node: node for node in kept}


@pytest.mark.parametrize("kind", [MessageError, DataError])
def test_what_is_wrong_with_a_reply_is_said_with_its_client_once(kind: type[Exception]) -> None:
    def read(content: RecordDict, client: str) -> str:
        if client == "south":
            raise kind("rows must be at least 1, not 0")
        return client

    request = Message(RecordDict(), 3, "query")
    replies = {node: Message(RecordDict(), reply_to=request) for node in (1, 2)}
    clients = {1: "north", 2: "south", 3: "west"}
    assert read_replies(replies, clients, read) == (
        {"north": "north"},
        {"south": "south: rows must be at least 1, not 0", "west": "west: no reply"},
    )
