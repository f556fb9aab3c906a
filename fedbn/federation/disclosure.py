"""The log of what left a site: one JSON line per message, on disk before the message goes.

    {"time": "2026-05-04T09:00:00.123+00:00", "run": "7", "round": 1, "kind": "train",
     "records": {"structures": ["edges", "header", "indptr", "weights"]},
     "bytes": 914, "sha256": "...", "words": "1 DAG with 23 arcs over 37 variables"}

`bytes` and `sha256` are those of the message's canonical form: record by record and key by key in
the order of their names, each value (the bytes of an array, or text) preceded by the lengths and
texts of its record and key.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.data.dataset import Schema
from fedbn.errors import FedbnWarning, ResultsError
from fedbn.networks.family_counts import FamilyTables

__all__ = [
    "Content",
    "Disclosure",
    "append",
    "count_words",
    "digest",
    "read_log",
    "schema_words",
    "structure_words",
]

Content = Mapping[str, Mapping[str, bytes]]
"""Record name -> key -> value, as bytes."""


@dataclass(frozen=True)
class Disclosure:
    """One message that left: when, for which run and round, what, and in plain words."""

    time: str
    run: str
    round: int
    kind: str
    records: Mapping[str, list[str]]
    bytes: int
    sha256: str
    words: str

    @classmethod
    def of(
        cls, content: Content, *, run: str, round: int, kind: str, words: str, time: datetime
    ) -> Disclosure:
        """The entry for a message with this content that leaves at `time` (aware)."""
        size, sha256 = digest(content)
        return cls(
            time=time.astimezone(UTC).isoformat(timespec="milliseconds"),
            run=run,
            round=round,
            kind=kind,
            records={name: sorted(content[name]) for name in sorted(content)},
            bytes=size,
            sha256=sha256,
            words=words,
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


def structure_words(arrays: Mapping[str, NDArray[Any]], n: int) -> str:
    """What a structure message says, for people.

    Parameters
    ----------
    arrays : of the message, as `fedbn.federation.message.to_arrays` makes them.
    n : number of agreed variables.

    Examples
    --------
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
        return f"{_many(graphs, 'DAG')} with {_many(arcs, 'arc')} over {_many(n, 'variable')}{at}"
    ends, graph = np.sort(arrays["edges"], axis=1), np.diff(arrays["indptr"])
    joined = len({*zip(np.repeat(np.arange(graphs), graph), *ends.T, strict=True)})
    classes = _many(graphs, "equivalence class", "equivalence classes")
    return f"{classes} with {_many(joined, 'edge')} over {_many(n, 'variable')}{at}"


def count_words(tables: FamilyTables) -> str:
    """What an answer with counts says, for people.

    >>> from fedbn.networks.family_counts import Family
    >>> schema = Schema.categorical({"a": ["no", "yes"], "b": ["x", "y"]})
    >>> count_words(FamilyTables(schema, (Family(0, ()), Family(1, (0,)))))
    'exact counts and own scores of 2 families, 6 cells'
    """
    families = _many(len(tables.families), "family", "families")
    return f"exact counts and own scores of {families}, {_many(int(tables.start[-1]), 'cell')}"


def schema_words(schema: Schema) -> str:
    """What a schema says, for people.

    >>> schema_words(Schema.categorical({"a": ["no", "yes"], "b": ["x"]}))
    'names of 2 columns and of their 3 states'
    """
    columns = f"names of {_many(schema.n, 'column')}"
    if schema.kind == "gaussian":
        return columns
    return f"{columns} and of their {_many(int(schema.cardinalities.sum()), 'state')}"


def histogram_words(text: str) -> str:
    """What an answer to a question for histograms says, for people.

    >>> histogram_words('{"age":[[3072,4],[3073,1]]}'), histogram_words('{"age":true}')
    ('counts of the numbers of 1 column in 2 buckets', 'which 1 column holds numbers')
    """
    content = json.loads(text)
    columns = _many(len(content), "column")
    if all(isinstance(found, bool) for found in content.values()):
        return f"which {columns} holds numbers"
    buckets = sum(len(found) for found in content.values())
    return f"counts of the numbers of {columns} in {_many(buckets, 'bucket')}"


def _many(count: int, one: str, more: str = "") -> str:
    return f"{count} {one if count == 1 else more or one + 's'}"


def append(path: str | Path, entry: Disclosure) -> None:
    """Add the entry to the log and force it to disk; raises ResultsError if that fails."""
    line = json.dumps(asdict(entry), ensure_ascii=False).encode("utf-8") + b"\n"
    try:
        with Path(path).open("ab+", buffering=0) as log:
            if log.tell() and _last_byte(log) != b"\n":
                line = b"\n" + line  # an older entry was torn by a crash
            written = log.write(line)
            os.fsync(log.fileno())
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from None
    if written != len(line):
        raise _unwritable(path, "no space left")


def _last_byte(log: FileIO) -> bytes:
    log.seek(-1, os.SEEK_END)
    return log.read(1)


def _unwritable(path: str | Path, reason: str) -> ResultsError:
    return ResultsError(f"the disclosure log {path} cannot be written: {reason}")


def read_log(path: str | Path) -> tuple[Disclosure, ...]:
    """The entries of a log, oldest first.

    Raises
    ------
    ResultsError : the file cannot be read.

    Warns
    -----
    FedbnWarning : a line is no entry; it was torn by a crash, so its message did not leave.
    """
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise ResultsError(f"cannot read the disclosure log {path}: {error.strerror}") from None
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            content = json.loads(line)
            entries.append(Disclosure(**{f.name: content[f.name] for f in fields(Disclosure)}))
        except (ValueError, KeyError, TypeError):
            text = f"{path}: line {number} is no whole entry, so its message did not leave"
            warnings.warn(text, FedbnWarning, stacklevel=2)
    return tuple(entries)
