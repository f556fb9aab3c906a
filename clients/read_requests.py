"""Reading the server's requests, which a site checks as the server checks replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, Message

import fedbn
from fedbn.bounded_file import json_value
from fedbn.data.cuts import Cuts, parse_cuts
from fedbn.data.quantiles import Question
from fedbn.data.schema import Schema
from fedbn.errors import MessageError, SchemaError, VersionError
from fedbn.federation.family_message import REQUESTS, FamilyRequest, request_from_arrays
from fedbn.federation.histogram_message import question_from_text
from fedbn.federation.message import STRUCTURES, from_arrays
from fedbn.federation.records import QUESTION, REPORT, SUMS, TASK
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text
from fedbn.graphs.dag import DAG
from fedbn.secure.session import Terms
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import MAX_BYTES, Arrays
from fedbn.wire.records import RecordFormat
from fedbn.wire.sender import said_by
from fedbn.wording import count_of, printable

SERVER = "server"

MAX_REPORT = 2000
"""Characters of the server's report that are shown here."""

CUT_SUMS = "query.cut_sums"
"""The kind of a request for a masked sum of histograms."""


@dataclass(frozen=True)
class Task:
    """What a train request asks for: the agreed schema, the round from 1, what the server says
    about this site's columns (empty for nothing), and the schema of secure sums, the agreed one
    unless the sites of a group have some of its columns only."""

    schema: Schema
    round: int
    report: str
    summed: Schema


@said_by(SERVER)
def task_of(message: Message) -> Task:
    """The task of a train request; raises MessageError."""
    record = _record(message, TASK)
    schema = schema_from_text(record.get("text"), record.get("hash"))
    report = printable(record.get("report", ""), MAX_REPORT)
    return Task(schema, record["round"], report, _schema_of_sums(schema, record.get("columns")))


def _schema_of_sums(schema: Schema, text: str | None) -> Schema:
    """The agreed schema, or that of the columns that a text lists."""
    if text is None:
        return schema
    try:
        names = json_value(text)
        there = set(map(str, names))
        found = schema.restrict(name for name in schema.names if name in there)
    except (ValueError, TypeError, SchemaError):
        found = None
    if found is None or list(found.names) != names:
        raise MessageError(f"the columns of the sums must be agreed ones, sorted, not {text!r:.80}")
    return found


@said_by(SERVER)
def agreed_of(message: Message) -> Schema | None:
    """The schema that a question for columns names, if the run gave one; raises MessageError."""
    record = _task(message)
    if "text" not in record:
        return None
    return schema_from_text(record["text"], record.get("hash"))


def require_version(message: Message) -> None:
    """Raise VersionError where the server says that it has another version of fedbn."""
    task = message.content.get(TASK.name)
    theirs = task.get("fedbn", fedbn.__version__) if isinstance(task, ConfigRecord) else None
    if theirs not in (None, fedbn.__version__):
        raise VersionError(
            f"the server has fedbn {printable(str(theirs), 40)}, this site has "
            f"{fedbn.__version__}; install the same"
        )


@said_by(SERVER)
def cuts_of(message: Message) -> dict[str, Cuts]:
    """The cut points that a question for columns comes with; raises MessageError."""
    text = _task(message).get("cuts")
    if text is None:
        return {}
    try:
        return parse_cuts(json_value(text))
    except (ValueError, TypeError, AttributeError) as error:
        raise MessageError(f"cuts must be texts column=numbers: {error}") from None


@said_by(SERVER)
def question_of(message: Message) -> Question | None:
    """What a question for histograms asks; raises MessageError."""
    return question_from_text(_record(message, QUESTION)["text"])


@dataclass(frozen=True)
class SumQuestion:
    """A request for a masked sum: its bytes, and what the run agreed on, in the first request
    only."""

    data: bytes
    terms: Terms | None

    @property
    def words(self) -> str:
        """What it asks for, for people."""
        content = json_value(self.data)
        families = len(content["ask"].get("families", ()))
        return _SUMS[content["kind"]].format(count_of(families, "family"))


_SUMS = {
    "counts": "counts of {}",
    "order": "costs of an order",
    "union": "arcs of a union",
    "cuts": "cuts of deletions",
    "votes": "votes on pairs",
    "sizes": "how large the sums of squares of columns are",
    "scatter": "rows and sums of products of all columns about the site's means",
    "scores": "own scores of {}",
    "levels": "how large the sums of squares of numbers about 0 are, and how many rows",
    "place": "rows, sums of numbers and of their squares",
    "equations": "rows, counts of categories, and by configuration of these the sums and sums "
    "of products of numbers",
    "residuals": "by configuration of categories, the sums of squares that equations leave",
}
"""Kind of a request for a sum (`fedbn.secure.requests`) -> what it asks for."""


@said_by(SERVER)
def sum_of(message: Message) -> SumQuestion:
    """The question of a request for a sum; raises MessageError."""
    record = _record(message, SUMS)
    terms = record.get("terms")
    return SumQuestion(record["request"], None if terms is None else Terms.from_text(terms))


@said_by(SERVER)
def run_of(message: Message) -> str:
    """The name of a run of secure sums; raises MessageError."""
    record = _record(message, TASK)
    if "run" not in record:
        raise MessageError("a request for a key must name its run")
    return str(record["run"])


@said_by(SERVER)
def round_of(message: Message) -> int:
    """The round that a request belongs to; 0 before the first."""
    return int(_task(message).get("round", 0))


@said_by(SERVER)
def report_of(message: Message) -> str:
    """The text of a report; raises MessageError."""
    return printable(_record(message, REPORT)["text"], MAX_REPORT)


@said_by(SERVER)
def consensus_of(message: Message, schema: Schema) -> DAG | None:
    """The consensus to start from, or None in the first round; raises MessageError."""
    if "consensus" not in message.content:
        return None
    limits = Limits(max_in_degree=schema.n, max_edges=schema.n**2, max_dags=1)
    arrays = arrays_in(message.content["consensus"], STRUCTURES)
    return from_arrays(arrays, schema, limits=limits).dags[0]


@said_by(SERVER)
def families_of_request(message: Message, schema: Schema) -> FamilyRequest:
    """The families whose counts are asked for; raises MessageError."""
    return request_from_arrays(arrays_in(message.content.get(REQUESTS.name), REQUESTS), schema)


def _task(message: Message) -> Mapping[str, Any]:
    """The task of a message that may have none."""
    return _record(message, TASK) if TASK.name in message.content else {}


def _record(message: Message, form: RecordFormat) -> Mapping[str, Any]:
    return form.read(message.content.get(form.name))


def record_of(arrays: Arrays) -> ArrayRecord:
    """The record of a message's arrays."""
    return ArrayRecord({key: Array(array) for key, array in arrays.items()})


def arrays_in(record: object, form: ArrayFormat, *, max_bytes: int = MAX_BYTES) -> Arrays:
    """The arrays of a record; raises MessageError for any other record."""
    if not isinstance(record, ArrayRecord):
        raise MessageError(f"there must be a record of {', '.join(form.keys)}")
    parts = [(key, array.data) for key, array in record.items()]
    return form.read(parts, max_bytes=max_bytes)
