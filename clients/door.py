"""The one door of a site: a message comes in as a `Request`, and what goes out is looked at here.

    message -> the site's decisions -> Request -> budget -> what must be allowed -> handler
            -> firewall -> disclosure log -> reply

The site's file, the run's settings and the contract are read once, so no two checks of one message
can differ. Nothing passes that the table of handlers does not name (`clients.client_app`). Every
failure is one word, for a traceback can quote a table, and no reply goes before its entry is in the
site's log.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict

from clients.disclosures import disclose
from clients.private_runs import spent_words
from clients.read_requests import record_of
from clients.request import Node, Request, node_of
from fedbn.errors import ContractError, FedbnError, MessageError, PolicyError, VersionError
from fedbn.federation.answer_budget import reserve_answer
from fedbn.federation.policy import SitePolicy
from fedbn.federation.records import DIAGNOSTICS
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.records import RecordFormat

LOG = logging.getLogger("fedbn.client")

APP_RAISED = 2
"""Flower's error code for a client app that raised."""

FAILED = "failed"
"""The only word that a failing client sends, whatever failed; the reason is in its own log."""

REFUSED = "refused by this site's policy"
"""What a refusing client sends, before the reason code."""

VERSIONS = "refused by this site"
"""What a site with another version of fedbn sends, before both versions."""


@dataclass(frozen=True)
class Answer:
    """The values of the one record of a reply, and what the site tells about itself with it, which
    is found only where the run's `share-diagnostics` and the site's own policy both say so."""

    record: Mapping[str, Any]
    about: Callable[[], Mapping[str, Any]] = dict


@dataclass(frozen=True)
class Handler:
    """How a kind of message is answered.

    Attributes
    ----------
    answer : what the reply says; nothing of the table is read before all of `needs` hold.
    form : of the record of the reply.
    needs : what must be allowed, in this order: methods of the site's policy, and of `Request`, by
        the names of which those of the request's own class are called.
    masked : whether the reply is a share of a masked sum, which has a budget of its own.
    """

    answer: Callable[[Request], Answer]
    form: RecordFormat | ArrayFormat
    needs: tuple[Callable[[Request], None] | Callable[[SitePolicy], None], ...] = ()
    masked: bool = False


def enter(
    message: Message,
    context: Context,
    handlers: Mapping[str, Handler],
    find: Callable[[Context], Node] = node_of,
) -> Message:
    """The reply to a message: an answer, or a notice of one word; `find` gives the site."""
    try:
        node = find(context)
        spent: list[str] = []
        try:
            request = _admit(message, context, node, handlers)
            reply, spent = _answer(request, handlers[request.kind])
        except Exception as error:
            reply = notice(message, error)
        return disclose(message, context, node.site, reply, spent)
    except Exception as error:
        return notice(message, error)


def refuse(message: Message, context: Context, refused: Message) -> Message:
    """A refusal that was decided elsewhere, logged like all that leaves."""
    try:
        return disclose(message, context, node_of(context).site, refused)
    except Exception as error:
        return notice(message, error)


def notice(message: Message, error: Exception) -> Message:
    """Answer any exception with one and the same word; log the rest of it here: for an error of
    fedbn its line, for any other the traceback. Even the class of an error can tell something of a
    cell to a run that chooses its settings well.

    Different versions of fedbn are named, and a refusal by the site's policy is answered with its
    reason code (see `fedbn.federation.policy.REASONS`).
    """
    kind, reason = message.metadata.message_type, FAILED
    if isinstance(error, PolicyError):
        code, details = error.args
        LOG.warning("the %s request is refused: %s: %s", kind, code, details)
        reason = f"{REFUSED}: {code}"
    elif isinstance(error, ContractError):
        LOG.warning("the %s request is refused: contract: %s", kind, error)
        reason = f"{REFUSED}: contract"
    elif isinstance(error, VersionError):
        LOG.error("the run is refused: %s", error)
        reason = f"{VERSIONS}: {error}"
    else:
        known = isinstance(error, FedbnError)
        LOG.error("the %s request failed: %s", kind, error, exc_info=None if known else error)
    return Message(Error(code=APP_RAISED, reason=reason), reply_to=message)


def _admit(
    message: Message, context: Context, node: Node, handlers: Mapping[str, Handler]
) -> Request:
    """The request of a message that there is a handler and a budget for; raises otherwise."""
    kind = message.metadata.message_type
    if kind not in handlers:
        raise MessageError(f"server: a message must be one of {', '.join(handlers)}, not {kind!r}")
    if node.site.disclosures is not None:
        what, allow = "answer", node.site.policy.require_budget
        if handlers[kind].masked:
            what, allow = "sum", node.site.policy.require_sums
        reserve_answer(node.site.disclosures, str(context.run_id), what, datetime.now(UTC), allow)
    return node.request(message, context)


def _answer(request: Request, handler: Handler) -> tuple[Message, list[str]]:
    """The reply to a request that everything allows, and what the log says of what was spent."""
    for need in handler.needs:
        of_policy = need is getattr(SitePolicy, need.__name__, None)
        getattr(request.site.policy if of_policy else request, need.__name__)()
    told = handler.answer(request)
    content = RecordDict({handler.form.name: _record(told.record, handler.form)})
    about = told.about() if request.shares_diagnostics else {}
    if about:
        content[DIAGNOSTICS.name] = _record(about, DIAGNOSTICS)
    spent = spent_words(request) if "structures" in content else []
    return Message(content, reply_to=request.message), spent


def _record(
    told: Mapping[str, Any], form: RecordFormat | ArrayFormat
) -> ArrayRecord | ConfigRecord:
    """The record of these values; MessageError unless they have the agreed keys and types."""
    record = record_of(told) if isinstance(form, ArrayFormat) else ConfigRecord({**told})
    if not form.holds(record):
        raise MessageError(f"record {form.name!r} must not hold {sorted(record)}")
    return record
