"""What is typed to learn from one table, and to attack what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from fedbn.errors import ConfigError
from simulations.options import (
    LEARNING,
    Json,
    LedgerFile,
    Quiet,
    SchemaFile,
    Seed,
    TableFile,
    learning_settings,
    table_settings,
    with_quiet,
    with_settings,
)
from simulations.progress import starting


@with_settings(lambda: [*table_settings(), *learning_settings(local=True)])
def learn(
    table: TableFile,
    *,
    schema: SchemaFile = None,
    given: Mapping[str, Any],
    start_dag: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=LEARNING,
            help="A DAG file: where ges, xges0, xges, ils, boss and hc begin instead of the "
            "empty graph.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the DAG to a .csv, .json, .graphml or .dot file.")
    ] = None,
    as_class: Annotated[
        bool,
        typer.Option(
            "--class",
            help="Print or write the equivalence class, which is all that data determine: edges "
            "whose direction is open are undirected.",
        ),
    ] = False,
    ledger: LedgerFile = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a structure from one table; print its edges, parent and child, as CSV.

    A file of background knowledge is JSON or TOML with any of: required = [["a", "b"]] and
    forbidden = [["b", "a"]], edges from parent to child; tiers = [["a"], ["b", "c"]], groups of
    columns from first to last. The search never breaks it; knowledge that contradicts itself is
    an error that names the edges.

    The private learners (dp-climb, dp-ges, dp-moments) give a structure that is
    (ε, δ)-differentially private per row, one row added or removed. What they spend is
    written to the ledger before they draw.
    """
    with starting("loading the learners", not (quiet or as_json)):
        from simulations.commands.learn import learn_and_report

    learn_and_report(
        table,
        given,
        schema=schema,
        start=start_dag,
        out=out,
        as_class=as_class,
        ledger=ledger,
        seed=seed,
        as_json=as_json,
        quiet=quiet,
    )


@with_settings(lambda: [*table_settings(), *learning_settings(local=True)])
@with_quiet
def audit(
    source: Annotated[str, typer.Argument(help="A table, or a network to sample from.")],
    *,
    game: Annotated[
        str,
        typer.Option(
            help="The attack: flips (the adversary knows all rows but one), shadow (it knows the "
            "population), canary (a row that stands out), epsilon (tests a private learner's "
            "claim), reidentify (links a second run to the same sites)."
        ),
    ] = "flips",
    given: Mapping[str, Any],
    rows: Annotated[
        int | None,
        typer.Option(min=2, show_default="1000", help="Number of rows to sample from a network."),
    ] = None,
    schema: SchemaFile = None,
    removals: Annotated[
        int, typer.Option(min=1, help="Number of rows removed, one at a time (flips, epsilon).")
    ] = 100,
    targets: Annotated[
        int, typer.Option(min=1, help="Number of target rows (shadow, canary).")
    ] = 20,
    shadows: Annotated[
        int,
        typer.Option(min=4, help="Number of tables with and without a target (shadow, canary)."),
    ] = 40,
    sites: Annotated[int, typer.Option(min=2, help="Number of sites (reidentify).")] = 10,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Run privacy attacks on a learner's output, and report success rates and sample sizes.

    A successful attack shows a leak; a failed one proves nothing. Only a private learner (dp-climb,
    dp-ges, dp-moments) has a bound, and the game epsilon tries to refute it.
    """
    from simulations.commands.audit import Game, GameSizes, audit_and_report

    if game not in list(Game):
        raise ConfigError(f"game must be one of {', '.join(Game)}, not {game!r}")
    audit_and_report(
        source,
        given,
        game=Game(game),
        rows=rows,
        schema=schema,
        sizes=GameSizes(removals, targets, shadows, sites),
        seed=seed,
        as_json=as_json,
    )
