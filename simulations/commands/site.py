"""`fedbn site new` and `fedbn site prepare`: a site's decisions, and its table read under them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbn.data.tables import read_schema, table_stem
from fedbn.errors import ConfigError, ResultsError
from fedbn.whole_file import write_whole
from fedbn.wording import count_of
from simulations.options import Json, SchemaFile, TableFile, form_settings, with_settings


@with_settings(form_settings)
def new(
    table: TableFile,
    *,
    given: Mapping[str, Any],
    schema: SchemaFile = None,
    out: Annotated[Path | None, typer.Option(help="File to write.")] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="What else may leave: counts, dags, diagnostics, histograms or learners. The file "
            "explains what each gives away. Without this option the file is strict. May be "
            "repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a complete site's file for a table: every decision, with a comment on each line.

    Nothing is overwritten. Read the file, then run fedbn site prepare.
    """
    from simulations.commands.new_site import site_text
    from simulations.experiment import experiment_from
    from simulations.terminal import print_json

    stem = table_stem(table) or table.name
    place = out or table.with_name(f"{stem}.toml")
    if place.exists():
        raise ResultsError(f"{place} is there already: choose another --out")
    if place.absolute().parent != table.absolute().parent:
        raise ConfigError(f"{place} must lie beside {table}, which it names")
    agreed = None if schema is None else read_schema(schema)
    how = experiment_from(given).tables.preparation()
    write_whole(place, site_text(table, how, name=stem, schema=agreed, allow=allow or ()))
    if as_json:
        print_json({"file": str(place)})
    else:
        print(f"{place} is written. Read it, then run: fedbn site prepare {place}")


def prepare(
    site: Annotated[Path, typer.Argument(help="The site's file, which names its table.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Make a new contract in place of the one there is.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Read a site's table once, as its file decides, and keep a prepared copy beside it.

    A deployed site answers from this copy. The command prints the hash of the site's contract; a
    run whose setting `contract` lists hashes accepts no other one. Another table or other decisions
    make a new contract, which the site's log records. Confirm it with --replace: whoever compares
    answers under two contracts may find single rows.
    """
    from fedbn.federation.prepared_table import prepared_path, renew
    from simulations.sites.tables import open_site
    from simulations.terminal import print_json

    table, decided = open_site(str(site))
    contract = renew(table, decided, confirmed=replace)
    if as_json:
        found = {"contract": contract.hash, "number": contract.number, "rows": contract.rows}
        print_json(found | {"file": str(prepared_path(table, decided))})
        return
    print(f"{contract.hash}  contract {contract.number} of {site}")
    print(
        f"{count_of(contract.rows, 'row')}, {count_of(contract.schema.n, 'column')}, in "
        f"{prepared_path(table, decided)}"
    )
