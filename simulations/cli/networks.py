"""What is typed of known networks: their list, and tables sampled from them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from fedbn.wording import count_of
from simulations.options import Json, NetworkDir, Quiet, Seed, with_quiet
from simulations.progress import stages

__all__ = ["networks", "sample"]


def sample(
    network: Annotated[str, typer.Argument(help="A network: a name (fedbn networks) or a file.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of rows.")] = 1000,
    out: Annotated[
        Path | None,
        typer.Option(show_default="standard output", help="A .csv, .csv.gz or .parquet file."),
    ] = None,
    network_dir: NetworkDir = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Sample a table from a Bayesian network, exactly (forward sampling)."""
    began = time.monotonic()
    if as_json and out is None:
        raise typer.BadParameter("--json needs --out: the table would go to standard output, too")
    with stages(not (quiet or as_json)) as notify:
        notify("reading the network")
        import numpy as np

        from fedbn.data.tables import csv_text, write_table
        from fedbn.networks.catalog import load_network
        from simulations.terminal import print_json

        loaded = load_network(network, network_dir)
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
        print_json({"rows": dataset.n_rows, "columns": list(dataset.names), "out": str(out)})
    elif not quiet:
        words = f"{count_of(dataset.n_rows, 'row')} of {count_of(dataset.n, 'column')} in {out}"
        typer.echo(f"{words}, {time.monotonic() - began:.1f} s in all", err=True)


@with_quiet
def networks(network_dir: NetworkDir = None, as_json: Json = False) -> None:
    """List the networks that can be sampled by name."""
    from simulations.inputs import network_facts
    from simulations.terminal import print_json, print_table, rows_table

    facts = network_facts(network_dir)
    if as_json:
        print_json({"networks": facts})
        return
    print_table(rows_table(tuple(facts[0]), [tuple(fact.values()) for fact in facts]))
