"""Rows of a race: one JSON object a line, so that a race that was ended goes on where it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value

Row = dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The rows of a file; none where there is no file."""
    if not path.is_file():
        return []
    return [json_value(line.encode()) for line in path.read_text().splitlines()]


def run_race(
    cases: Iterable[Mapping[str, Any]],
    run: Callable[[Mapping[str, Any]], Iterable[Mapping[str, Any]]],
    path: Path,
    minutes: float | None,
) -> list[Row]:
    """The rows of all cases; a case that has rows is not run again, and none begins after
    `minutes` of CPU time."""
    rows = read_rows(path)
    done = {_key(row["case"]) for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    began = time.process_time()
    for case in cases:
        if _key(case) in done:
            continue
        if minutes is not None and time.process_time() - began > 60 * minutes:
            print(f"not run: {dict(case)}", flush=True)
            continue
        started = time.process_time()
        found = [{"case": dict(case), **each} for each in run(case)]
        print(f"{dict(case)}: {time.process_time() - started:.1f} CPU s", flush=True)
        with path.open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in found)
        rows.extend(found)
    return rows


def mean_of(rows: Iterable[Row], key: str) -> float:
    """The mean of a key over rows; nan without any."""
    values = [float(row[key]) for row in rows]
    return sum(values) / len(values) if values else float("nan")


def write_table(heads: Iterable[str], lines: Iterable[Iterable[Any]]) -> None:
    """Print a table of Markdown."""
    heads = list(heads)
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for line in lines:
        print(f"| {' | '.join(map(str, line))} |")


def _key(case: Mapping[str, Any]) -> str:
    return json.dumps(case, sort_keys=True)
