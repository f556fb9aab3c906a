"""A site's disclosure log: nothing leaves before its entry is on disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message

from clients.read_requests import (
    CUT_SUMS,
    arrays_in,
    families_of_request,
    round_of,
    sum_of,
    task_of,
)
from fedbn.federation.disclosure import (
    Content,
    Disclosure,
    count_words,
    histogram_words,
    schema_words,
    structure_words,
)
from fedbn.federation.disclosure_log import append, keep_copy
from fedbn.federation.message import STRUCTURES
from fedbn.federation.schema_text import schema_from_text
from fedbn.federation.site_file import SiteFile
from fedbn.secure.cut_sums import cut_words
from fedbn.wording import count_of

BUNDLE = "FEDBN_BUNDLE_SHA256"
"""Environment variable in which `fedbn executor` says the hash of a run's bundle."""


def disclose(
    message: Message, context: Context, site: SiteFile, reply: Message, spent: Sequence[str] = ()
) -> Message:
    """Log the reply, with what it spent; then let it go. Raises ResultsError when the log cannot be
    written."""
    if site.disclosures is not None:
        written = append(site.disclosures, entry(message, context, reply, spent))
        if site.keep_messages:
            keep_copy(site.disclosures, written, _content(reply))
    return reply


def entry(
    message: Message, context: Context, reply: Message, spent: Sequence[str] = ()
) -> Disclosure:
    """What the log says about a reply that has passed the firewall, or about an error notice."""
    settings = json.dumps(dict(context.run_config), sort_keys=True)
    return Disclosure.of(
        _content(reply),
        run=str(context.run_id),
        round=round_of(message),
        kind=message.metadata.message_type,
        words=_words(message, reply, spent),
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


def _sum_words(message: Message) -> str:
    """What a masked sum is of."""
    if message.metadata.message_type == CUT_SUMS:
        return cut_words(sum_of(message).data)
    return sum_of(message).words


def moments_words(record: ArrayRecord) -> str:
    """What an answer with moments says, for people."""
    means, scatter = (record[key].numpy().size for key in ("means", "scatter"))
    return f"rows, {means} means and {scatter} sums of products"


def scatter_words(record: ArrayRecord) -> str:
    """What an answer with sums of all columns says, for people."""
    return f"rows and {record['products'].numpy().size} sums of products about the site's means"


def conditional_words(record: ArrayRecord) -> str:
    """What an answer with sums of families of both kinds says, for people."""
    told = np.atleast_1d(record["told"].numpy())
    held_back = f"; {count_of(int((told == 0).sum()), 'family')} held back"
    sizes = [record[key].numpy().size for key in ("counts", "means", "products")]
    return (
        f"rows, and of {count_of(int(told.sum()), 'family')} up to {sizes[0]} counts, {sizes[1]} "
        f"means and {sizes[2]} sums of products" + ("" if told.all() else held_back)
    )


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


def _words(message: Message, reply: Message, spent: Sequence[str]) -> str:
    if reply.has_error():
        return f"notice: {reply.error.reason}"
    content = reply.content
    parts = []
    if "schema" in content:
        record = content["schema"]
        parts.append(schema_words(schema_from_text(record["text"], record["hash"])))
    if isinstance(structures := content.get("structures"), ArrayRecord):
        n = task_of(message).schema.n
        parts.append(structure_words(arrays_in(structures, STRUCTURES), n))
        parts += spent
    if isinstance(counts := content.get("counts"), ArrayRecord):
        request = families_of_request(message, task_of(message).schema)
        parts.append(count_words(request, np.atleast_1d(counts["given"].numpy())))
    if isinstance(moments := content.get("moments"), ArrayRecord):
        parts.append(moments_words(moments))
    if isinstance(scatter := content.get("scatter"), ArrayRecord):
        parts.append(scatter_words(scatter))
    if isinstance(conditional := content.get("conditional"), ArrayRecord):
        parts.append(conditional_words(conditional))
    if isinstance(histogram := content.get("histogram"), ConfigRecord):
        parts.append(histogram_words(str(histogram["text"])))
    if "keys" in content:
        parts.append("public key of this run")
    if isinstance(masked := content.get("sums"), ArrayRecord):
        integers = masked["masked"].shape[0]
        parts.append(f"share of a masked sum: {integers} integers, {_sum_words(message)}")
    if "receipt" in content:
        parts.append("receipt of a report")
    if "diagnostics" in content:
        parts.append(" and ".join(sorted(content["diagnostics"])))
    return "; ".join(parts)
