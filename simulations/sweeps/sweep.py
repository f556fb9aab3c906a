"""`fedbn sweep`: the cases of a file, each once, in processes, into one table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbn.errors import ConfigError
from fedbn.wording import count_of
from simulations.options import Json, Minutes, with_quiet

__all__ = ["sweep"]


@with_quiet
def sweep(
    plan: Annotated[Path, typer.Argument(help="A TOML file: settings, [grid], [[case]].")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", show_default="results/NAME", help="Folder of the results."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Cases that run at the same time.")] = 1,
    minutes: Minutes = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print the cases and their hashes, and run none.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Simulate every case of a grid or list of settings, each once, and make one table of all.

    A case is known by the hash of its settings and files, so a sweep that was stopped, or whose
    grid has grown, runs only what is new. results.csv and results.parquet have a row for each case:
    fedbn.read_results reads them. Exit status 1 if a case failed; it is tried again next time.
    """
    from simulations.sweeps.plan import read_plan

    cases = read_plan(plan)
    if list_only:
        _list(cases, as_json)
        return
    folder = out or Path("results") / plan.name.split(".")[0]
    began = time.monotonic()
    rows, n_run = _run(cases, folder, jobs, None if minutes is None else 60 * minutes, not as_json)
    failed = [row for row in rows if row["error"] is not None]
    _tell(folder, len(cases), rows, n_run, failed, time.monotonic() - began, as_json)
    if failed:
        raise ConfigError(
            f"{count_of(len(failed), 'case')} of {len(cases)} failed; the first, "
            f"{failed[0]['case'][:12]}: {failed[0]['error']}"
        )


def _run(
    cases: Sequence[Any], folder: Path, jobs: int, seconds: float | None, visible: bool
) -> tuple[list[dict[str, Any]], int]:
    """The rows of all cases that there was time for, and how many were run for it."""
    from simulations.progress import progress_bars
    from simulations.study import Study, show_on
    from simulations.sweeps.results import CASE, RunCase, tidy_rows, write_tables

    study = Study(folder)
    with progress_bars(visible) as tracker:
        rows = study.collect(
            [{CASE: case.digest} for case in cases],
            RunCase.of(cases),
            show_on(tracker("cases")),
            again=lambda row: row["error"] is not None,
            jobs=jobs,
            seconds=seconds,
        )
    tidy = tidy_rows(cases, rows)
    if tidy:
        write_tables(folder, tidy)
    return tidy, study.n_run


def _list(cases: Sequence[Any], as_json: bool) -> None:
    from simulations.terminal import print_json

    if as_json:
        print_json({"cases": [{"case": c.digest, "settings": dict(c.varied)} for c in cases]})
        return
    for case in cases:
        words = " ".join(f"{key}={value}" for key, value in case.varied.items())
        print(f"{case.digest[:12]}  {words}")


def _tell(
    folder: Path,
    total: int,
    rows: Sequence[dict[str, Any]],
    n_run: int,
    failed: Sequence[dict[str, Any]],
    wall: float,
    as_json: bool,
) -> None:
    from simulations.terminal import print_json

    table = folder / "results.parquet"
    if as_json:
        print_json(
            {
                "cases": total,
                "done": len(rows),
                "run": n_run,
                "failed": len(failed),
                "results": str(table),
                "seconds": wall,
            }
        )
        return
    left = total - len(rows)
    more = f", {left} left" if left else ""
    print(f"{table}: {count_of(len(rows), 'case')}, {n_run} run now in {wall:.1f} s{more}")
