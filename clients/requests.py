"""Reading the server's requests, which a site checks as the server checks replies."""

from __future__ import annotations

from dataclasses import dataclass

from flwr.app import ArrayRecord, ConfigRecord, Message

import fedbn
from fedbn.bounded_file import json_value
from fedbn.data.cuts import Cuts, parse_cuts
from fedbn.data.dataset import Schema
from fedbn.data.quantiles import Question
from fedbn.errors import MessageError, VersionError
from fedbn.federation.family_message import REQUEST_KEYS, FamilyRequest, request_from_arrays
from fedbn.federation.histogram_message import question_from_text
from fedbn.federation.message import ARRAY_KEYS, from_arrays
from fedbn.federation.npy import arrays_of_npy
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text
from fedbn.graphs.dag import DAG
from fedbn.secure.requests import (
    CountRequest,
    CutRequest,
    OrderRequest,
    UnionRequest,
    VoteRequest,
    from_bytes,
)
from fedbn.secure.session import Terms
from fedbn.wording import count_of, printable

MAX_REPORT = 2000
"""Characters of the server's report that are shown here."""

CUT_SUMS = "query.cut_sums"
"""The kind of a request for a masked sum of histograms."""


@dataclass(frozen=True)
class Task:
    """What a train request asks for.

    Attributes
    ----------
    schema : the agreed one.
    round : counted from 1.
    report : what the server says about this site's columns; empty for nothing.
    """

    schema: Schema
    round: int
    report: str


def task_of(message: Message) -> Task:
    """The task of a train request; raises MessageError."""
    record = _config(message, "task")
    schema = schema_from_text(record.get("text"), record.get("hash"), sender="server")
    report = _text(record, "report") if "report" in record else ""
    return Task(schema, round_of(message), report)


def agreed_of(message: Message) -> Schema | None:
    """The schema that a question for columns names, if the run gave one; raises MessageError."""
    if "task" not in message.content:
        return None
    record = _config(message, "task")
    if "text" not in record:
        return None
    return schema_from_text(record["text"], record.get("hash"), sender="server")


def require_version(message: Message) -> None:
    """Raise VersionError where the server says that it has another version of fedbn."""
    task = message.content.get("task")
    theirs = task.get("fedbn", fedbn.__version__) if isinstance(task, ConfigRecord) else None
    if theirs not in (None, fedbn.__version__):
        raise VersionError(
            f"the server has fedbn {printable(str(theirs), 40)}, this site has "
            f"{fedbn.__version__}; install the same"
        )


def cuts_of(message: Message) -> dict[str, Cuts]:
    """The cut points that a question for columns comes with; raises MessageError."""
    if "task" not in message.content:
        return {}
    record = _config(message, "task")
    if "cuts" not in record:
        return {}
    try:
        return parse_cuts(json_value(_text(record, "cuts")))
    except (ValueError, TypeError, AttributeError) as error:
        raise MessageError(f"server: cuts must be texts column=numbers: {error}") from None


def question_of(message: Message) -> Question | None:
    """What a question for histograms asks; raises MessageError."""
    return question_from_text(_config(message, "question").get("text"))


@dataclass(frozen=True)
class SumQuestion:
    """A request for a masked sum.

    Attributes
    ----------
    data : its bytes.
    terms : what the run agreed on; in the first request only.
    """

    data: bytes
    terms: Terms | None

    @property
    def words(self) -> str:
        """What it asks for, for people."""
        request = from_bytes(self.data)[0]
        if isinstance(request, CountRequest):
            return f"counts of {count_of(len(request.families), 'family')}"
        return _SUMS[type(request)]


_SUMS = {
    OrderRequest: "costs of an order",
    UnionRequest: "arcs of a union",
    CutRequest: "cuts of deletions",
    VoteRequest: "votes on pairs",
}


def sum_of(message: Message) -> SumQuestion:
    """The question of a request for a sum; raises MessageError."""
    record = _config(message, "sums")
    data, terms = record.get("request"), record.get("terms")
    if not isinstance(data, bytes) or not (terms is None or isinstance(terms, str)):
        raise MessageError("server: a request for a sum must be bytes, its terms text")
    return SumQuestion(data, None if terms is None else Terms.from_text(terms))


def run_of(message: Message) -> str:
    """The name of a run of secure sums; raises MessageError."""
    return _text(_config(message, "task"), "run")


def round_of(message: Message) -> int:
    """The round that a request belongs to; 0 before the first."""
    if "task" not in message.content:
        return 0
    number = _config(message, "task").get("round", 0)
    if type(number) is not int or number < 0:
        raise MessageError(f"server: the round must be a whole number, not {number!r}")
    return number


def report_of(message: Message) -> str:
    """The text of a report; raises MessageError."""
    return _text(_config(message, "report"), "text")


def consensus_of(message: Message, schema: Schema) -> DAG | None:
    """The consensus to start from, or None in the first round; raises MessageError."""
    if "consensus" not in message.content:
        return None
    record = message.content["consensus"]
    if not isinstance(record, ArrayRecord):
        raise MessageError("server: a consensus must be the arrays of a message")
    limits = Limits(max_in_degree=schema.n, max_edges=schema.n**2, max_dags=1)
    parts = [(key, array.data) for key, array in record.items()]
    arrays = arrays_of_npy(parts, ARRAY_KEYS, limits=limits, sender="server")
    return from_arrays(arrays, schema, limits=limits, sender="server").dags[0]


def families_of_request(message: Message, schema: Schema) -> FamilyRequest:
    """The families whose counts are asked for; raises MessageError."""
    record = message.content.get("families")
    if not isinstance(record, ArrayRecord):
        raise MessageError("server: a request must hold the arrays of families")
    parts = [(key, array.data) for key, array in record.items()]
    arrays = arrays_of_npy(parts, REQUEST_KEYS, sender="server")
    return request_from_arrays(arrays, schema)


def _config(message: Message, name: str) -> ConfigRecord:
    record = message.content.get(name)
    if not isinstance(record, ConfigRecord):
        raise MessageError(f"server: a request must hold {name!r}")
    return record


def _text(record: ConfigRecord, key: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        raise MessageError(f"server: {key!r} must be text")
    return printable(text, MAX_REPORT)
