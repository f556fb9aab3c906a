"""The command `fedbn reproduce privacy`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simulations.options import MinutesOfPart, Quiet, RayAddress, StudyFolder
from simulations.progress import progress_bars, say_start, stages

if TYPE_CHECKING:
    from simulations.study import Row
    from simulations.study_cases import Case, Run
    from simulations.study_report import Section


class Part(StrEnum):
    """What is run."""

    utility = "utility"
    sums = "sums"
    attacks = "attacks"
    audit = "audit"
    everything = "all"


def reproduce_privacy(
    out: StudyFolder,
    part: Annotated[
        Part, typer.Option(help="What privacy costs, secure sums, attacks, audits, or all.")
    ] = Part.everything,
    smoke: Annotated[bool, typer.Option("--smoke", help="A small version, in minutes.")] = False,
    minutes: MinutesOfPart = None,
    ray_address: RayAddress = None,
    quiet: Quiet = False,
) -> None:
    """Privacy of structures: what it costs, what leaks without it, which claims hold.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.privacy.cases import settings
    from simulations.study import Study, end_line, show_on
    from simulations.study_report import write_study_report

    study, run = Study(out, ray_address=ray_address), settings(smoke)
    found: list[tuple[Callable[[Sequence[Row]], list[Section]], list[Row]]] = []
    with progress_bars(not quiet) as tracker:
        for name, cases, run_case, report in _parts(run, out):
            if part in (name, Part.everything):
                rows = study.collect(
                    cases,
                    run_case,
                    show_on(tracker(name)),
                    seconds=None if minutes is None else 60 * minutes,
                )
                found.append((report, rows))
    with stages(not quiet) as notify:
        notify("writing the report")
        parts = [section for report, rows in found for section in report(rows)]
        path = write_study_report(out, "Privacy of structures", parts)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)


def _parts(
    run: Mapping[str, Any], out: Path
) -> list[tuple[Part, list[Case], Run, Callable[[Sequence[Row]], list[Section]]]]:
    """Name, cases, what runs a case, and the sections made of the rows."""
    from simulations.studies.privacy.audits import run_audit
    from simulations.studies.privacy.cases import audit_cases, leak_cases, sum_cases, utility_cases
    from simulations.studies.privacy.leaks import run_leaks
    from simulations.studies.privacy.report import (
        audit_sections,
        leak_sections,
        sum_sections,
        utility_sections,
    )
    from simulations.studies.privacy.utility import run_sums, run_utility

    return [
        (
            Part.utility,
            list(utility_cases(run)),
            run_utility,
            lambda rows: utility_sections(rows, out),
        ),
        (Part.sums, list(sum_cases(run)), run_sums, sum_sections),
        (Part.attacks, list(leak_cases(run)), run_leaks, lambda rows: leak_sections(rows, out)),
        (Part.audit, list(audit_cases(run)), run_audit, audit_sections),
    ]
