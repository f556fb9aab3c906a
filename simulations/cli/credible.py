"""The command `fedbn credible`: its options, and what is wrong usage of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import click
import typer
from click.core import ParameterSource

from fedbn.errors import ConfigError, FedbnWarning
from simulations.inputs import require_ess_of
from simulations.options import SchemaFile, table_settings, with_settings
from simulations.progress import starting

MIN_FACTOR = 20.0  # below it, averages rest on few structures
COUNTING, LIMITS, OUTPUT = "Counting and listing", "Limits", "Output"


@with_settings(table_settings)
def credible(
    table: Annotated[
        Path,
        typer.Argument(
            help="A table (.csv, .csv.gz, .parquet), or local scores (.jkl, .scores: number of "
            "variables; per variable 'name sets'; per set 'score size parents...')."
        ),
    ],
    *,
    bf: Annotated[
        float,
        typer.Option(
            min=1.0,
            help="Bayes factor to the best structure. 3 is too narrow for averages on few rows, 20 "
                 "is usual, 150 excludes only what is ruled out decisively.",
        ),
    ] = 20.0,
    score: Annotated[
        str, typer.Option(help="bic, bdeu, aic; gaussian-bic where columns are numbers.")
    ] = "bic",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of BDeu.")] = 1.0,
    schema: SchemaFile = None,
    given: Mapping[str, Any],
    count: Annotated[
        bool,
        typer.Option(
            "--count", rich_help_panel=COUNTING, help="Count only: no posteriors, no list."
        ),
    ] = False,
    most: Annotated[
        int | None,
        typer.Option(
            "--list", min=1, metavar="N", rich_help_panel=COUNTING,
            help="List the N best structures with their excess over the best (natural log).",
        ),
    ] = None,
    k_best: Annotated[
        int | None,
        typer.Option(
            "--k-best", min=1, metavar="K", rich_help_panel=COUNTING,
            help="Only the K best credible structures; it is an error if there are fewer.",
        ),
    ] = None,
    per_class: Annotated[
        bool,
        typer.Option(
            "--per-class", rich_help_panel=COUNTING,
            help="Every Markov equivalence class counts once: one structure of each is listed, and "
            "averages give a class the weight of one member.",
        ),
    ] = False,
    ancestors: Annotated[
        bool,
        typer.Option(
            "--ancestors", rich_help_panel=COUNTING,
            help="Also the posteriors of directed paths, from all structures or from --samples.",
        ),
    ] = False,
    v_structures: Annotated[
        bool,
        typer.Option("--v-structures", rich_help_panel=COUNTING, help="Also the posteriors of "
                                                                      "v-structures a -> c <- b."),
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, rich_help_panel=COUNTING, help="Average --ancestors over N draws."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, rich_help_panel=COUNTING, help="Seed of --samples.")
    ] = 1,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", rich_help_panel=COUNTING,
            help="Also the numbers as Liao et al. (2019) count them: their parent sets, and their "
                 "classes, which are finer than Markov equivalence.",
        ),
    ] = False,
    max_parents: Annotated[
        int | None,
        typer.Option(
            min=0, show_default="no limit", rich_help_panel=LIMITS, help="Maximum number of "
                                                                         "parents per variable; "
                                                                         "the set is then "
                                                                         "incomplete."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            min=0.0, show_default="no limit", rich_help_panel=LIMITS,
            help="Time limit in seconds. What is proven by then is printed, as after Ctrl-C.",
        ),
    ] = None,
    memory: Annotated[
        float | None,
        typer.Option(
            "--memory-gib", "--memory", min=0.0, show_default="half of what is free",
            rich_help_panel=LIMITS, help="Memory limit in GiB.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="Edges with posteriors (.csv) or the averaged network (.dot, see --threshold).",
        ),
    ] = None,
    threshold: Annotated[
        float,
        typer.Option(rich_help_panel=OUTPUT, help="Minimum posterior of an edge in the .dot file."),
    ] = 0.5,
    figures: Annotated[
        Path | None,
        typer.Option(
            rich_help_panel=OUTPUT,
            help="New folder for two figures: edge posteriors, and score against rank.",
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(rich_help_panel=OUTPUT, help="Write the local scores: a .jkl file."),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", rich_help_panel=OUTPUT, help="Print one JSON object, nothing else."),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="No progress.")
    ] = False,
) -> None:  # fmt: skip
    """Count, list and average all structures within a Bayes factor of the best one.

    A structure is credible when its score is within ln(BF) of the best. Nothing is left out without
    proof, so the set is exact unless a limit was met; then counts are printed as "at least". Edges
    go to standard output as CSV with their posteriors, counts to standard error.
    """
    with starting("loading the solvers", not (quiet or as_json)):
        from simulations.commands.credible import Output, Scored, Wanted, credible_and_report
        from simulations.experiment import experiment_from

    wanted = Wanted(count, most, k_best, per_class, ancestors, v_structures, samples, seed, paper)
    output = Output(out, threshold, figures, scores, as_json, quiet)
    wanted.require_consistent(output)
    memory_bytes = None if memory is None else int(memory * 2**30)
    source = Scored(
        table, score, bf, ess, schema, experiment_from(given).tables, max_parents,
        memory_bytes, seconds,
    )  # fmt: skip
    if source.is_scored:
        _require_no_table_options()
    else:
        require_ess_of(score, ess)
    if bf < MIN_FACTOR and not count:
        warnings.warn(
            f"a Bayes factor of {bf:g} covers little of the posterior on few rows: averages may "
            f"be too certain; {MIN_FACTOR:g} or more is usual",
            FedbnWarning,
            stacklevel=2,
        )
    credible_and_report(source, wanted, output)


def _require_no_table_options() -> None:
    """Refuse options that say how a table is read or scored: a file of scores has been."""
    context = click.get_current_context()
    for name in ("score", "ess", "schema", "missing", "max_parents", "paper"):
        source = context.get_parameter_source(name)
        if source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP):
            option = "--" + name.replace("_", "-")
            raise ConfigError(f"{option} is for tables: a file of local scores has its own")
