"""A long study: one JSON line per case, written as soon as the case is done, and a report.

A study is a list of cases, each a flat mapping that says everything its result depends on (table,
size, seed, method). `rows.jsonl` in the study's folder holds case and result together, with CPU
seconds, versions and machine; a study that is started again computes only the cases that have no
line yet.

    study = Study(folder)
    rows = study.collect(cases, run_case, progress, jobs=2)
    write_study_report(folder, "Title", [Section("Table 1", "What it shows.", rows_of_table)])
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from warnings import warn

from fedbn.errors import FedbnWarning, ResultsError, system_errors_as
from fedbn.wording import count_of
from simulations.progress import Count
from simulations.study_cases import Case, Cost, Row, Run, Tick, run_cases

Progress = Callable[[Tick], None]


class Study:
    """The lines of a study, in its folder.

    Parameters
    ----------
    folder : made if it is not there.
    name : of the file of rows.
    ray_address : of a Ray cluster that runs the cases; None: this machine does.

    Attributes
    ----------
    n_run, cpu_seconds : cases that this object has run, and what they took.

    Raises
    ------
    ResultsError : the folder cannot be written, or a line of its rows is not a JSON object
        (only the last line may be cut off: it is dropped with a warning, and computed again).
    """

    def __init__(
        self, folder: Path, name: str = "rows.jsonl", *, ray_address: str | None = None
    ) -> None:
        self.path = folder / name
        self._ray_address = ray_address
        self.n_run, self.cpu_seconds = 0, 0.0
        if folder.exists() and not folder.is_dir():
            raise ResultsError(f"the study's folder must be a folder: {folder} is a file")
        with system_errors_as(ResultsError, f"the study's folder must be writable: {folder}"):
            folder.mkdir(parents=True, exist_ok=True)
            self._rows = _read_rows(self.path)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All lines so far, in the order of their writing."""
        return tuple(self._rows)

    def collect(
        self,
        cases: Iterable[Case],
        run: Run,
        progress: Progress | None = None,
        again: Callable[[Row], bool] = lambda row: False,
        *,
        jobs: int = 1,
        cost: Cost | None = None,
        seconds: float | None = None,
    ) -> list[Row]:
        """The rows of these cases in their order; cases without a line are run and written.

        Parameters
        ----------
        run : gets a case and gives its result, whose keys are not among those of the case.
        progress : called before the first case and after each.
        again : of a row: whether its case is run again. Of several lines the last counts.
        jobs, cost, seconds : see `run_cases`; this process alone writes. With `seconds` the answer
            lacks the rows of the cases for which there was no time.
        """
        wanted = [dict(case) for case in cases]
        found = {place: self._row_of(case) for place, case in enumerate(wanted)}
        missing = [place for place, row in found.items() if row is None or again(row)]
        tell = progress or (lambda tick: None)
        tell(Tick(len(wanted) - len(missing), len(wanted)))
        cases_left = [wanted[place] for place in missing]
        ending = run_cases(cases_left, run, jobs, cost, seconds, self._ray_address)
        for done, (k, row, left) in enumerate(ending, start=1):
            self._append(row)
            found[missing[k]] = row
            tell(Tick(len(wanted) - len(missing) + done, len(wanted), left))
        return [row for row in found.values() if row is not None]

    def adopt(self, others: Iterable[Study]) -> None:
        """Append the rows of other studies that this one lacks, as they are."""
        own = {json.dumps(row, sort_keys=True) for row in self._rows}
        for row in (row for other in others for row in other.rows):
            text = json.dumps(row, sort_keys=True)
            if text not in own:
                own.add(text)
                self._write(row)

    def _row_of(self, case: Row) -> Row | None:
        plain = json.loads(json.dumps(case))
        for row in reversed(self._rows):
            if all(key in row and row[key] == value for key, value in plain.items()):
                return row
        return None

    def _append(self, row: Row) -> None:
        self._write(row)
        self.n_run += 1
        self.cpu_seconds += row["cpu_seconds"]

    def _write(self, row: Row) -> None:
        unwritable = system_errors_as(ResultsError, f"{self.path} cannot be written")
        with unwritable, self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._rows.append(json.loads(json.dumps(row)))


def show_on(bar: Count) -> Progress:
    """A bar of done, total and seconds left as a study's progress."""

    def tell(tick: Tick) -> None:
        bar(tick.done, tick.total, math.inf if tick.seconds_left is None else tick.seconds_left)

    return tell


def end_line(report: Path, wall: float, *studies: Study) -> str:
    """Where the report is, and what this call took: CPU seconds of its cases, and by the clock."""
    n_run = sum(study.n_run for study in studies)
    spent = sum(study.cpu_seconds for study in studies)
    took = f"{count_of(n_run, 'case')} run in {spent:.1f} s (CPU), {wall:.1f} s in all by the clock"
    return f"report: {report}; {took}"


def _read_rows(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with system_errors_as(ResultsError, f"{path} cannot be read"):
        text = path.read_text(encoding="utf-8")
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
