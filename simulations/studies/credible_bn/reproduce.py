"""The command `fedbn reproduce credible`."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError
from simulations.options import Quiet, RayAddress, StudyFolder
from simulations.studies.parts import Asked, StudyPart, run_parts

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
    quiet: Quiet = False,
) -> None:
    """Repeat Tables 1 to 5 of the paper on credible sets, and measure their use in a federation.

    Rows are written one by one; an interrupted run continues where it was. The report is
    report.md in the folder.
    """
    if data_dir is not None and not data_dir.is_dir():
        raise ConfigError(f"--data-dir must be a folder, {data_dir} is none")

    def parts(asked: Asked) -> dict[str, StudyPart]:
        from simulations.studies.credible_bn.cases import settings

        return _parts(settings(asked.smoke), out, data_dir, network_dir)

    asked = Asked(out, quiet, ray_address, part=part.value, smoke=smoke)
    run_parts("All credible structures", asked, parts)


def _parts(
    run: Settings, out: Path, data_dir: Path | None, network_dir: Path | None
) -> dict[str, StudyPart]:
    """The paper's tables, and the study of federations."""
    from simulations.studies.credible_bn.cases import cases, run_case
    from simulations.studies.credible_bn.federation import federation_cases, run_federation
    from simulations.studies.credible_bn.report import federation_sections, table_sections

    missing = _missing(run, data_dir, network_dir)
    return {
        "tables": StudyPart(
            [case for case in cases(run, data_dir) if _at_hand(case, network_dir)],
            partial(run_case, data_dir=data_dir, network_dir=network_dir),
            lambda rows: table_sections(rows, out, missing),
        ),
        "federation": StudyPart(
            federation_cases(run),
            run_federation,
            lambda rows: federation_sections(rows, out),
        ),
    }


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
