"""What a site writes down of a message that leaves it (`fedbn.federation.disclosure_log`).

    {"time": "2026-05-04T09:00:00.123+00:00", "run": "7", "round": 1, "kind": "train",
     "records": {"structures": ["edges", "header", "indptr", "weights"]},
     "bytes": 914, "sha256": "...", "words": "1 DAG with 23 arcs over 37 variables",
     "learner": "ges", "settings": "...", "bundle": "...", "weights": [1.0], "states": {},
     "number": 2, "previous": "..."}

`bytes` and `sha256` are those of the message's canonical form: record by record and key by key in
the order of their names, each value (the bytes of an array, or text) preceded by the lengths and
texts of its record and key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fedbn.arrays import Array
from fedbn.data.schema import Schema
from fedbn.federation.family_message import FamilyRequest, tables_given
from fedbn.wire.npy import Arrays
from fedbn.wording import count_of

Content = Mapping[str, Mapping[str, bytes]]
"""Record name -> key -> value, as bytes."""


@dataclass(frozen=True)
class Disclosure:
    """One message that left: when, for which run and round, what, and in plain words.

    Attributes
    ----------
    time, run, round, kind : of the message; `time` as ISO 8601 with its zone.
    records, bytes, sha256 : names of its records and keys, and the canonical form.
    words : what it says.
    settings, learner : SHA-256 (hex) of the run's settings, and the learner that it asks for.
    bundle : SHA-256 (hex) of the run's bundle; empty where it is not known.
    weights, states : of the structures, as they left; column -> states, of a message that names
        them.
    number, previous : the place in the log's chain, given when it is written.
    """

    time: str
    run: str
    round: int
    kind: str
    records: Mapping[str, list[str]]
    bytes: int
    sha256: str
    words: str
    settings: str = ""
    learner: str = ""
    bundle: str = ""
    weights: tuple[float, ...] = ()
    states: Mapping[str, Any] = field(default_factory=dict)
    number: int = 0
    previous: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(self.weights))

    @classmethod
    def of(cls, content: Content, time: datetime, **more: Any) -> Disclosure:
        """The entry for a message with this content that leaves at `time` (aware); `more` are the
        fields that do not follow from these."""
        size, sha256 = digest(content)
        return cls(
            time=time.astimezone(UTC).isoformat(timespec="milliseconds"),
            records={name: sorted(content[name]) for name in sorted(content)},
            bytes=size,
            sha256=sha256,
            **more,
        )


def digest(content: Content) -> tuple[int, str]:
    """Length of all values in bytes, and SHA-256 (hex) of the canonical form.

    >>> digest({"a": {"x": b"12", "y": b"3"}})[0]
    3
    """
    total, summed = 0, hashlib.sha256()
    for record in sorted(content):
        for key in sorted(content[record]):
            value = content[record][key]
            total += len(value)
            for part in (record.encode(), key.encode(), value):
                summed.update(len(part).to_bytes(8, "little") + part)
    return total, summed.hexdigest()


def structure_words(arrays: Arrays, n: int) -> str:
    """What a structure message over `n` agreed variables says, for people.

    >>> from fedbn.federation.message import StructureMessage, to_arrays
    >>> from fedbn.graphs.dag import DAG
    >>> chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    >>> message = StructureMessage("00" * 32, chain.names, (chain,), (1.0,), "complete")
    >>> structure_words(to_arrays(message), 3)
    '1 DAG with 2 arcs over 3 variables'
    """
    graphs = len(arrays["weights"])
    row_weights = sorted(set(arrays["row_weights"].tolist()))
    at = f", row weights {' '.join(f'{k:g}' for k in row_weights)}" if row_weights != [1.0] else ""
    if arrays["header"][2] == 0:
        arcs = len(arrays["edges"])
        what = f"{count_of(graphs, 'DAG')} with {count_of(arcs, 'arc')}"
        return f"{what} over {count_of(n, 'variable')}{at}"
    ends, graph = np.sort(arrays["edges"], axis=1), np.diff(arrays["indptr"])
    joined = len({*zip(np.repeat(np.arange(graphs), graph), *ends.T, strict=True)})
    classes = count_of(graphs, "equivalence class")
    return f"{classes} with {count_of(joined, 'edge')} over {count_of(n, 'variable')}{at}"


def count_words(request: FamilyRequest, given: Array) -> str:
    """What an answer with counts says, for people; `given` as in the answer.

    >>> from fedbn.networks.family_counts import Family, FamilyTables
    >>> schema = Schema.categorical({"a": ["no", "yes"], "b": ["x", "y"]})
    >>> tables = FamilyTables(schema, (Family(0, ()), Family(1, (0,))))
    >>> count_words(FamilyRequest(tables, with_own=True), np.array([0b11000000], dtype=np.uint8))
    'exact counts and own scores of 2 families, 6 cells'
    >>> count_words(FamilyRequest(tables, with_own=False), np.array([0b10000000], dtype=np.uint8))
    'exact counts of 1 family, 2 cells; 1 family held back'
    """
    tables = tables_given(given, request)
    kept, asked = len(tables.families), len(request.tables.families)
    what = "exact counts and own scores" if request.with_own else "exact counts"
    held = f"; {count_of(asked - kept, 'family')} held back" if kept < asked else ""
    return f"{what} of {count_of(kept, 'family')}, {count_of(int(tables.start[-1]), 'cell')}{held}"


def schema_words(schema: Schema) -> str:
    """What a schema says, for people.

    >>> schema_words(Schema.categorical({"a": ["no", "yes"], "b": ["x"]}))
    'names of 2 columns and of their 3 states'
    """
    columns = f"names of {count_of(schema.n, 'column')}"
    if schema.kind == "gaussian":
        return columns
    states = sum(len(variable.states or ()) for variable in schema.variables)
    which = f", which {len(schema.numbers)} of them are numbers," if schema.numbers else ""
    return f"{columns}{which} and of their {count_of(states, 'state')}"


def histogram_words(text: str) -> str:
    """What an answer to a question for histograms says, for people.

    >>> histogram_words('{"columns":{"age":[[3072,4],[3073,1]]}}')
    'counts of the numbers of 1 column in 2 buckets'
    >>> histogram_words('{"columns":{"age":true}}')
    'which 1 column holds numbers'
    """
    content = json.loads(text)["columns"]
    columns = count_of(len(content), "column")
    if all(isinstance(found, bool) for found in content.values()):
        return f"which {columns} holds numbers"
    buckets = sum(len(found) for found in content.values())
    return f"counts of the numbers of {columns} in {count_of(buckets, 'bucket')}"
