"""`fedbn reproduce mcbnc`: the paper's study beside ours, resumable."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulations.options import Minutes, NetworkDir, Quiet, RayAddress, require_known
from simulations.progress import progress_bars, say_start, stages
from simulations.study import Study, end_line, show_on

if TYPE_CHECKING:
    from simulations.study_cases import Row

ROWS = "rows.jsonl"
PARTS = {
    "rivals": "other fusions of the same inputs",
    "grid": "15 networks, 5 to 100 inputs",
    "k-max": "values of --k-max",
    "runtime": "CPU seconds of each fusion",
    "synthetic": "random DAGs, appendix B",
    "robust": "hostile inputs",
    "non-iid": "sites whose rows differ",
    "sizes": "tables of different sizes",
    "learners": "other learners than GES",
    "rows": "fewer and more rows",
}


def reproduce_mcbnc(
    out: Annotated[Path, typer.Option(help="The study's folder.")] = Path("results/mcbnc"),
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Only three networks, which takes minutes.")
    ] = False,
    part: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this part; may be repeated. "
            f"{'; '.join(f'{name}: {what}' for name, what in PARTS.items())}."
        ),
    ] = None,
    network: Annotated[
        list[str] | None, typer.Option(help="Only this network; may be repeated.")
    ] = None,
    r: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Only cases of this many inputs; may be repeated."),
    ] = None,
    repetitions: Annotated[
        int | None, typer.Option(min=1, show_default="10", help="grid: repetitions of a cell.")
    ] = None,
    minutes: Minutes = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, show_default="cores", help="Number of processes.")
    ] = None,
    network_dir: NetworkDir = None,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """Repeat the MCBNC paper: its grid of 15 networks, figures, tables and claims.

    Further parts are beyond the paper: sites that differ, hostile inputs, other learners.

    The inputs are learned once (inputs.jsonl). Each case is one line of rows.jsonl; an interrupted
    study continues where it was. report.md and report.html have the cases that have ended so far.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.mcbnc_aaai26.cases import cases, settings

    run = settings(smoke)
    require_known("--part", part, PARTS)
    if repetitions is not None:
        run["grid"]["repetitions"] = repetitions
    if network is not None:
        _restrict(run, "networks", network)
    wanted = [
        case
        for case in cases(run)
        if (not part or case["part"] in part) and (not r or case.get("r", r[0]) in r)
    ]
    jobs = jobs or os.cpu_count() or 1
    studies = collect_rows(wanted, run, out, minutes, jobs, network_dir, ray_address, quiet)
    with stages(not quiet) as notify:
        notify("writing the report")
        path = _write_report(out, wanted)
    typer.echo(end_line(path, time.monotonic() - began, *studies), err=True)


def _restrict(run: dict[str, Any], key: str, names: list[str]) -> None:
    """Only these networks, wherever there are some."""
    parts = [values for values in run.values() if isinstance(values, dict) and key in values]
    require_known("--network", names, list(dict.fromkeys(n for p in parts for n in p[key])))
    for values in parts:
        values[key] = [name for name in values[key] if name in names]


def collect_rows(
    wanted: list[dict[str, Any]],
    run: dict[str, Any],
    out: Path,
    minutes: float | None,
    jobs: int,
    network_dir: Path | None,
    ray_address: str | None,
    quiet: bool,
) -> list[Study]:
    """Run what is missing: the inputs, then the cases that have all of theirs."""
    from simulations.studies.mcbnc_aaai26.cases import cost, inputs_of, run_case
    from simulations.studies.mcbnc_aaai26.inputs import FILE

    studies: list[Study] = []
    end = None if minutes is None else time.monotonic() + 60.0 * minutes
    one = partial(run_case, folder=out, run=run, network_dir=network_dir)

    def collect(name: str, some: list[dict[str, Any]]) -> list[Row]:
        left = None if end is None else max(0.0, end - time.monotonic())
        studies.append(Study(out, name, ray_address=ray_address))
        with progress_bars(not quiet) as tracker:
            tell = show_on(tracker(name.partition(".")[0]))
            return studies[-1].collect(
                some, one, tell, is_cut_short, jobs=jobs, cost=cost, seconds=left
            )

    learned = {_place(row) for row in collect(FILE, inputs_of(wanted))}
    collect(ROWS, [case for case in wanted if learned >= {*map(_place, inputs_of([case]))}])
    return studies


def is_cut_short(row: Row) -> bool:
    """Whether a path ended by its limit: the row counts as missing, and is run again."""
    return bool(row.get("status", "complete") != "complete")


def _place(case: Mapping[str, Any]) -> tuple[Any, ...]:
    return case["network"], case["rows"], case["seed"], case["k"]


def _write_report(out: Path, wanted: list[dict[str, Any]]) -> Path:
    """report.md, report.html, curves.csv and the figures."""
    import csv

    from simulations.studies.mcbnc_aaai26.figures import write_figures
    from simulations.studies.mcbnc_aaai26.report import curves, golden, sections
    from simulations.studies.mcbnc_aaai26.selection import cells_of, latest
    from simulations.study_report import write_study_report

    rows = [row for row in latest(Study(out, ROWS).rows) if not is_cut_short(row)]
    order = list(golden()["table 1"])[1:]
    names = write_figures(rows, order, out, "refusion")
    with (out / "curves.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(curves(cells_of(rows, order)))
    parts = sections(rows, wanted, names)
    title = "MCBNC: the paper's study and ours"
    return write_study_report(out, title, parts)
