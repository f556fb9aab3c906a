"""`fedbn reproduce cg-dca`: the paper's tables beside ours, resumable."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import warn

import typer

from fedbn.errors import FedbnWarning
from simulations.options import Minutes, Quiet, RayAddress, require_known
from simulations.progress import progress_bars, say_start, stages
from simulations.study import Study, end_line, show_on

if TYPE_CHECKING:
    from simulations.studies.cg_dca.cases import Settings

PARTS = ("gaussian.test", "gaussian", "discrete", "federated")


def reproduce_cg_dca(
    out: Annotated[Path, typer.Option(help="The study's folder.")] = Path("results/cg-dca"),
    smoke: Annotated[bool, typer.Option("--smoke", help="Small instances only: minutes.")] = False,
    part: Annotated[
        list[str] | None, typer.Option(help=f"Only {', '.join(PARTS)}; may be repeated.")
    ] = None,
    variables: Annotated[
        list[int] | None,
        typer.Option(
            min=2, help="Part gaussian: only this number of variables (n); may be repeated."
        ),
    ] = None,
    rows: Annotated[
        list[int] | None,
        typer.Option(min=2, help="Part gaussian: only this number of rows (N); may be repeated."),
    ] = None,
    density: Annotated[
        list[float] | None,
        typer.Option(
            min=0.0,
            help="Part gaussian: only this density (d, edges per variable); may be repeated.",
        ),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(
            min=1, show_default="10", help="Part gaussian: number of instances of each setting."
        ),
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="Only this method; may be repeated.")
    ] = None,
    minutes: Minutes = None,
    network_dir: Annotated[
        Path | None, typer.Option(help="Folder with networks that are not embedded (lucas).")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """Repeat the CG-DCA paper: section 5.1, Tables 1 to 8, start points and pricings.

    The part federated is beyond the paper: consensuses of what CG-DCA and other learners find at
    sites. Each case is one line of rows.jsonl; an interrupted study continues where it was. The
    report has the cases that have ended so far.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.cg_dca.cases import METHODS, settings

    run = settings(smoke)
    require_known("--part", part, PARTS)
    require_known("--method", method, (*METHODS, *run["federated"]["learners"]))
    limits = {
        "variables": variables, "rows": rows, "densities": density, "instances": instances,
    }  # fmt: skip
    run["gaussian"] |= {key: value for key, value in limits.items() if value}
    study = Study(out, ray_address=ray_address)
    wanted = _wanted_cases(run, network_dir, part, method)
    with progress_bars(not quiet) as tracker:
        study.collect(
            wanted,
            partial(_result, run=run, network_dir=network_dir),
            show_on(tracker("cases")),
            seconds=None if minutes is None else 60.0 * minutes,
            jobs=jobs,
        )
    with stages(not quiet) as notify:
        notify("writing the report")
        path = _write_report(study, out)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)


def _wanted_cases(
    run: Settings, network_dir: Path | None, parts: list[str] | None, methods: list[str] | None
) -> list[dict[str, Any]]:
    """The cases of these parts and methods; warns of tables whose network is not there."""
    from simulations.studies.cg_dca.cases import cases, missing_networks
    from simulations.studies.cg_dca.federated import federated_cases

    missing = missing_networks(run, network_dir) if not parts or "discrete" in parts else []
    if missing:
        text = f"passed over, as --network-dir does not hold their networks: {', '.join(missing)}"
        warn(text, FedbnWarning, stacklevel=2)
    return [
        case
        for case in (*cases(run, network_dir), *federated_cases(run))
        if (not parts or case["part"] in parts)
        and (not methods or case.get("method", case.get("learner")) in methods)
    ]


def _result(case: Mapping[str, Any], run: Settings, network_dir: Path | None) -> Mapping[str, Any]:
    from simulations.studies.cg_dca.cases import run_case
    from simulations.studies.cg_dca.federated import run_federated

    if case["part"] == "federated":
        return run_federated(case)
    return run_case(dict(case), run, network_dir)


def _write_report(study: Study, out: Path) -> Path:
    from simulations.studies.cg_dca.figures import write_figures
    from simulations.studies.cg_dca.report import sections
    from simulations.studies.cg_dca.selection import latest
    from simulations.study_report import write_study_report

    rows = latest(study.rows)
    names = write_figures(rows, out)
    title = "CG-DCA: the paper's tables and ours"
    return write_study_report(out, title, sections(rows, names))
