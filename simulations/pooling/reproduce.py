"""The command `fedbn reproduce pooling`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from simulations.options import MinutesOfPart, Quiet, StudyFolder


class Part(StrEnum):
    """What is run."""

    alike = "alike"
    differing = "differing"
    mixed = "mixed"
    sites = "sites"
    learners = "learners"
    divided = "divided"
    everything = "all"


def reproduce_pooling(
    out: StudyFolder,
    part: Annotated[
        Part,
        typer.Option(
            help="Sites alike; sites with parameters of their own (differing); half of the "
            "mechanisms shared (mixed); more and fewer sites; other learners; rows divided by "
            "latent clusters; or all."
        ),
    ] = Part.everything,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds of every case.")] = 10,
    network: Annotated[
        list[str] | None, typer.Option(help="Only cases of this network (repeat for several).")
    ] = None,
    rows: Annotated[
        list[int] | None, typer.Option(help="Only cases of so many rows a site (repeat).")
    ] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="Small cases, one seed.")] = False,
    minutes: MinutesOfPart = None,
    quiet: Quiet = False,
) -> None:
    """What a federation loses by not pooling: structures alone, counts, a climb, pooled rows.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    from simulations.pooling.cases import PARTS, cases
    from simulations.pooling.report import sections
    from simulations.pooling.runs import run_case
    from simulations.progress import progress_bars
    from simulations.study import Section, Study, show_on, write_study_report

    study = Study(out)
    found: list[Section] = []
    with progress_bars(not quiet) as tracker:
        for name in PARTS:
            if part in (Part(name), Part.everything):
                wanted = [
                    case
                    for case in cases(name, smoke=smoke, seeds=seeds)
                    if (not network or case["network"] in network)
                    and (not rows or case["rows"] in rows)
                ]
                found_rows = study.collect(
                    wanted,
                    run_case,
                    show_on(tracker(name)),
                    seconds=None if minutes is None else 60 * minutes,
                )
                if found_rows:
                    found += sections(name, found_rows, out)
    path = write_study_report(out, "As good as pooling", found)
    typer.echo(f"report: {path}", err=True)
