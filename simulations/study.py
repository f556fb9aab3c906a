"""A long study: one JSON line per case, written as soon as the case is done, and a report.

A study is a list of cases, each a flat mapping that says everything its result depends on (table,
size, seed, method). `rows.jsonl` in the study's folder holds case and result together; a study that
is started again computes only the cases that have no line yet.

    study = Study(folder)
    rows = study.collect(cases, run_case, progress)
    write_study_report(folder, "Title", [Section("Table 1", "What it shows.", rows_of_table)])
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from warnings import warn

from fedbn.errors import FedbnWarning, ResultsError

Case = Mapping[str, Any]
Row = dict[str, Any]
Progress = Callable[[int, int], None]

__all__ = ["Section", "Study", "write_study_report"]


class Study:
    """The lines of a study, in its folder.

    Parameters
    ----------
    folder : made if it is not there.

    Raises
    ------
    ResultsError : the folder cannot be written, or a line of its rows.jsonl is not a JSON object
        (only the last line may be cut off: it is dropped with a warning, and computed again).
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "rows.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._rows = _read_rows(self.path)
        except OSError as error:
            raise ResultsError(f"the study's folder must be writable: {folder}: {error}") from error

    @property
    def rows(self) -> tuple[Row, ...]:
        """All lines so far, in the order of their writing."""
        return tuple(self._rows)

    def collect(
        self,
        cases: Iterable[Case],
        run: Callable[[Case], Mapping[str, Any]],
        progress: Progress | None = None,
        again: Callable[[Row], bool] = lambda row: False,
    ) -> list[Row]:
        """The rows of these cases in their order; cases without a line are run and written.

        `run` gets the case and gives its result, whose keys are not among those of the case. A case
        is also run where `again` says so of its row; of several lines of a case the last counts.
        """
        wanted = [dict(case) for case in cases]
        found = []
        for done, case in enumerate(wanted):
            if progress is not None:
                progress(done, len(wanted))
            row = self._row_of(case)
            if row is None or again(row):
                row = case | dict(run(case))
                self._append(row)
            found.append(row)
        if progress is not None:
            progress(len(wanted), len(wanted))
        return found

    def _row_of(self, case: Row) -> Row | None:
        plain = json.loads(json.dumps(case))
        for row in reversed(self._rows):
            if all(key in row and row[key] == value for key, value in plain.items()):
                return row
        return None

    def _append(self, row: Row) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ResultsError(f"{self.path} cannot be written: {error}") from error
        self._rows.append(json.loads(json.dumps(row)))


def _read_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"{path} cannot be read: {error}") from error
    whole, _, rest = text.rpartition("\n")
    if rest:
        warn(f"{path}: the last line was cut off and is computed again", FedbnWarning, stacklevel=2)
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    rows = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise ResultsError(f"{path}, line {number}: must be a JSON object: {error}") from error
        if not isinstance(row, dict):
            raise ResultsError(f"{path}, line {number}: must be a JSON object, is {line[:60]!r}")
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Section:
    """One part of a report: words, a table (header and rows), figures (files in the folder)."""

    title: str
    text: str = ""
    header: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()
    figures: Sequence[str] = ()


def write_study_report(folder: Path, title: str, sections: Sequence[Section]) -> Path:
    """Write `report.md` into the study's folder, whole or not at all, and return its path.

    Raises
    ------
    ResultsError : the folder cannot be written.
    """
    lines = [f"# {title}", ""]
    for section in sections:
        lines += [f"## {section.title}", "", *([section.text, ""] if section.text else [])]
        if section.header:
            lines += [_line(section.header), _line(["---"] * len(section.header))]
            lines += [*(_line([_cell(value) for value in row]) for row in section.rows), ""]
        for figure in section.figures:
            lines += [f"![{section.title}]({figure})", ""]
    path, beside = folder / "report.md", folder / ".report.md.new"
    try:
        beside.write_text("\n".join(lines), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise ResultsError(f"{path} cannot be written: {error}") from error
    return path


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _cell(value: object) -> str:
    """A value for a reader: four significant digits or two decimals, "-" for what is not known."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
