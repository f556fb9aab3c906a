"""The log of a site as evidence: numbered lines, each with the hash of the line before.

Every line is one `Disclosure` as JSON, on disk before its message goes. `number` is its place in
the file, `previous` the SHA-256 (hex) of the line before, 64 zeros for the first. So whoever
changes, removes or inserts a line in the middle has to write all later ones anew. The log's head,
NAME.head, has the number and the SHA-256 of the last line: it shows that lines at the end are
missing. A line that a crash has torn stays where it is, and the next line has its hash.

What the chain cannot show: that somebody with the site's rights wrote log and head anew from some
line on, or that both are gone. Who wants to show that keeps the head at another place.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from pathlib import Path

from fedbn import locked_file
from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import FedbnWarning, ResultsError, system_errors_as
from fedbn.federation.disclosure import Content, Disclosure
from fedbn.locked_file import last_byte, open_locked
from fedbn.whole_file import replace_file

START = "0" * 64
"""What the first line has for the hash of the line before."""


@dataclass(frozen=True)
class Log:
    """A log as it was found: its entries, oldest first, and the first line that is not as it was
    written, and why; empty where there is none."""

    entries: tuple[Disclosure, ...]
    broken: str

    def require_whole(self, path: str | Path) -> None:
        """Raise ResultsError, naming the first broken line, if there is one."""
        if self.broken:
            raise ResultsError(f"{path}: {self.broken}")


def log_beside(table: str | Path) -> Path:
    """Where the log of a table is unless the site says otherwise."""
    return Path(table).with_name(f"{Path(table).name}.disclosures.jsonl")


def head_of(path: str | Path) -> Path:
    """Where the number and the hash of a log's last line are."""
    return Path(path).with_name(f"{Path(path).name}.head")


def append(path: str | Path, entry: Disclosure) -> Disclosure:
    """Add the entry to the log and force it to disk; returns it with its place in the chain. Raises
    ResultsError where that fails; then the message must not leave."""
    with _unwritable(path), open_locked(path) as file:
        lines = _lines(_content(path, file))
        before = _sha256(lines[-1]) if lines else START
        placed = replace(entry, number=len(lines) + 1, previous=before)
        line = json.dumps(asdict(placed), ensure_ascii=False).encode("utf-8")
        torn = last_byte(file) not in b"\n"
        data = (b"\n" if torn else b"") + line + b"\n"  # an older entry was torn by a crash
        locked_file.append(file, data)
        head = json.dumps({"number": placed.number, "sha256": _sha256(line)})
        replace_file(head_of(path), head + "\n", mode=0o600)
    return placed


def keep_copy(path: str | Path, entry: Disclosure, content: Content) -> None:
    """Write the message of an entry to NAME.messages/NUMBER.json, its values in base64; raises
    ResultsError where that fails; then the message must not leave."""
    file = Path(path).with_name(f"{Path(path).name}.messages") / f"{entry.number:06}.json"
    values = {
        name: {key: b64encode(value).decode("ascii") for key, value in record.items()}
        for name, record in content.items()
    }
    with _unwritable(file):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(file, json.dumps(values, indent=1) + "\n", mode=0o600)


def read_log(path: str | Path) -> Log:
    """The entries of a log, and whether they are as they were written; raises ResultsError where
    the file cannot be read, or no line of it is an entry.

    Warns of a line that a crash has torn, so that its message did not leave, and where there is no
    head, so that nobody knows whether lines at the end are missing.
    """
    with system_errors_as(ResultsError, f"cannot read the disclosure log {path}"):
        lines = _lines(read_bounded(path))
    found = list(_entries(lines))
    if lines and all(entry is None for _, entry in found):
        raise ResultsError(f"{path} is no disclosure log: line 1 is {lines[0][:40]!r}")
    broken = _broken_link(lines) or _broken_end(path, lines)
    for number, entry in found:
        if entry is None and not broken:
            _warn(f"{path}: line {number} is no whole entry, so its message did not leave")
    return Log(tuple(entry for _, entry in found if entry is not None), broken)


def _broken_link(lines: list[bytes]) -> str:
    """The first line that does not follow from the one before; empty for none."""
    before = START
    for number, entry in _entries(lines):
        if entry is not None and entry.number != number:
            return (
                f"line {number} has the number {entry.number}: lines before it are missing or new"
            )
        if entry is not None and entry.previous != before:
            return f"line {max(number - 1, 1)} was changed after it was written"
        before = _sha256(lines[number - 1])
    return ""


def _broken_end(path: str | Path, lines: list[bytes]) -> str:
    """What the head says against the last lines; empty for nothing."""
    try:
        head = json_value(read_bounded(head_of(path), 1000))
        number, digest = int(head["number"]), str(head["sha256"])
    except FileNotFoundError:
        if lines:
            _warn(f"{path} has no {head_of(path).name}: lines may be missing at its end")
        return ""
    except (OSError, ValueError, KeyError, TypeError):
        return f"{head_of(path).name} is no head of a log"
    if not 1 <= number <= len(lines):
        return f"the lines after line {len(lines)} are missing, up to line {number}"
    if _sha256(lines[number - 1]) != digest:
        return f"line {number} was changed after it was written"
    return ""


def _entries(lines: list[bytes]) -> Iterator[tuple[int, Disclosure | None]]:
    """Number of a line and its entry, None where it is none."""
    for number, line in enumerate(lines, start=1):
        try:
            content = json_value(line)
            entry = Disclosure(**{f.name: content[f.name] for f in fields(Disclosure)})
            datetime.fromisoformat(entry.time)
            yield number, entry
        except (ValueError, KeyError, TypeError):
            yield number, None


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _content(path: str | Path, file: int) -> bytes:
    """What the log holds so far; a device holds nothing."""
    return read_bounded(path) if stat.S_ISREG(os.fstat(file).st_mode) else b""


def _sha256(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _warn(words: str) -> None:
    warnings.warn(words, FedbnWarning, stacklevel=3)


def _unwritable(path: str | Path) -> AbstractContextManager[None]:
    return system_errors_as(ResultsError, f"the disclosure log {path} cannot be written")
