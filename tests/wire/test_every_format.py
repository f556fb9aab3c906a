"""One target for all that is sent: mutated bytes are refused by a MessageError, or are a value.

What is accepted would be sent as it came: no value has two forms, whatever a sender does.
"""

from __future__ import annotations

import importlib
import io
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedbn.federation
import fedbn.secure
from fedbn.data.dataset import Dataset
from fedbn.data.quantiles import Histogram, Question
from fedbn.data.schema import Schema, Variable
from fedbn.errors import MessageError
from fedbn.federation import family_message as families
from fedbn.federation import histogram_message as histograms
from fedbn.federation import message as structures
from fedbn.federation import records, sums_message
from fedbn.federation.reply_limits import Limits
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, FamilyTables
from fedbn.networks.mixed_sums import MixedFamilies, mixed_sums
from fedbn.networks.moments import family_pairs, moments_of
from fedbn.scores.scatter import scatter_of_table
from fedbn.secure import cut_sums as cuts
from fedbn.secure import requests as sums
from fedbn.secure.session import Member, Terms
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import array_of_npy
from fedbn.wire.records import RecordFormat
from fedbn.wire.texts import TextFormat
from tests.federation.test_message import has_no_cycle

Wire = Mapping[str, Any]
Format = ArrayFormat | TextFormat[Any] | RecordFormat


@dataclass(frozen=True)
class Case:
    """How values of one format are read and written; `form` is None where a format has no name.

    `honest` are messages as they are sent: `.npy` bytes, texts, or values, by key. `one_form` is
    false where a value has several texts.
    """

    form: Format | None
    honest: tuple[Wire, ...]
    read: Callable[[Wire], Any]
    write: Callable[[Any], Wire]
    holds: Callable[[Any], bool] = lambda value: True
    one_form: bool = True


def npy(arrays: Mapping[str, Any]) -> dict[str, bytes]:
    """Arrays as `.npy` files."""
    files = {}
    for key, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array, allow_pickle=False)
        files[key] = buffer.getvalue()
    return files


def of_arrays(
    form: ArrayFormat,
    values: list[Any],
    write: Callable[[Any], Any],
    read: Callable[[Any], Any],
    holds: Callable[[Any], bool] = lambda value: True,
) -> Case:
    """A case whose messages are arrays."""
    honest = tuple(npy(write(value)) for value in values)
    return Case(form, honest, lambda w: read(form.read(w.items())), lambda v: npy(write(v)), holds)


def of_text(
    form: Format | None,
    values: list[Any],
    write: Callable[[Any], str],
    read: Callable[[Any], Any],
) -> Case:
    """A case whose messages are texts."""
    honest = tuple({"text": write(value)} for value in values)
    return Case(form, honest, lambda w: read(w.get("text")), lambda v: {"text": write(v)})


def of_record(form: RecordFormat, *values: Wire) -> Case:
    """A case whose messages are records."""
    return Case(form, values, form.read, lambda value: value)


NAMES = ("a", "b", "c", "d")
SCHEMA = Schema.categorical({name: ["no", "yes", "maybe"] for name in NAMES})
NUMBERS = Schema.gaussian(NAMES)
RNG = np.random.default_rng(5)
CHAIN = DAG.from_edges(NAMES, ["ab", "bc", "cd"])
GRAPHS = (CHAIN, DAG.from_edges(NAMES, ["ad", "bd", "cd"]), DAG.empty(NAMES))
SENT = structures.StructureMessage(
    SCHEMA.hash, NAMES, GRAPHS, (1.0, 0.5, 2.0), "complete", row_weights=(1.0, 1.0, 1.5)
)
LIMITS = Limits(max_in_degree=3, max_edges=5, max_dags=4)
TABLES = FamilyTables(SCHEMA, (Family(0, ()), Family(1, (0, 2)), Family(3, (1,))))
ASKED, COMPARED = (families.FamilyRequest(TABLES, with_own=own) for own in (False, True))
ROWS = Dataset(SCHEMA, RNG.integers(0, 3, (40, 4)))
ANSWERS = [families.answer_request(each, ROWS, 1.0) for each in (ASKED, COMPARED)]
MEASURED = moments_of(Dataset(NUMBERS, RNG.normal(size=(30, 4))), family_pairs(CHAIN))
BOTH = Schema((Variable("a", ("0", "1")), Variable("b"), Variable("c", ("x", "y")), Variable("d")))
BY_CONFIGURATION = MixedFamilies(DAG.from_edges(BOTH.names, ["ab", "cb", "bd", "ac"]), BOTH)
GROUPED = mixed_sums(
    Dataset(
        BOTH,
        np.column_stack(
            [
                RNG.integers(0, 2, 60),
                RNG.normal(size=60),
                RNG.integers(0, 2, 60),
                RNG.normal(size=60),
            ]
        ),
    ),
    BY_CONFIGURATION,
)
SCATTERED = scatter_of_table(Dataset(NUMBERS, RNG.normal(size=(30, 4))))
QUESTION = Question(2, {"a": (3, 7), "é": (0,)})
HISTOGRAM = Histogram({"a": {3 << 12: 4, (7 << 12) + 5: 1}, "é": {9: 2}})
PATHS = ((sums.Deletion(0, 1, (2,)),), ())
EQUATIONS = sums.EquationRequest(TABLES.families, (0.1, -0.0), (1, 2, 3))
SUMS = [
    sums.OrderRequest(PATHS, (sums.OrderState(0, 1, (3,), (2, 1)),)),
    sums.UnionRequest(PATHS, (sums.UnionState(1, 0, (0, 1, 2, 3)),)),
    sums.CutRequest(((0, 1),), 3, (sums.CutPath(True, PATHS[0], (), True),)),
    sums.VoteRequest(None, True),
    sums.VoteRequest(((0, 1), (2, 3)), False),
    sums.CountRequest(TABLES.families, True),
    sums.SizeRequest(),
    sums.LevelRequest(),
    sums.PlaceRequest((3, 256)),
    EQUATIONS,
    sums.ResidualRequest(EQUATIONS, ((-1.5e-300, 1e22), ()), (7, 0)),
    sums.ScatterRequest((0, 128, 256)),
    sums.ScoreRequest(TABLES.families),
]
MEMBERS = tuple(Member(name, bytes([i] * 32).hex(), "ab") for i, name in enumerate(("é", "ü")))
TERMS = Terms("7", SCHEMA.hash, "secure-sums", 1, 10, 1, ("mean", "clip"), MEMBERS, 2)


def is_sound(message: structures.StructureMessage) -> bool:
    """By the definition of what a receiver takes."""
    degrees = [int(dag.adjacency.sum(axis=0).max()) for dag in message.dags]
    return (
        1 <= len(message.dags) == len(message.weights) == len(message.row_weights) <= 4
        and all(dag.names == NAMES and has_no_cycle(dag.adjacency.tolist()) for dag in message.dags)
        and max(degrees) <= 3
        and all(len(dag.edges) <= 5 for dag in message.dags)
        and all(0 < weight < math.inf for weight in message.weights)
        and all(1 <= k < math.inf for k in message.row_weights)
    )


def answers_to(request: families.FamilyRequest, answer: families.FamilyAnswer) -> Case:
    """Of one request."""
    return of_arrays(
        families.ANSWERS,
        [answer],
        lambda value: families.answer_to_arrays(request, value),
        lambda arrays: families.answer_from_arrays(arrays, request, 1.0),
        lambda value: 1 <= value.counts.rows <= families.MAX_SITE_ROWS,
    )


def sum_question(text: Any) -> Wire:
    """The record of a request for a sum."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return records.SUMS.read({"request": data})


CASES = {
    "structures": of_arrays(
        structures.STRUCTURES,
        [SENT, structures.as_classes(SENT)],
        structures.to_arrays,
        lambda arrays: structures.from_arrays(arrays, SCHEMA, limits=LIMITS),
        is_sound,
    ),
    "families": of_arrays(
        families.REQUESTS,
        [ASKED, COMPARED],
        families.request_to_arrays,
        lambda arrays: families.request_from_arrays(arrays, SCHEMA),
    ),
    "counts": answers_to(ASKED, ANSWERS[0]),
    "counts and own scores": answers_to(COMPARED, ANSWERS[1]),
    "moments": of_arrays(
        sums_message.MOMENTS,
        [MEASURED],
        lambda value: sums_message.moments_to_arrays(value, CHAIN, NUMBERS),
        lambda arrays: sums_message.moments_from_arrays(arrays, CHAIN, NUMBERS),
        lambda value: value.rows >= 1 and bool(np.isfinite(value.scatter).all()),
    ),
    "scatters": of_arrays(
        sums_message.SCATTERS,
        [SCATTERED],
        lambda value: sums_message.scatter_to_arrays(value, NUMBERS),
        lambda arrays: sums_message.scatter_from_arrays(arrays, NUMBERS),
        lambda value: value.rows >= 1 and bool(np.isfinite(value.products).all()),
    ),
    "sums by configuration": of_arrays(
        sums_message.CONDITIONALS,
        [GROUPED],
        lambda value: sums_message.sums_to_arrays(value, BY_CONFIGURATION),
        lambda arrays: sums_message.sums_from_arrays(arrays, BY_CONFIGURATION),
        lambda value: value.rows >= 1,
    ),
    "masked sums": of_arrays(
        records.MASKED,
        [np.arange(5, dtype=kind) for kind in (np.uint16, np.uint32, np.uint64)],
        lambda value: records.MASKED.encode(masked=value),
        lambda arrays: records.MASKED.decode(arrays)["masked"],
    ),
    "question": of_text(
        histograms.QUESTIONS,
        [None, QUESTION],
        histograms.question_to_text,
        histograms.question_from_text,
    ),
    "kinds": of_text(
        histograms.KINDS,
        [{"a": True, "é": False}, {}],
        histograms.kinds_to_text,
        lambda text: histograms.kinds_from_text(text, LIMITS),
    ),
    "histogram": of_text(
        histograms.COUNTS,
        [HISTOGRAM],
        histograms.histogram_to_text,
        lambda text: histograms.histogram_from_text(text, QUESTION, LIMITS),
    ),
    "requests for sums": of_text(
        None,
        [(request, bytes(range(32)), 4) for request in SUMS],
        lambda value: sums.to_bytes(*value).decode("ascii"),
        lambda text: sums.from_bytes(sum_question(text)["request"]),
    ),
    "requests for sums of histograms": of_text(
        None,
        [
            (request, bytes(range(32)), 4)
            for request in (cuts.SizeRequest(("a", "é")), cuts.BucketRequest(QUESTION, {"é": 3}))
        ],
        lambda value: cuts.to_bytes(*value).decode("ascii"),
        lambda text: cuts.from_bytes(sum_question(text)["request"]),
    ),
    "asked for cut points": of_text(
        cuts.ASKED,
        [cuts.NOTHING_ASKED, cuts.AskedCuts("{}", 2, {"é": 3})],
        cuts.ASKED.encode,
        cuts.ASKED.decode,
    ),
    "terms": of_text(
        None,
        [TERMS],
        Terms.to_text,
        lambda text: Terms.from_text(records.SUMS.read({"request": b"", "terms": text})["terms"]),
    ),
    "schemas": Case(
        None,
        tuple({"text": schema_to_text(s), "hash": s.hash} for s in (SCHEMA, NUMBERS)),
        lambda wire: schema_from_text(wire.get("text"), wire.get("hash")),
        lambda schema: {"text": schema_to_text(schema), "hash": schema.hash},
        one_form=False,
    ),
    "task": of_record(
        records.TASK,
        {"round": 0, "fedbn": "1", "cuts": "[]"},
        {"round": 2, "text": "{}", "hash": "00", "report": "é", "run": "7"},
    ),
    "question record": of_record(records.QUESTION, {"text": "{}"}),
    "report": of_record(records.REPORT, {"text": "has no column 'age'"}),
    "request record": of_record(records.SUMS, {"request": b"{}"}, {"request": b"", "terms": "{}"}),
    "schema": of_record(records.SCHEMA, {"text": "{}", "hash": "00"}),
    "histogram record": of_record(records.HISTOGRAM, {"text": "{}"}),
    "receipt": of_record(records.RECEIPT, {"received": True}),
    "key": of_record(
        records.KEYS, {"public": bytes(32)}, {"public": bytes(32), "name": "é", "signature": b"s"}
    ),
    "diagnostics": of_record(
        records.DIAGNOSTICS,
        {},
        {"label": "é", "rows": 3, "rows_dropped": 0, "seconds": 0.5, "missing": "{}"},
    ),
}


def test_all_formats_are_here() -> None:
    found: dict[int, Format] = {}
    for room in (fedbn.federation, fedbn.secure):
        for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, ArrayFormat | TextFormat | RecordFormat):
                    found[id(value)] = value
    assert len(found) > 15
    assert set(found) == {id(case.form) for case in CASES.values() if case.form is not None}


@pytest.mark.parametrize("name", CASES)
def test_what_is_sent_is_what_arrives(name: str) -> None:
    case = CASES[name]
    for sent in case.honest:
        value = case.read(sent)
        assert case.holds(value)
        assert case.write(value) == sent


STRANGE = ("", "é", "\ud800", b"", b"x", 0, -1, 2**70, True, 0.5, math.nan, None, [1], {"a": 1})
PIECES = (
    '"',
    "[",
    "]",
    "{",
    "}",
    ",",
    "null",
    "true",
    "-1",
    "1e999",
    '"\\ud800"',
    "NaN",
    "é",
    "[" * 9,
)
NUMBER = st.sampled_from([0, 1, -1, 2, 3, 255, 2**31 - 1, -(2**31), 2**62, -(2**63), math.nan, 0.5])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["set", "cut", "add", "entry", "swap", "drop", "more"]),
        st.integers(0, 50),
        st.integers(0, 2_000),
        st.integers(0, 255),
        NUMBER,
    ),
    min_size=1,
    max_size=3,
)


def mutate(sent: Wire, steps: list[tuple[str, int, int, int, Any]]) -> dict[str, Any]:
    """A message after some changes of bytes, entries, lengths and keys."""
    wire = dict(sent)
    for how, which, place, value, number in steps:
        keys = sorted(wire) or ["text"]
        key = keys[which % len(keys)]
        if how == "drop":
            wire.pop(key, None)
        elif how == "more":
            wire[f"more{value}"] = wire.get(key)
        elif how == "swap":
            wire[key] = wire.get(keys[place % len(keys)])
        elif how == "entry":
            wire[key] = with_entry(wire.get(key), place, number)
        else:
            wire[key] = with_piece(wire.get(key), how, place, value)
    return wire


def with_entry(held: Any, place: int, number: Any) -> Any:
    """One entry of an array changed, unless its bytes are broken already; another value in place of
    any other."""
    if not isinstance(held, bytes) or not held.startswith(b"\x93NUMPY"):
        return STRANGE[place % len(STRANGE)] if not isinstance(held, str) else held
    try:
        array = array_of_npy(held)  # numpy.load raises TokenError and others of broken headers
    except MessageError:
        return held
    if array.size:
        with np.errstate(all="ignore"):
            wanted = np.array(0 if number != number and array.dtype.kind != "f" else number)
            array.reshape(-1)[place % array.size] = wanted.astype(array.dtype)
    return npy({"": array})[""]


def with_piece(held: Any, how: str, place: int, value: int) -> Any:
    """A byte or a piece of text changed, cut out or put in."""
    if isinstance(held, str):
        at = place % (len(held) + 1)
        piece = PIECES[value % len(PIECES)]
        end = at + {"set": len(piece), "cut": value % 9, "add": 0}[how]
        return held[:at] + ("" if how == "cut" else piece) + held[end:]
    if not isinstance(held, bytes):
        return STRANGE[value % len(STRANGE)]
    at = place % (len(held) + 1)
    end = at + {"set": 1, "cut": value, "add": 0}[how]
    return held[:at] + (b"" if how == "cut" else bytes([value])) + held[end:]


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=100)
@given(which=st.integers(0, 9), steps=STEPS)
def test_mutated_bytes_are_refused_or_are_a_value(
    name: str, which: int, steps: list[tuple[str, int, int, int, Any]]
) -> None:
    case = CASES[name]
    wire = mutate(case.honest[which % len(case.honest)], steps)
    try:
        value = case.read(wire)
    except MessageError:
        return
    assert case.holds(value)
    again = case.write(value)
    if isinstance(case.form, ArrayFormat):
        found, sent = (case.form.read(each.items()) for each in (again, wire))
        assert all(found[key].tobytes() == sent[key].tobytes() for key in case.form.keys)
    elif case.one_form:
        assert all(again[key] == wire[key] for key in again)
    else:
        assert case.read(again) == value
