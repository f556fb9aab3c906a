"""Reading replies that nobody vouches for."""

from __future__ import annotations

import logging
from typing import TypeVar

from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict

from fedbn.errors import MessageError
from fedbn.federation.message import ARRAY_KEYS
from fedbn.federation.npy import Arrays, arrays_of_npy
from fedbn.federation.reply_limits import Limits
from fedbn.wording import printable

LOG = logging.getLogger("fedbn.server")

FAILED = "failed"
"""The word of a site that could not do its part, whatever hindered it (`clients.mods`)."""

Value = TypeVar("Value", int, float, str)


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


def arrays_in(
    content: RecordDict,
    name: str,
    *,
    client: str,
    limits: Limits,
    keys: tuple[str, ...] = ARRAY_KEYS,
) -> Arrays:
    """The arrays of the record `name`; raises MessageError unless there are these within limits."""
    record = content.get(name)
    if not isinstance(record, ArrayRecord):
        raise MessageError(f"{client}: a reply must hold the arrays of {name}")
    parts = [(key, bytes(array.data)) for key, array in record.items()]
    return arrays_of_npy(parts, keys, limits=limits, sender=client)


def diagnostic(content: RecordDict, key: str, kind: type[Value]) -> Value | None:
    """One value of the record "diagnostics", or None where it is not shared or not a `kind`."""
    record = content.get("diagnostics")
    if not isinstance(record, ConfigRecord):
        return None
    value = record.get(key)
    return value if type(value) is kind else None
