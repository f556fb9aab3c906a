"""The command `fedbn sample`: rows from a network, from a consensus, or from noisy counts."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from random import SystemRandom
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from fedbn.data.tables import csv_text, read_dataset, read_schema, write_table
from fedbn.errors import ConfigError
from fedbn.privacy.guarantee import Guarantee
from fedbn.wording import count_of
from simulations.commands.answers import read_network, warn_of_held_back, warn_of_unanswered
from simulations.options import Json, NetworkDir, Quiet, Seed
from simulations.progress import stages

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network
    from fedbn.networks.network import BayesianNetwork


def sample(
    network: Annotated[
        str, typer.Argument(help="A network: a name (fedbn networks), a file, or a results folder.")
    ],
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(show_default="standard output", help="A .csv, .csv.gz or .parquet file."),
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(help="With --epsilon: the table whose noisy counts give the parameters."),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="ε per row of --table that these counts may cost (zCDP, one release)."),
    ] = None,
    delta: Annotated[float, typer.Option(help="The δ of the guarantee (ε, δ).")] = 1e-6,
    schema: Annotated[
        Path | None,
        typer.Option(
            show_default="that of the results folder",
            help="With --epsilon: file with columns and states, not made from the table.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(show_default="beside the table", help="Ledger that records --epsilon."),
    ] = None,
    network_dir: NetworkDir = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sample a table from a Bayesian network, exactly (forward sampling).

    For a results folder, rows come from the consensus with its parameters. With --table and
    --epsilon only the structure is used: the parameters come from counts of the table with noise
    that hides every single row, and the ledger records the cost first. Further rows of that network
    cost nothing more. The guarantee covers the counts; the structure has one only if a private
    learner made it.
    """
    began = time.monotonic()
    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: the table would go to standard output, too")
    if (table is None) != (epsilon is None):
        raise ConfigError("--table and --epsilon go together")
    if table is None and (schema is not None or ledger is not None):
        raise ConfigError("--schema and --ledger go with --table and --epsilon")
    with stages(not (quiet or as_json)) as notify:
        notify("reading the network")

        from simulations.terminal import print_json

        if table is None or epsilon is None:
            loaded = _network(network, network_dir)
            promise = None
        else:
            promise = Guarantee(epsilon, delta)
            loaded = _noisy_network(network, network_dir, table, schema, ledger, promise)
        notify(f"sampling {count_of(rows, 'row')}: columns")
        dataset = loaded.sample(rows, np.random.default_rng(seed), progress=notify.count)
        notify(f"writing {count_of(rows, 'row')}")
        text = None
        if out is None:
            text = csv_text(dataset)
        else:
            write_table(dataset, out)
    if text is not None:
        print(text, end="")
    elif as_json:
        facts = {"rows": dataset.n_rows, "columns": list(dataset.names), "out": str(out)}
        print_json(facts | ({} if promise is None else {"privacy": promise.words}))
    elif not quiet:
        words = f"{count_of(dataset.n_rows, 'row')} of {count_of(dataset.n, 'column')} in {out}"
        typer.echo(f"{words}, {time.monotonic() - began:.1f} s in all", err=True)
    if promise is not None and not (quiet or as_json):
        typer.echo(f"The parameters: {promise.words}; of the structure nothing is said", err=True)


def _network(source: str, network_dir: Path | None) -> Network:
    """With parameters; warns of those that are without the rows of some sites."""
    from fedbn.networks.catalog import load_network

    if not (Path(source) / "run.json").is_file():
        return load_network(source, network_dir)
    found = read_network(source)
    warn_of_held_back(source, found, None, [])
    warn_of_unanswered(source)
    return found


def _noisy_network(
    source: str,
    network_dir: Path | None,
    table: Path,
    schema: Path | None,
    ledger: Path | None,
    promise: Guarantee,
) -> BayesianNetwork:
    """The structure with parameters from noisy counts; ε is in the ledger before any is drawn."""
    from fedbn.privacy.ledger import ledger_beside, reserve, table_digest
    from fedbn.privacy.parameters import noisy_network, tables_of_counts
    from simulations.inputs import one_structure

    agreed = schema or Path(source) / "schema.json"
    if not agreed.is_file():
        raise ConfigError("--epsilon needs --schema: the states in a table are data, too")
    dag = one_structure(source, network_dir=network_dir)
    rows = read_dataset(table, "categorical", schema=read_schema(agreed))
    tables_of_counts(dag, rows)  # whatever is wrong is said before anything is spent
    path = ledger or ledger_beside(table)
    reserve(
        path,
        promise,
        run="sample",
        round=1,
        table=table_digest(rows, path),
        mechanism="noisy-counts",
        parameters={"noise": "system"},
    )
    return noisy_network(dag, rows, rho=Fraction(promise.rho), source=SystemRandom())[0]
