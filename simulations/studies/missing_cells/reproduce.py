"""The command `fedbn reproduce missing-cells`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from simulations.options import (
    MinutesOfPart,
    OnlyNetworks,
    Quiet,
    RayAddress,
    SmallCases,
    StudyFolder,
)
from simulations.progress import progress_bars, say_start, stages


def reproduce_missing_cells(
    out: StudyFolder,
    seeds: Annotated[
        int | None, typer.Option(min=1, show_default="10", help="Seeds of every case.")
    ] = None,
    network: OnlyNetworks = None,
    rows: Annotated[
        list[int] | None, typer.Option(help="Only cases of so many rows (repeat).")
    ] = None,
    smoke: SmallCases = False,
    minutes: MinutesOfPart = None,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """How far structures of imputed tables are from those of complete ones, and at what cost.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.missing_cells.report import sections
    from simulations.studies.missing_cells.runs import cases, run_case
    from simulations.study import Study, end_line
    from simulations.study_cases import study_settings
    from simulations.study_report import write_study_report

    settings = study_settings(Path(__file__).parent, smoke)
    study = Study(out, ray_address=ray_address)
    with progress_bars(not quiet) as tracker:
        found = study.collect_parts(
            {"missing cells": cases(settings, seeds)},
            run_case,
            tracker,
            networks=network,
            rows=rows,
            minutes=minutes,
        )
    with stages(not quiet) as notify:
        notify("writing the report")
        path = write_study_report(out, "Missing cells", sections(found["missing cells"]))
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)
