"""What may leave a client: mods around the app.

`redact` turns every exception into a fixed text, for a traceback can quote a table. `firewall` lets
a reply pass only when it holds the agreed records with the agreed keys and types, and nothing else;
so whatever the app does by mistake, no more than that leaves. Between them `disclose`
(`clients.disclosures`) writes down what leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message
from flwr.clientapp.typing import ClientAppCallable

from clients.site import read_decisions
from fedbn.errors import FedbnError, MessageError, PolicyError, VersionError
from fedbn.federation.family_message import ANSWER_KEYS
from fedbn.federation.message import ARRAY_KEYS
from fedbn.federation.moments_message import MOMENTS_KEYS

LOG = logging.getLogger("fedbn.client")

APP_RAISED = 2
"""Flower's error code for a client app that raised."""

FAILED = "failed"
"""The only word that a failing client sends, whatever failed; the reason is in its own log."""

REFUSED = "refused by this site's policy"
"""What a refusing client sends, before the reason code."""

VERSIONS = "refused by this site"
"""What a site with another version of fedbn sends, before both versions."""

SCHEMA_KEYS = {"text": str, "hash": str}
KEY_KEYS = {"public": bytes, "name": str, "signature": bytes}
DIAGNOSTIC_KEYS = {"label": str, "rows": int, "rows_dropped": int, "seconds": float}


def redact(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Answer any exception with one and the same word; log the rest of it here.

    Even the class of an error can tell something of a cell to a run that chooses its settings well.
    An error of fedbn says in one line what must hold; of any other the traceback is logged.

    Different versions of fedbn are named. A refusal by the site's policy is answered with its
    reason code (see `fedbn.federation.policy.REASONS`).
    """
    try:
        return call_next(message, context)
    except PolicyError as error:
        code, details = error.args
        LOG.warning(
            "the %s request is refused: %s: %s", message.metadata.message_type, code, details
        )
        return Message(Error(code=APP_RAISED, reason=f"{REFUSED}: {code}"), reply_to=message)
    except VersionError as error:
        LOG.error("the run is refused: %s", error)
        return Message(Error(code=APP_RAISED, reason=f"{VERSIONS}: {error}"), reply_to=message)
    except Exception as error:
        known = isinstance(error, FedbnError)
        LOG.error(
            "the %s request failed: %s", message.metadata.message_type, error, exc_info=not known
        )
        return Message(Error(code=APP_RAISED, reason=FAILED), reply_to=message)


def firewall(message: Message, context: Context, call_next: ClientAppCallable) -> Message:
    """Let the agreed records pass; raise MessageError, which names records and keys, otherwise.

    Diagnostics (label, rows, seconds) are agreed only where both the run config's
    `share-diagnostics` and the site's own policy say so.
    """
    reply = call_next(message, context)
    if not reply.has_content():
        raise MessageError("a reply must have content")
    category = message.metadata.message_type
    agreed = dict(AGREED.get(category, {}))
    if "diagnostics" in reply.content and shares_diagnostics(context):
        agreed["diagnostics"] = _is_diagnostics
    found = set(reply.content)
    if found != set(agreed):
        raise MessageError(
            f"a reply to {category} must hold exactly {sorted(agreed)}, not {sorted(found)}"
        )
    for name, is_agreed in agreed.items():
        record = reply.content[name]
        if not is_agreed(record):
            raise MessageError(f"record {name!r} must not hold {sorted(record)}")
    return reply


def shares_diagnostics(context: Context) -> bool:
    """Whether run and site both want label, rows and seconds to be told."""
    wanted = context.run_config.get("share-diagnostics") is True
    return wanted and read_decisions(context).policy.diagnostics


def _is_structures(record: object) -> bool:
    return isinstance(record, ArrayRecord) and set(record) == set(ARRAY_KEYS)


def _is_moments(record: object) -> bool:
    return isinstance(record, ArrayRecord) and set(record) == set(MOMENTS_KEYS)


def _is_counts(record: object) -> bool:
    return isinstance(record, ArrayRecord) and set(record) == set(ANSWER_KEYS)


def _is_schema(record: object) -> bool:
    return _has_types(record, SCHEMA_KEYS) and set(record) == set(SCHEMA_KEYS)  # type: ignore[call-overload]


def _is_receipt(record: object) -> bool:
    return _has_types(record, {"received": bool}) and set(record) == {"received"}  # type: ignore[call-overload]


def _is_text(record: object) -> bool:
    return _has_types(record, {"text": str}) and set(record) == {"text"}  # type: ignore[call-overload]


def _is_diagnostics(record: object) -> bool:
    return _has_types(record, DIAGNOSTIC_KEYS)


def _has_types(record: object, types: Mapping[str, type]) -> bool:
    return isinstance(record, ConfigRecord) and all(
        type(value) is types.get(key) for key, value in record.items()
    )


def _is_key(record: object) -> bool:
    return _has_types(record, KEY_KEYS) and "public" in record  # type: ignore[operator]


def _is_masked(record: object) -> bool:
    if not isinstance(record, ArrayRecord) or set(record) != {"masked"}:
        return False
    words = ("uint16", "uint32", "uint64")
    return record["masked"].dtype in words and len(record["masked"].shape) == 1


AGREED: Mapping[str, Mapping[str, Callable[[object], bool]]] = {
    "query": {"schema": _is_schema},
    "query.histogram": {"histogram": _is_text},
    "query.report": {"receipt": _is_receipt},
    "query.counts": {"counts": _is_counts},
    "query.keys": {"keys": _is_key},
    "query.moments": {"moments": _is_moments},
    "train": {"structures": _is_structures},
    "train.sums": {"sums": _is_masked},
}
"""Message type -> record name -> what the record must be."""
