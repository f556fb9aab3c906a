"""A site's disclosure log: nothing leaves before its entry is on disk."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Context, Message

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
    content: Any = {} if reply.has_error() else reply.content
    weights = content["structures"]["weights"].numpy().tolist() if "structures" in content else ()
    told = content.get("schema")
    return Disclosure.of(
        _content(reply),
        datetime.now(UTC),
        run=str(context.run_id),
        round=round_of(message),
        kind=message.metadata.message_type,
        words=_words(message, reply, spent),
        settings=hashlib.sha256(settings.encode("utf-8")).hexdigest(),
        learner=str(context.run_config.get("learner", "")),
        bundle=os.environ.get(BUNDLE, ""),
        weights=tuple(weights),
        states={} if told is None else schema_from_text(told["text"], told["hash"]).to_dict(),
    )


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
    parts = []
    for name, record in sorted(reply.content.items(), key=lambda each: each[0] == "diagnostics"):
        parts.append(_record_words(name, record, message))
        parts += spent if name == "structures" else ()
    return "; ".join(parts)


def _record_words(name: str, record: Any, message: Message) -> str:
    """What one record says, for people."""
    match name:
        case "schema":
            return schema_words(schema_from_text(record["text"], record["hash"]))
        case "structures":
            return structure_words(arrays_in(record, STRUCTURES), task_of(message).schema.n)
        case "counts":
            request = families_of_request(message, task_of(message).schema)
            return count_words(request, np.atleast_1d(record["given"].numpy()))
        case "moments":
            means, scatter = (record[key].numpy().size for key in ("means", "scatter"))
            return f"rows, {means} means and {scatter} sums of products"
        case "scatter":
            products = record["products"].numpy().size
            return f"rows and {products} sums of products about the site's means"
        case "conditional":
            return conditional_words(record)
        case "histogram":
            return histogram_words(str(record["text"]))
        case "keys":
            return "public key of this run"
        case "sums":
            cuts, asked = message.metadata.message_type == CUT_SUMS, sum_of(message)
            words = cut_words(asked.data) if cuts else asked.words
            integers = record["masked"].shape[0]
            return f"share of a masked sum: {integers} integers, {words}"
        case "receipt":
            return "receipt of a report"
    return " and ".join(sorted(record))
