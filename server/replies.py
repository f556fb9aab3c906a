"""Reading replies that nobody vouches for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid

from fedbn.data.schema import Schema
from fedbn.errors import MessageError
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_to_text
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import Arrays
from fedbn.wire.sender import said_by
from fedbn.wording import printable

LOG = logging.getLogger("fedbn.server")
REMARKS = logging.getLogger("fedbn.server.remarks")
"""For what a reader of the result is told, too: the engine in-process leaves it to its command."""

STAGES = logging.getLogger("fedbn.server.stages")
"""For what is done now, where that takes long: the engine in-process shows it as progress."""

FAILED = "failed"
"""The word of a site that could not do its part, whatever hindered it (`clients.door`)."""

Value = TypeVar("Value", int, float, str)
T = TypeVar("T")


def replies_by_node(
    grid: Grid, messages: Iterable[Message], timeout: float | None
) -> dict[int, Message]:
    """Send messages; node id -> its reply, as `first_replies` has them."""
    sent = list(messages)
    return first_replies(grid.send_and_receive(sent, timeout=timeout), sent)


def first_replies(replies: Iterable[Message], sent: Iterable[Message]) -> dict[int, Message]:
    """Node id -> its reply to the message that it was sent; the first one counts.

    What a reply says of its sender is the sender's word: it is held against the message that it
    answers, so that no site answers in another's place, or again with what it said before. Flower
    itself says that a node is gone.
    """
    asked = {message.metadata.message_id: message for message in sent}
    found: dict[int, Message] = {}
    for reply in replies:
        request = asked.get(reply.metadata.reply_to_message_id)
        if request is None or not (
            reply.has_error() or reply.metadata.src_node_id == request.metadata.dst_node_id
        ):
            LOG.warning("node %s: no answer to what was asked", reply.metadata.src_node_id)
        elif request.metadata.dst_node_id in found:
            LOG.warning("node %s answered more than once", request.metadata.dst_node_id)
        else:
            found[request.metadata.dst_node_id] = reply
    return found


def read_replies(
    by_node: Mapping[int, Message],
    clients: Mapping[int, str],
    read: Callable[[RecordDict, str], T],
) -> tuple[dict[str, T], dict[str, str]]:
    """Client -> what `read` makes of the content of its reply, and client -> why there is nothing,
    which names it; `read` raises MessageError, without a name."""
    found: dict[str, T] = {}
    refused: dict[str, str] = {}
    for node, client in clients.items():
        try:
            with said_by(client):
                found[client] = read(content_of(by_node.get(node)), client)
        except MessageError as error:
            refused[client] = str(error)
    return found, refused


@dataclass(frozen=True)
class Sites:
    """Who is asked in a run: where they are, node id -> client name, and how many seconds to wait
    for the replies to one request."""

    grid: Grid
    clients: Mapping[int, str]
    timeout: float | None

    def only(self, names: Container[str]) -> Sites:
        """Those of these names."""
        kept = {node: name for node, name in self.clients.items() if name in names}
        return replace(self, clients=kept)

    def ask_each(
        self, kind: str, contents: Mapping[str, RecordDict], read: Callable[[RecordDict, str], T]
    ) -> tuple[dict[str, T], dict[str, str]]:
        """Ask each of them what is there under its name, nobody else; returns as `read_replies`."""
        asked = self.only(contents)
        messages = [
            Message(contents[asked.clients[node]], node, kind) for node in sorted(asked.clients)
        ]
        by_node = replies_by_node(self.grid, messages, self.timeout)
        return read_replies(by_node, asked.clients, read)


def task_record(schema: Schema, number: int, **more: str) -> ConfigRecord:
    """What a request of round `number` is about; `more` are texts that go with it."""
    told: dict[str, Any] = {"text": schema_to_text(schema), "hash": schema.hash, "round": number}
    return ConfigRecord(told | {key: text for key, text in more.items() if text})


def content_of(reply: Message | None) -> RecordDict:
    """The records of a reply; raises MessageError with the client's own (redacted) reason."""
    if reply is None:
        raise MessageError("no reply")
    if reply.has_error():
        reason = printable(reply.error.reason or f"error {reply.error.code}")
        if reason == FAILED:
            reason = "failed; the reason is in the site's own log"
        raise MessageError(reason)
    if not reply.has_content():
        raise MessageError("a reply must have content")
    return reply.content


def arrays_in(content: RecordDict, form: ArrayFormat, limits: Limits) -> Arrays:
    """The arrays of a form in a reply; raises MessageError unless there are these within limits."""
    record = content.get(form.name)
    if not isinstance(record, ArrayRecord):
        raise MessageError(f"a reply must hold the arrays of {form.name}")
    parts = [(key, bytes(array.data)) for key, array in record.items()]
    return form.read(parts, max_bytes=limits.max_bytes)


def record_of(arrays: Arrays) -> ArrayRecord:
    """The record of a message's arrays."""
    return ArrayRecord({key: Array(array) for key, array in arrays.items()})


def diagnostic(content: RecordDict, key: str, kind: type[Value]) -> Value | None:
    """One value of the record "diagnostics", or None where it is not shared or not a `kind`."""
    record = content.get("diagnostics")
    if not isinstance(record, ConfigRecord):
        return None
    value = record.get(key)
    return value if type(value) is kind else None
