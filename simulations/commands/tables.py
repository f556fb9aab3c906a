"""`fedbn inspect`, `schema` and `check`: what is in a table, what sites agree on, what would leave.

Nothing of these leaves the machine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fedbn.data.columns import column_names, require_some_has
from fedbn.data.schema import union_schema
from fedbn.data.spellings import require_one_spelling, require_shared_states
from fedbn.data.tables import read_dataset, read_schema, write_schema
from fedbn.errors import ConfigError, PolicyError
from fedbn.wording import count_of
from simulations.options import (
    Json,
    SchemaFile,
    TableFile,
    form_settings,
    table_settings,
    with_settings,
)

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.data.inspection import TableFacts
    from fedbn.data.schema import Schema
    from fedbn.data.table_settings import TableSettings
    from fedbn.federation.site_file import SiteFile


@with_settings(form_settings)
def inspect(
    table: TableFile,
    *,
    given: Mapping[str, Any],
    as_json: Json = False,
) -> None:
    """Look at a table: kinds of columns, missing cells, proposed cuts, the command to copy."""
    from fedbn.data.inspection import inspect
    from simulations.terminal import print_json, print_table, rows_table

    facts = inspect(table, _settings(given).preparation())
    if as_json:
        print_json(asdict(facts))
        return
    header = ("column", "kind", "distinct", "missing", "most common", "proposed cuts")
    print_table(rows_table(header, _fact_rows(facts), f"{table}: {count_of(facts.rows, 'row')}"))
    for each in facts.columns:
        for remark in each.remarks:
            print(f"{each.name}: {remark}")
    print(f"\nTo learn from it:\n  {facts.command}")
    if facts.uncut:
        print(f"or, with its numbers as they are:\n  {facts.uncut}")


@with_settings(table_settings)
def schema(
    tables: Annotated[list[Path], typer.Argument(help="The sites' tables, or one of them.")],
    *,
    given: Mapping[str, Any],
    out: Annotated[Path | None, typer.Option(help="Write it to this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Draft what sites agree on: every column with all states, or with its cut points."""
    from fedbn.federation.site_file import SiteFile
    from simulations.commands.learn import with_cuts_of
    from simulations.terminal import print_json

    settings = with_cuts_of(tables, _settings(given))
    known = {name for table in tables for name in column_names(table, settings.preparation().form)}
    require_some_has(known, settings.preparation().leave_out)
    how = SiteFile().prepare(settings.preparation())
    kind: Any = "mixed" if how.numbers else "categorical"
    found = {str(table): read_dataset(table, kind, how).schema for table in tables}
    if settings.spellings == "refuse":
        require_one_spelling(found)
        require_shared_states(found)
    united = union_schema(found)
    if out is not None:
        write_schema(united, out)
    if as_json:
        print_json(united.to_dict())
    elif out is None:
        print(json.dumps(united.to_dict(), ensure_ascii=False, indent=1))
    else:
        print(
            f"{out}: {count_of(united.n, 'column')}, "
            f"{count_of(sum(len(each.states or ()) for each in united.variables), 'state')}"
        )


@with_settings(table_settings)
def check(
    site: Annotated[Path, typer.Argument(help="The site's file, with `table`, or its table.")],
    *,
    given: Mapping[str, Any],
    schema: SchemaFile = None,
    as_json: Json = False,
) -> None:
    """Show exactly what would leave this site, and whether it fits the agreed schema.

    Exit status 1 if the site's policy lets nothing leave, or its table does not fit the schema.
    """
    from fedbn.federation.prepared_table import prepare
    from fedbn.federation.schema_text import schema_to_text
    from fedbn.federation.site_table import site_table
    from simulations.sites.tables import open_site
    from simulations.terminal import print_json

    agreed = None if schema is None else read_schema(schema)
    path, decided = open_site(str(site))
    if decided.schema is not None and not any(given.values()):
        dataset = prepare(path, decided).dataset
    else:
        settings = _settings(given)
        kind: Any = "mixed" if settings.numbers else "categorical"
        cuts = None
        if agreed is not None:
            kind, cuts = agreed.kind, agreed.cuts
            settings = replace(settings, numbers=agreed.numbers if kind == "mixed" else ())
        dataset = site_table(path, kind, settings, decided, cuts).dataset
    told, refused = _schema_or_reason(decided, dataset, agreed)
    differs = _difference(dataset.schema, agreed)
    content: dict[str, Any] = {
        "rows": dataset.n_rows,
        "fits": not (refused or differs),
        "refused": refused,
        "differs": differs,
        "handshake": None if told is None else told.to_dict(),
        "handshake_bytes": 0 if told is None else len(schema_to_text(told)),
        "structures": decided.policy.structures,
        "diagnostics": decided.policy.diagnostics,
        "counts": decided.policy.counts,
        "histograms": decided.policy.histograms,
    }
    if as_json:
        print_json(content)
    else:
        _print_check(content)
    if not content["fits"]:
        raise typer.Exit(1)


def _settings(given: Mapping[str, Any]) -> TableSettings:
    from simulations.experiment import experiment_from

    return experiment_from(given).tables


def _fact_rows(facts: TableFacts) -> list[tuple[Any, ...]]:
    return [
        (
            each.name,
            each.kind,
            each.distinct,
            each.missing,
            ", ".join(f"{text} ({count})" for text, count in each.common),
            ", ".join(f"{cut:g}" for cut in each.cuts),
        )
        for each in facts.columns
    ]


def _schema_or_reason(
    decided: SiteFile, dataset: Dataset, agreed: Schema | None
) -> tuple[Schema | None, str]:
    """The schema that the site would tell a run, which names `agreed` if it is given, or why none.

    The site goes the same way where it is deployed (`clients.request`).
    """
    from simulations.sites.naming import schema_to_tell

    policy, own = decided.policy, decided.schema
    try:
        policy.require_kind(dataset.schema.kind)
        policy.require_table(dataset)
        if agreed is not None:
            policy.require_schema(agreed)
        told = schema_to_tell(dataset, policy, own=own, agreed=agreed)
    except PolicyError as error:
        return None, ": ".join(map(str, error.args))
    return told, ""


def _difference(own: Schema, agreed: Schema | None) -> str:
    from fedbn.federation.agreement import negotiate

    if agreed is None:
        return ""
    if own.kind != agreed.kind and "mixed" not in (own.kind, agreed.kind):
        raise ConfigError(f"the schema's columns are {agreed.kind}, the site's {own.kind}")
    return "".join(each.words() for each in negotiate({"": own}, agreed).mismatches.values())


def _print_check(content: Mapping[str, Any]) -> None:
    if content["refused"]:
        print(f"Nothing would leave: {content['refused']}")
        _print_difference(content["differs"])
        return
    print(f"{count_of(content['rows'], 'row')}. What would leave this site, and nothing else:")
    print(f"1. Names and states, once ({content['handshake_bytes']} bytes):")
    for name, states in content["handshake"].items():
        print(f"   {name}: {json.dumps(states, ensure_ascii=False)}")
    form = "equivalence classes (CPDAG)" if content["structures"] == "cpdag" else "DAGs"
    print(f"2. In every round: edges of learned structures, as {form}, and their weights.")
    extra = {
        "diagnostics": "its name, rows and seconds",
        "counts": "counts of families, of numbers means and sums of products",
        "histograms": "histograms of columns to be cut",
    }
    asked = [words for key, words in extra.items() if content[key]]
    never = [words for key, words in extra.items() if not content[key]]
    if asked:
        print(f"3. If the run asks: {'; '.join(asked)}.")
    if never:
        print(f"Never, by this site's policy: {'; '.join(never)}.")
    _print_difference(content["differs"])


def _print_difference(differs: str) -> None:
    if differs:
        print(f"The table does not fit the schema: {differs}")
