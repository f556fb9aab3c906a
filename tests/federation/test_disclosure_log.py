"""The log of what left a site: a chain of lines, and what it shows when somebody touches it."""

from __future__ import annotations

import json
import stat
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fedbn.errors import FedbnWarning, ResultsError
from fedbn.federation.disclosure import Content, Disclosure
from fedbn.federation.disclosure_log import (
    append,
    head_of,
    keep_copy,
    read_log,
)

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
CONTENT: Content = {"structures": {"header": b"12", "edges": b"345"}}


def entry(words: str = "1 DAG with 2 arcs over 3 variables", **more: object) -> Disclosure:
    plain = Disclosure.of(CONTENT, NOON, run="7", round=1, kind="train", words=words)
    return replace(plain, **more)  # type: ignore[arg-type]


def written(folder: Path, count: int = 4) -> Path:
    log = folder / "log.jsonl"
    for number in range(count):
        append(log, entry(f"entry {number}"))
    return log


def test_entries_come_back_in_order_with_their_place(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    entries = [entry("é"), entry("two\nlines", weights=(1.0, 0.5)), entry(states={"a": ["x"]})]
    placed = [append(log, each) for each in entries]
    found = read_log(log)
    assert (found.entries, found.broken) == (tuple(placed), "")
    assert [each.number for each in placed] == [1, 2, 3]
    assert [replace(each, number=0, previous="") for each in placed] == entries
    assert len(log.read_text().splitlines()) == 3


def test_only_the_owner_reads_it(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("")
    log.chmod(0o644)
    append(log, entry())
    keep_copy(log, append(log, entry()), CONTENT)
    copy = tmp_path / "log.jsonl.messages" / "000002.json"
    assert b64decode(json.loads(copy.read_text())["structures"]["edges"]) == b"345"
    for file in (log, head_of(log), copy):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_torn_line_is_left_out_and_the_next_entry_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    append(log, entry())
    head_of(log).unlink()
    log.write_bytes(log.read_bytes()[:-20])
    after = append(log, entry("after the crash"))
    with pytest.warns(FedbnWarning, match="line 1 is no whole entry"):
        found = read_log(log)
    assert (found.entries, found.broken) == ((after,), "")


def line(number: int) -> str:
    return f"line {number} was changed after it was written"


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_changed_line_is_named(tmp_path: Path, number: int) -> None:
    log = written(tmp_path)
    lines = log.read_text().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace('"bytes": 5', '"bytes": 4')
    log.write_text("".join(lines))
    assert read_log(log).broken == line(number)


def test_missing_inserted_and_exchanged_lines_are_named(tmp_path: Path) -> None:
    log = written(tmp_path)
    one, two, three, four = log.read_text().splitlines(keepends=True)
    for lines, words in [
        ((one, three, four), "line 2 has the number 3"),
        ((two, three, four), "line 1 has the number 2"),
        ((one, one, two, three, four), "line 2 has the number 1"),
        ((one, three, two, four), "line 2 has the number 3"),
        ((one, two, three), "the lines after line 3 are missing, up to line 4"),
        ((), "the lines after line 0 are missing, up to line 4"),
        ((one, "no entry\n", three, four), line(2)),
    ]:
        log.write_text("".join(lines))
        assert read_log(log).broken.startswith(words)


def test_without_its_head_a_log_says_that_its_end_may_be_missing(tmp_path: Path) -> None:
    log = written(tmp_path)
    head_of(log).unlink()
    with pytest.warns(FedbnWarning, match="lines may be missing at its end"):
        assert read_log(log).broken == ""
    head_of(log).write_text("{}")
    assert read_log(log).broken == "log.jsonl.head is no head of a log"


def test_a_crash_between_log_and_head_breaks_nothing(tmp_path: Path) -> None:
    log = written(tmp_path, 2)
    before = head_of(log).read_bytes()
    append(log, entry())
    head_of(log).write_bytes(before)
    assert read_log(log).broken == ""


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "table.csv"
    other.write_text("a,b\n" + "1,2\n" * 100)
    with pytest.raises(ResultsError, match="is no disclosure log: line 1"):
        read_log(other)


def test_what_cannot_be_written_or_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be written"):
        append(tmp_path / "nowhere" / "log.jsonl", entry())
    with pytest.raises(ResultsError, match="No space left"):
        append("/dev/full", entry())
    with pytest.raises(ResultsError, match="cannot read"):
        read_log(tmp_path / "nowhere.jsonl")
