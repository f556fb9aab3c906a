"""The mods of a site's disclosure log: nothing leaves before its entry is on disk, and no run gets
more answers than the site's policy says, by that log."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message
from flwr.clientapp.typing import ClientAppCallable

from clients.private_runs import spent_words
from clients.requests import families_of_request, round_of, sum_of, task_of
from clients.site import read_decisions
from fedbn.federation.disclosure import (
    Content,
    Disclosure,
    count_words,
    histogram_words,
    schema_words,
    structure_words,
)
from fedbn.federation.disclosure_log import UNCOUNTED, append, count_answers, keep_copy
from fedbn.federation.message import ARRAY_KEYS
from fedbn.federation.npy import arrays_of_npy
from fedbn.federation.run_config import from_run_config
from fedbn.federation.schema_text import schema_from_text

BUNDLE = "FEDBN_BUNDLE_SHA256"
"""Environment variable in which `fedbn executor` says the hash of a run's bundle."""


def disclose(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Log the reply, then let it go; raises ResultsError when the log cannot be written."""
    reply = call_next(message, context)
    site = read_decisions(context)
    if site.disclosures is not None:
        written = append(site.disclosures, entry(message, context, reply))
        if site.keep_messages:
            keep_copy(site.disclosures, written, _content(reply))
    return reply


def budget(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Answer unless the site's budget of answers is spent; raises PolicyError then.

    Every answer, and every refusal, says at least one bit of the table to who chooses the question.
    """
    site = read_decisions(context)
    if site.disclosures is not None and message.metadata.message_type not in UNCOUNTED:
        run, day = count_answers(site.disclosures, str(context.run_id), datetime.now(UTC))
        site.policy.require_budget(run, day)
    return call_next(message, context)


def entry(message: Message, context: Context, reply: Message) -> Disclosure:
    """What the log says about a reply that has passed the firewall, or about an error notice."""
    settings = json.dumps(dict(context.run_config), sort_keys=True)
    return Disclosure.of(
        _content(reply),
        run=str(context.run_id),
        round=round_of(message),
        kind=message.metadata.message_type,
        words=_words(message, context, reply),
        time=datetime.now(UTC),
        settings=hashlib.sha256(settings.encode("utf-8")).hexdigest(),
        learner=str(context.run_config.get("learner", "")),
        bundle=os.environ.get(BUNDLE, ""),
        weights=_weights(reply),
        states=_states(reply),
    )


def _weights(reply: Message) -> tuple[float, ...]:
    """The weights of the structures that leave."""
    structures = None if reply.has_error() else reply.content.get("structures")
    if not isinstance(structures, ArrayRecord):
        return ()
    found: list[float] = structures["weights"].numpy().tolist()
    return tuple(found)


def _states(reply: Message) -> Mapping[str, Any]:
    """The columns and states that leave."""
    record = None if reply.has_error() else reply.content.get("schema")
    if not isinstance(record, ConfigRecord):
        return {}
    return schema_from_text(record["text"], record["hash"]).to_dict()


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
        arrays = arrays_of_npy(((key, array.data) for key, array in structures.items()), ARRAY_KEYS)
        parts.append(structure_words(arrays, n))
        parts += spent_words(from_run_config(context.run_config), context)
    if isinstance(counts := content.get("counts"), ArrayRecord):
        request = families_of_request(message, task_of(message).schema)
        parts.append(count_words(request, np.atleast_1d(counts["given"].numpy())))
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
