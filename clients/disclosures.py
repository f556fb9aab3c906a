"""The mod that keeps the site's disclosure log: nothing leaves before its entry is on disk."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.clientapp.typing import ClientAppCallable

from clients.private_runs import spent_words
from clients.requests import families_of_request, round_of, sum_of, task_of
from clients.site import read_decisions
from fedbn.federation.disclosure import (
    Content,
    Disclosure,
    append,
    count_words,
    histogram_words,
    schema_words,
    structure_words,
)
from fedbn.federation.message import arrays_of_npy, schema_from_text
from fedbn.federation.run_config import from_run_config


def disclose(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Log the reply, then let it go; raises ResultsError when the log cannot be written."""
    reply = call_next(message, context)
    log = read_decisions(context).disclosures
    if log is not None:
        append(log, entry(message, context, reply))
    return reply


def entry(message: Message, context: Context, reply: Message) -> Disclosure:
    """What the log says about a reply that has passed the firewall, or about an error notice."""
    return Disclosure.of(
        _content(reply),
        run=str(context.run_id),
        round=round_of(message),
        kind=message.metadata.message_type,
        words=_words(message, context, reply),
        time=datetime.now(UTC),
    )


def moments_words(record: ArrayRecord) -> str:
    """What an answer with moments says, for people."""
    means, scatter = (record[key].numpy().size for key in ("means", "scatter"))
    return f"rows, {means} means and {scatter} sums of products"


def _content(reply: Message) -> Content:
    if reply.has_error():
        return {"error": {"reason": (reply.error.reason or "").encode("utf-8")}}
    return {
        name: {key: _bytes(value) for key, value in record.items()}
        for name, record in reply.content.items()
    }


def _bytes(value: object) -> bytes:
    data = getattr(value, "data", None)
    if data is not None:
        return bytes(data)
    return value if isinstance(value, bytes) else json.dumps(value).encode("utf-8")


def _words(message: Message, context: Context, reply: Message) -> str:
    if reply.has_error():
        return f"notice: {reply.error.reason}"
    content = reply.content
    parts = []
    if "schema" in content:
        record = content["schema"]
        parts.append(schema_words(schema_from_text(record["text"], record["hash"])))
    if isinstance(structures := content.get("structures"), ArrayRecord):
        n = task_of(message).schema.n
        arrays = arrays_of_npy((key, array.data) for key, array in structures.items())
        parts.append(structure_words(arrays, n))
        parts += spent_words(from_run_config(context.run_config), context)
    if "counts" in content:
        request = families_of_request(message, task_of(message).schema)
        parts.append(count_words(request.tables))
    if isinstance(moments := content.get("moments"), ArrayRecord):
        parts.append(moments_words(moments))
    if isinstance(histogram := content.get("histogram"), ConfigRecord):
        parts.append(histogram_words(str(histogram["text"])))
    if "keys" in content:
        parts.append("public key of this run")
    if isinstance(masked := content.get("sums"), ArrayRecord):
        integers = masked["masked"].shape[0]
        parts.append(f"share of a masked sum: {integers} integers, {sum_of(message).words}")
    if "receipt" in content:
        parts.append("receipt of a report")
    if "diagnostics" in content:
        parts.append(" and ".join(sorted(content["diagnostics"])))
    return "; ".join(parts)
