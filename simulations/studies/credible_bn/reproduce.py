"""The command `fedbn reproduce credible`."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError
from simulations.options import RayAddress, StudyFolder
from simulations.progress import progress_bars, say_start, stages

if TYPE_CHECKING:
    from simulations.studies.credible_bn.cases import Settings


class Part(StrEnum):
    """What is run."""

    tables = "tables"
    federation = "federation"
    everything = "all"


def credible(
    out: StudyFolder,
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with the UCI tables, NAME.csv, for Tables 1 to 3."),
    ] = None,
    network_dir: Annotated[
        Path | None, typer.Option(help="Folder with more networks, NAME.bif[.gz].")
    ] = None,
    part: Annotated[
        Part, typer.Option(help="The paper's tables, the federation study, or both.")
    ] = Part.everything,
    smoke: Annotated[bool, typer.Option("--smoke", help="A small version, in minutes.")] = False,
    ray_address: RayAddress = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars.")] = False,
) -> None:
    """Credible sets: the paper's Tables 1 to 5, and what they bring to a federation.

    Rows are written one by one; a run that was stopped goes on where it was. The report is
    report.md in the folder.
    """
    began = time.monotonic()
    say_start("starting: loading the study", not quiet)
    from simulations.studies.credible_bn.cases import cases, run_case, settings
    from simulations.studies.credible_bn.federation import federation_cases, run_federation
    from simulations.studies.credible_bn.report import federation_sections, table_sections
    from simulations.study import Row, Study, end_line, show_on
    from simulations.study_report import Section, write_study_report

    if data_dir is not None and not data_dir.is_dir():
        raise ConfigError(f"--data-dir must be a folder, {data_dir} is none")
    run = settings(smoke)
    study = Study(out, ray_address=ray_address)
    tables: list[Row] | None = None
    federation: list[Row] | None = None
    with progress_bars(not quiet) as tracker:
        if part is not Part.federation:
            wanted = [case for case in cases(run, data_dir) if _at_hand(case, network_dir)]
            tables = study.collect(
                wanted,
                lambda case: run_case(case, data_dir, network_dir),
                show_on(tracker("tables")),
            )
        if part is not Part.tables:
            federation = study.collect(
                federation_cases(run), run_federation, show_on(tracker("federation"))
            )
    with stages(not quiet) as notify:
        notify("writing the report")
        sections: list[Section] = []
        if tables is not None:
            sections += table_sections(tables, out, _missing(run, data_dir, network_dir))
        if federation is not None:
            sections += federation_sections(federation, out)
        path = write_study_report(out, "All credible structures", sections)
    typer.echo(end_line(path, time.monotonic() - began, study), err=True)


def _at_hand(case: dict[str, object], network_dir: Path | None) -> bool:
    """Whether a sample's network can be loaded by name."""
    from fedbn.networks.catalog import known_networks

    return "network" not in case or str(case["network"]) in known_networks(network_dir)


def _missing(run: Settings, data_dir: Path | None, network_dir: Path | None) -> list[str]:
    """Tables and networks of experiment.toml that are not at hand."""
    from fedbn.networks.catalog import known_networks

    known = known_networks(network_dir)
    tables = [
        name
        for name in run["tables"]["names"]
        if data_dir is None or not (data_dir / f"{name}.csv").is_file()
    ]
    networks = [case[0] for case in run["samples"]["cases"] if case[0] not in known]
    return [*tables, *dict.fromkeys(networks)]
