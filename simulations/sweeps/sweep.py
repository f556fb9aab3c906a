"""`fedbn sweep`: the cases of a file, each once, in processes, into one table."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.errors import ConfigError
from fedbn.wording import count_of
from simulations.options import Json, Minutes, RayAddress, with_quiet
from simulations.progress import progress_bars

if TYPE_CHECKING:
    from simulations.sweeps.slurm import Share


@with_quiet
def sweep(
    plan: Annotated[Path, typer.Argument(help=r"A TOML file: settings, \[grid], \[\[case]].")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", show_default="results/NAME", help="Folder of the results."),
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of cases that run at the same time.")
    ] = 1,
    minutes: Minutes = None,
    ray_address: RayAddress = None,
    slurm: Annotated[
        Path | None,
        typer.Option(
            help="Write an array job for SLURM to this file, for sbatch, and run nothing."
        ),
    ] = None,
    slurm_tasks: Annotated[
        int | None,
        typer.Option(
            min=1, show_default="a case each, at most 100", help="Number of tasks in the array."
        ),
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Run only every N-th case, starting with the K-th "
            "(counted from 0); write no table.",
        ),
    ] = None,
    list_only: Annotated[
        bool, typer.Option("--list", help="Print the cases and their hashes, and run none.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Simulate every case of a grid or list of settings once, into one table.

    A case is identified by the hash of its settings and files, so after an interruption, or when
    the grid has grown, only the cases without a row are run. results.csv and results.parquet have
    a row for each case; fedbn.read_results reads them. The exit status is 1 if a case failed; the
    next run tries that case again.
    """
    from simulations.sweeps.plan import read_plan
    from simulations.sweeps.slurm import Share

    _check_places(jobs, ray_address, slurm, slurm_tasks, share)
    cases = read_plan(plan)
    folder = out or Path("results") / plan.name.split(".")[0]
    if list_only:
        _list(cases, as_json)
        return
    if slurm is not None:
        _write_slurm(slurm, plan, folder, slurm_tasks or min(len(cases), 100), as_json)
        return
    began = time.monotonic()
    part = None if share is None else Share.read(share)
    cases = cases if part is None else tuple(part.of(cases))
    seconds = None if minutes is None else 60 * minutes
    rows, n_run = _run(cases, folder, jobs, seconds, not as_json, ray_address, part)
    failed = [row for row in rows if row["error"] is not None]
    wall = time.monotonic() - began
    _tell(folder, len(cases), rows, n_run, failed, wall, as_json, part)
    if failed:
        raise ConfigError(
            f"{count_of(len(failed), 'case')} of {len(cases)} failed; the first, "
            f"{failed[0]['case'][:12]}: {failed[0]['error']}"
        )


def _check_places(
    jobs: int,
    ray_address: str | None,
    slurm: Path | None,
    slurm_tasks: int | None,
    share: str | None,
) -> None:
    """Refuse options that say two places."""
    if jobs > 1 and ray_address is not None:
        raise ConfigError("--jobs is for this machine; a Ray cluster uses each of its CPUs")
    if slurm is not None and (share is not None or ray_address is not None):
        raise ConfigError("--slurm only writes a script: it goes with neither --share nor Ray")
    if slurm_tasks is not None and slurm is None:
        raise ConfigError("--slurm-tasks is for --slurm FILE")


def _write_slurm(script: Path, plan: Path, folder: Path, tasks: int, as_json: bool) -> None:
    from simulations.sweeps.slurm import array_script, write_script
    from simulations.terminal import print_json

    command = str(Path(sys.argv[0]).resolve())
    write_script(script, array_script(plan, folder, tasks, command))
    if as_json:
        print_json({"script": str(script), "tasks": tasks})
    else:
        print(f"{script}: {count_of(tasks, 'task')}; submit it with: sbatch {script}")


def _run(
    cases: Sequence[Any],
    folder: Path,
    jobs: int,
    seconds: float | None,
    visible: bool,
    ray_address: str | None,
    share: Share | None,
) -> tuple[list[dict[str, Any]], int]:
    """The rows of all cases that there was time for, and how many were run for it."""
    from simulations.study import Study, show_on
    from simulations.sweeps.results import CASE, RunCase, tidy_rows, write_tables

    study = Study(folder, ray_address=ray_address)
    if share is None:
        study.adopt(Study(folder, file.name) for file in sorted(folder.glob("rows-*.jsonl")))
    else:
        own = Study(folder, share.file)
        own.adopt([study])
        study = own
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
    if tidy and share is None:
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
    share: Share | None,
) -> None:
    from simulations.terminal import print_json

    table = folder / ("results.parquet" if share is None else share.file)
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
