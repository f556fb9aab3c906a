"""The command `fedbn reproduce strengths`."""

from __future__ import annotations

import time
from enum import StrEnum
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


class Part(StrEnum):
    """What is run."""

    tuning = "tuning"
    shown = "shown"
    everything = "all"


def reproduce_strengths(
    out: StudyFolder,
    part: Annotated[
        Part,
        typer.Option(
            help="Networks to which the constants were fitted; networks that were not used; both."
        ),
    ] = Part.everything,
    seeds: Annotated[
        int | None, typer.Option(min=1, show_default="3", help="Seeds of every case.")
    ] = None,
    network: OnlyNetworks = None,
    rows: Annotated[
        list[int] | None, typer.Option(help="Only cases of so many rows a site (repeat).")
    ] = None,
    smoke: SmallCases = False,
    minutes: MinutesOfPart = None,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """Of edges that are said to be 80 % sure, how many are true.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.strengths.cases import PARTS, cases
    from simulations.studies.strengths.report import sections
    from simulations.studies.strengths.runs import run_case
    from simulations.study import Study, end_line
    from simulations.study_cases import study_settings
    from simulations.study_report import write_study_report

    settings = study_settings(Path(__file__).parent, smoke)
    study = Study(out, ray_address=ray_address)
    wanted = {
        name: cases(name, settings, seeds)
        for name in PARTS
        if part in (Part(name), Part.everything)
    }
    with progress_bars(not quiet) as tracker:
        found = study.collect_parts(
            wanted, run_case, tracker, networks=network, rows=rows, minutes=minutes
        )
    with stages(not quiet) as notify:
        notify("writing the report")
        parts = [
            section for name, some in found.items() if some for section in sections(name, some)
        ]
        path = write_study_report(out, "Strengths of edges", parts)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)
