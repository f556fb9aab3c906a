"""The command `fedbn reproduce pooling`."""

from __future__ import annotations

import time
from enum import StrEnum
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

    alike = "alike"
    differing = "differing"
    mixed = "mixed"
    sites = "sites"
    learners = "learners"
    divided = "divided"
    untuned = "untuned"
    everything = "all"


def reproduce_pooling(
    out: StudyFolder,
    part: Annotated[
        Part,
        typer.Option(
            help="Sites alike; sites with parameters of their own (differing); half of the "
            "mechanisms shared (mixed); more and fewer sites; other learners; rows divided by "
            "latent clusters; networks on which nothing was set, beside the best pooled learner "
            "(untuned); or all."
        ),
    ] = Part.everything,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every case.")] = 10,
    network: OnlyNetworks = None,
    rows: Annotated[
        list[int] | None, typer.Option(help="Only cases of so many rows a site (repeat).")
    ] = None,
    smoke: SmallCases = False,
    minutes: MinutesOfPart = None,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """What a federation loses by not pooling: structures alone, counts, a climb, pooled rows.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.pooling.cases import PARTS, cases
    from simulations.studies.pooling.report import sections
    from simulations.studies.pooling.runs import run_case
    from simulations.study import Study, end_line
    from simulations.study_report import write_study_report

    study = Study(out, ray_address=ray_address)
    wanted = {
        name: cases(name, smoke=smoke, seeds=seeds)
        for name in PARTS
        if part in (Part(name), Part.everything)
    }
    with progress_bars(not quiet) as tracker:
        found = study.collect_parts(
            wanted, run_case, tracker, networks=network, rows=rows, minutes=minutes
        )
    with stages(not quiet) as notify:
        notify("writing the report")
        parts = [part for name, some in found.items() if some for part in sections(name, some, out)]
        path = write_study_report(out, "As good as pooling", parts)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)
