"""Reading replies that nobody vouches for."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from flwr.serverapp import Grid
from numpy.typing import NDArray

from fedbn.data.dataset import Schema
from fedbn.errors import MessageError
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_to_text
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import Arrays
from fedbn.wire.records import RecordFormat
from fedbn.wire.sender import said_by
from fedbn.wording import printable

LOG = logging.getLogger("fedbn.server")

FAILED = "failed"
"""The word of a site that could not do its part, whatever hindered it (`clients.door`)."""

Value = TypeVar("Value", int, float, str)
T = TypeVar("T")


def replies_by_node(
    grid: Grid, messages: Iterable[Message], timeout: float | None
) -> dict[int, Message]:
    """Node id -> its reply to the message that it was sent; the first one counts.

    What a reply says of its sender is the sender's word: it is held against the message that it is
    a reply to, so that no site answers in another's place, or again with what it said before.
    """
    sent = list(messages)
    replies = list(grid.send_and_receive(sent, timeout=timeout))
    asked = {message.metadata.message_id: message for message in sent}
    found: dict[int, Message] = {}
    for reply in replies:
        request = asked.get(reply.metadata.reply_to_message_id)
        if request is None or not may_answer(reply, request):
            LOG.warning("node %s: no answer to what was asked", reply.metadata.src_node_id)
        elif request.metadata.dst_node_id in found:
            LOG.warning("node %s answered more than once", request.metadata.dst_node_id)
        else:
            found[request.metadata.dst_node_id] = reply
    return found


def read_replies(
    grid: Grid,
    messages: Iterable[Message],
    names: Mapping[int, str],
    timeout: float | None,
    read: Callable[[RecordDict, int], T],
) -> tuple[dict[int, T], dict[int, str]]:
    """What is read of the replies to these messages, and why there is nothing of the others.

    Parameters
    ----------
    names : node id -> client name, of all that are asked.
    read : content and node id -> a checked value; raises MessageError.

    Returns
    -------
    Node id -> value, and node id -> reason, which names the client.
    """
    by_node = replies_by_node(grid, messages, timeout)
    found: dict[int, T] = {}
    refused: dict[int, str] = {}
    for node, client in names.items():
        try:
            if node not in by_node:
                raise MessageError(f"{client}: no reply")
            found[node] = read(content_of(by_node[node], client), node)
        except MessageError as error:
            refused[node] = str(error)
    return found, refused


def task_record(schema: Schema, number: int, **more: str) -> ConfigRecord:
    """What a request of round `number` is about; `more` are texts that go with it."""
    told: dict[str, Any] = {"text": schema_to_text(schema), "hash": schema.hash, "round": number}
    return ConfigRecord(told | {key: text for key, text in more.items() if text})


def may_answer(reply: Message, request: Message) -> bool:
    """Whether the reply comes from the node that was asked, or is Flower's word that it is gone."""
    return reply.has_error() or reply.metadata.src_node_id == request.metadata.dst_node_id


def content_of(reply: Message, client: str) -> RecordDict:
    """The records of a reply; raises MessageError with the client's own (redacted) reason."""
    if reply.has_error():
        reason = printable(reply.error.reason or f"error {reply.error.code}")
        if reason == FAILED:
            reason = "failed; the reason is in the site's own log"
        raise MessageError(f"{client}: {reason}")
    if not reply.has_content():
        raise MessageError(f"{client}: a reply must have content")
    return reply.content


def arrays_in(content: RecordDict, form: ArrayFormat, limits: Limits, client: str) -> Arrays:
    """The arrays of a form in a reply; raises MessageError unless there are these within limits."""
    record = content.get(form.name)
    if not isinstance(record, ArrayRecord):
        raise MessageError(f"{client}: a reply must hold the arrays of {form.name}")
    parts = [(key, bytes(array.data)) for key, array in record.items()]
    return form.read(parts, max_bytes=limits.max_bytes, sender=client)


def values_in(content: RecordDict, form: RecordFormat, client: str) -> Mapping[str, Any]:
    """The values of a record in a reply; raises MessageError unless they are as it was declared."""
    with said_by(client):
        return form.read(content.get(form.name))


def record_of(arrays: Mapping[str, NDArray[Any]]) -> ArrayRecord:
    """The record of a message's arrays."""
    return ArrayRecord({key: Array(array) for key, array in arrays.items()})


def diagnostic(content: RecordDict, key: str, kind: type[Value]) -> Value | None:
    """One value of the record "diagnostics", or None where it is not shared or not a `kind`."""
    record = content.get("diagnostics")
    if not isinstance(record, ConfigRecord):
        return None
    value = record.get(key)
    return value if type(value) is kind else None
