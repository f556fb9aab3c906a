"""What is typed of a federation in one command, and of the folder that it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.errors import ConfigError
from simulations.options import (
    SIMULATED,
    Json,
    LedgerFile,
    Quiet,
    RayAddress,
    simulation_settings,
    with_quiet,
    with_settings,
)
from simulations.progress import starting

if TYPE_CHECKING:
    from fedbn.federation.settings import Experiment


@with_settings(simulation_settings)
def simulate(
    more_sites: Annotated[
        list[str] | None,
        typer.Argument(metavar="SITE...", help="Tables of the clients, as --sites."),
    ] = None,
    *,
    given: Mapping[str, Any],
    gold: Annotated[
        Path | None, typer.Option(help="File of the true structure, for comparison.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            show_default="results/NAME", help="Results folder; an earlier one is replaced."
        ),
    ] = None,
    ledger: LedgerFile = None,
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with settings; options here override it.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: any setting of the run config; may be repeated."),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled/--no-pooled",
            help="Also learn from all rows together, for comparison; only a simulation can.",
        ),
    ] = True,
    tables: Annotated[
        bool,
        typer.Option(
            "--tables/--no-tables",
            help="Write the parameters of the consensus, if the run estimates them: network.json, "
            "consensus.bif, and their tables in the report.",
        ),
    ] = True,
    ray_address: RayAddress = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a federation: tables or a network in, the consensus and its report out.

    Every client learns from its own table, and the server fuses the structures. The result is a
    folder with the consensus (CSV, JSON, GraphML, DOT, BIF), tables, figures and a report.
    """
    for name in more_sites or ():
        if not (Path(name).suffix or Path(name).exists()):
            raise typer.BadParameter(
                f"{name!r} is no table; to sample tables from a network, use --network {name}"
            )
    words = "reading settings, loading the learners"
    with starting(words, not (quiet or as_json)):
        from fedbn.federation.private_runs import guarantee_of
        from simulations.commands.simulate import run_and_report
        from simulations.experiment import experiment_from
        from simulations.inputs import set_options

        sites = [*(given["sites"] or ()), *(more_sites or ())] or None
        options = {**given, "sites": sites, **set_options(setting or [])}
        experiment = experiment_from(options, config=config)
        if guarantee_of(experiment.learner) is None:
            experiment = experiment_from(options, config=config, base=SIMULATED)
        _check_source(experiment, rows=given["rows"], clients=given["clients"])
    run_and_report(
        experiment,
        gold=gold,
        out=out,
        ledger=ledger,
        as_json=as_json,
        quiet=quiet,
        pooled=pooled,
        tables=tables,
        ray_address=ray_address,
    )


def _check_source(experiment: Experiment, *, rows: int | None, clients: int | None) -> None:
    """Refuse a missing source, and options that the source makes meaningless."""
    if not (
        experiment.data.network
        or experiment.data.table
        or experiment.data.sites
        or experiment.data.sites_dir
    ):
        raise ConfigError("name the data: --network, --table or --sites")
    if rows is not None and experiment.data.network is None:
        raise ConfigError("--rows is for --network: tables are used whole")
    if clients is not None and (experiment.data.sites or experiment.data.sites_dir):
        raise ConfigError("--clients is for --network and --table: with --sites, each is a client")


@with_quiet
def report(
    folder: Annotated[Path, typer.Argument(help="A results folder.")],
    out: Annotated[
        Path | None, typer.Option(show_default="FOLDER/report.html", help="The file to write.")
    ] = None,
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Without sites, parameters, and edges that fewer than three sites have "
            "(FOLDER/report-public.html).",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a run's report as one HTML file, which loads nothing from other machines.

    Every run leaves report.html in its folder. This command writes it again, or with --public a
    version that names no site.
    """
    from fedbn.results.page.files import write_report
    from simulations.terminal import print_json

    file = write_report(folder, out, public=public)
    if as_json:
        print_json({"report": str(file)})
    else:
        print(file)
