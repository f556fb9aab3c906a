"""The commands of a deployment: keys, app, executor, disclosures, update, deploy-demo."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fedbn.errors import ConfigError, FedbnError, ResultsError, system_errors_as
from simulations.options import Json, KnowledgeFile, Quiet
from simulations.progress import stages, starting

if TYPE_CHECKING:
    from fedbn.federation.disclosure import Disclosure


def keys(
    folder: Annotated[Path, typer.Argument(help="Folder of the keys; made if it is not there.")],
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--host",
            help="Name or IP address at which sites reach the server; may be repeated. "
            "Makes the certificate authority and the server's certificate.",
        ),
    ] = None,
    sites: Annotated[
        list[str] | None,
        typer.Option("--site", help="Name of a site, to make its key pair; may be repeated."),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="Validity of the server's certificate.")] = 365,
    renew: Annotated[
        bool,
        typer.Option(
            "--renew-server",
            help="Replace the server's certificates by new ones of the same authority and names.",
        ),
    ] = False,
    listen: Annotated[
        str, typer.Option(help="ADDRESS:PORT of the front, in its configuration.")
    ] = "0.0.0.0:9600",
    superlink: Annotated[
        str, typer.Option(help="ADDRESS:PORT of the SuperLink behind the front.")
    ] = "127.0.0.1:9610",
    as_json: Json = False,
) -> None:
    """Make the keys of a deployment: TLS certificates for the server, a key pair per site.

    With the certificates comes the configuration of a front for the SuperLink: Caddyfile and
    nginx.conf. Nothing is overwritten. Files that end in .key are private (mode 0600); of the
    others, sites need ca.pem and the server needs the sites' .pub files. The authority is valid for
    ten years, the server's certificate for one. Before that expires, run the command with
    --renew-server alone: it makes another, and no site has to do anything.
    """
    from simulations.deployment.front import Front
    from simulations.deployment.keys import make_keys, renew_server
    from simulations.terminal import print_json

    front = Front(hosts[0], listen, superlink) if hosts else None
    if renew and (hosts or sites):
        raise ConfigError("--renew-server keeps names and sites: give neither --host nor --site")
    if renew:
        paths = renew_server(folder, days)
    else:
        paths = make_keys(folder, hosts or (), sites or (), days, front=front)
    if as_json:
        print_json({"files": [str(path) for path in paths]})
        return
    for path in paths:
        print(f"{path}{' (private)' if path.suffix == '.key' else ''}")


def app_folder(
    folder: Annotated[Path, typer.Argument(help="Folder of the app; it must not exist.")],
    config: Annotated[
        Path | None, typer.Option(help="A TOML file with settings; --set overrides it.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: any setting of the run; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the Flower app that `flwr run` takes, with the settings of a deployed run.

    A deployed run has no setting for the data: each site's own file names its table. If you set
    network, table or sites, the command writes the app of a simulation, for fedbn flower-run; no
    deployed site answers that app.
    """
    from fedbn.federation.run_config import to_run_config
    from simulations.deployment.pin import bundle_digest
    from simulations.experiment import experiment_from, with_absolute_paths
    from simulations.flower.bundle import bundle_of, write_bundle
    from simulations.inputs import set_options
    from simulations.terminal import print_json

    experiment = experiment_from(set_options(setting or []), config=config)
    if folder.exists():
        raise ResultsError(f"{folder} is there already: choose a new folder")
    with system_errors_as(ResultsError, f"cannot write {folder}"):
        write_bundle(folder, to_run_config(with_absolute_paths(experiment)))
    settings, digest = folder / "pyproject.toml", bundle_digest(bundle_of(folder))
    if as_json:
        print_json({"folder": str(folder), "settings": str(settings), "bundle": digest})
    else:
        print(f"The app is in {folder}; its settings are in {settings}.")
        print(f"{digest}  its bundle, as long as nothing in it is changed")


def flower_run(
    folder: Annotated[Path, typer.Argument(help="Folder of the app, as fedbn app writes it.")],
    nodes: Annotated[
        int | None,
        typer.Option(min=1, show_default="one per client", help="Nodes of the simulation."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="KEY=VALUE: any setting of the run; may be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a Flower app of fedbn as `flwr run` does, wait for its end, and leave no process behind.

    Exit status 1 if the run fails, or if the number of nodes is not that of the clients. A fresh
    Flower home of its own is used and removed.
    """
    from simulations.flower.folder_run import nodes_of, run_folder, settings_of
    from simulations.inputs import set_options
    from simulations.terminal import print_json

    overrides = set_options(setting or [])
    count = nodes_of(settings_of(folder, overrides), nodes)
    with stages(not as_json) as notify:
        lines = run_folder(folder, count, overrides, notify)
    if as_json:
        print_json({"nodes": count, "log": lines})
    else:
        print("\n".join(lines))


def executor(
    site: Annotated[Path, typer.Argument(help="The site's own file, which names its table.")],
    supernode: Annotated[
        str, typer.Option(help="HOST:PORT of the SuperNode's own interface.")
    ] = "127.0.0.1:9094",
    secret: Annotated[
        Path | None,
        typer.Option(help="The site's NAME.executor.key; the SuperNode has it, too."),
    ] = None,
) -> None:
    """Run this site's client app, the installed one and no other, for its SuperNode.

    Start the SuperNode with --isolation process and --superexec-auth-secret-file. A run whose
    bundle has another client app is refused before a line of it runs. Policy and table come from
    the site's file; the SuperNode needs neither.
    """
    from simulations.deployment.executor import serve

    serve(site, supernode, secret)


def disclosures(
    log: Annotated[Path, typer.Argument(help="A site's disclosure log (.jsonl).")],
    as_json: Json = False,
) -> None:
    """Show what left a site: every message with its size, its SHA-256 and a description.

    The log is checked: every line holds the hash of the line before, and NAME.head that of the
    last. The first line that was changed is named, and the exit status is then 1.
    """
    from fedbn.federation.disclosure_log import read_log
    from simulations.terminal import print_json, print_table, rows_table

    found = read_log(log)
    entries = found.entries
    if as_json:
        print_json({"broken": found.broken, "messages": [asdict(entry) for entry in entries]})
        found.require_whole(log)
        return
    header = ("time (UTC)", "run", "round", "bytes", "SHA-256", "records", "in words")
    rows = []
    for entry in entries:
        records = "\n".join(f"{name}: {', '.join(keys)}" for name, keys in entry.records.items())
        place = (entry.time[:19], entry.run, str(entry.round))
        rows.append((*place, f"{entry.bytes:,}", entry.sha256[:12], records, entry.words))
    total = sum(entry.bytes for entry in entries)
    title = f"messages that left this site: {len(entries)}, bytes: {total:,}"
    print_table(rows_table(header, rows, title))
    for words in _states_told(entries):
        print(words)
    found.require_whole(log)
    print(f"{log} is as it was written: {len(entries)} lines, each with the hash of the one before")


def _states_told(entries: Sequence[Disclosure]) -> list[str]:
    """Every column and its states, as messages named them, once."""
    told = {
        f"{column}: {json.dumps(states, ensure_ascii=False)}": None
        for entry in entries
        for column, states in entry.states.items()
    }
    return ["columns and states that were named:", *told] if told else []


def update(
    folder: Annotated[Path, typer.Argument(help="Results folder of a federated run.")],
    add: Annotated[
        list[Path] | None,
        typer.Option(
            help="A new client's structures: a .json, .bif or .csv file, named after the client."
        ),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(help="Name of a client that leaves; may be repeated.")
    ] = None,
    knowledge: KnowledgeFile = None,
    groups_file: Annotated[
        Path | None,
        typer.Option(
            show_default="FOLDER/groups.csv, if the run's groups were given",
            help="The groups, if they are known: CSV with site,group; new clients must be in it.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(show_default="FOLDER-updated", help="The new results folder.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add or remove clients, change the knowledge or give groups; fuse the kept structures again.

    No client is asked again. A new client learns with the run's schema first:
    fedbn learn new.csv --schema FOLDER/schema.json --out new.json
    """
    with starting("reading what the run kept", not (quiet or as_json)):
        from simulations.commands.update import update_and_report

    update_and_report(
        folder,
        out,
        knowledge,
        add=add or [],
        remove=remove or [],
        groups_file=groups_file,
        as_json=as_json,
        quiet=quiet,
    )


def deploy_demo(
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Without TLS and without authentication of nodes.")
    ] = False,
    network: Annotated[str, typer.Option(help="The network that the sites' tables come from.")] = (
        "asia"
    ),
    rows: Annotated[int, typer.Option(min=1, help="Rows per site.")] = 1000,
    rounds: Annotated[int, typer.Option(min=1, help="Maximum number of rounds.")] = 1,
    aggregation: Annotated[
        str, typer.Option(help="open, secure-sums or moral-votes: see fedbn simulate --help.")
    ] = "open",
    variables: Annotated[
        str,
        typer.Option(help="same; or union, where every site lacks a quarter of the variables."),
    ] = "same",
    look_ahead: Annotated[
        int,
        typer.Option(
            min=0, max=16, help="Secure sums: number of choices guessed ahead in one request."
        ),
    ] = 8,
    seed: Annotated[int, typer.Option(min=0, help="Seed of tables and run.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(show_default="results/deploy-demo", help="Results folder of the run."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Deploy three sites on this machine, and check the result against the simulation.

    Starts a SuperLink and three SuperNodes on 127.0.0.1, with TLS and authenticated nodes, runs a
    federation, stops everything, and compares both consensus files by their SHA-256.
    """
    with starting("loading the server", not quiet):
        from fedbn.federation.settings import Experiment
        from fedbn.results.report import check_results_folder
        from simulations.deployment import demo
        from simulations.terminal import print_json, print_written, warn_of_replacing

    target = check_results_folder(out or Path("results/deploy-demo"))
    if out is None:
        warn_of_replacing(target)

    experiment = Experiment.of(
        network=network,
        rows=rows,
        rounds_limit=rounds,
        seed=seed,
        aggregation=aggregation,
        look_ahead=look_ahead,
        variables=variables,
        missing_variables=0.25 if variables == "union" else 0.0,
    )
    with stages(not quiet) as notify:

        def say(words: str) -> None:
            notify(f"deploy-demo: {words}")
            if not quiet and not sys.stderr.isatty():  # a bar says it itself
                typer.echo(f"deploy-demo: {words}", err=as_json)

        result = demo.deploy_demo(experiment, secure=not insecure, out=target, say=say)
    if as_json:
        print_json(demo.as_json(result))
    else:
        print(f"{result.deployed}  consensus of the deployment")
        print(f"{result.simulated}  consensus of the simulation")
        print_written(target)
        print(f"{'the same' if result.same else 'DIFFERENT'}, {result.seconds:.0f} s")
    if not result.same:
        raise FedbnError("deployment and simulation must give the same consensus file")
