"""The command `fedbn bootstrap`: how sure is a local search of its edges?"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from fedbn.errors import ConfigError
from fedbn.learners import LearnerSettings, find_learner
from fedbn.learners.learner import knowledge_in
from fedbn.spreadsheet import written_text
from fedbn.whole_file import require_writable, write_whole
from fedbn.wording import count_of
from simulations.options import (
    Json,
    Quiet,
    SchemaFile,
    Seed,
    TableFile,
    table_settings,
    with_settings,
)
from simulations.progress import progress_bars, starting

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.graphs.dag import DAG
    from fedbn.learners import LearnerSettings
    from fedbn.search.bootstrap import Bootstrap


@with_settings(table_settings)
def bootstrap(
    table: TableFile,
    *,
    replicates: Annotated[int, typer.Option(min=1, help="Number of resampled tables.")] = 100,
    learner: Annotated[str, typer.Option(help="ges, xges0, xges, ils, boss or hc.")] = "ges",
    score: Annotated[
        str,
        typer.Option(
            help="For categories: bdeu, bic, aic. For numbers: gaussian-bic, gaussian-aic, bge."
        ),
    ] = "bdeu",
    ess: Annotated[float, typer.Option(help="Equivalent sample size of BDeu.")] = 1.0,
    max_parents: Annotated[
        int | None,
        typer.Option(show_default="no limit", help="Maximum number of parents per variable."),
    ] = None,
    knowledge: Annotated[
        Path | None, typer.Option(help="Background knowledge, as for fedbn learn.")
    ] = None,
    schema: SchemaFile = None,
    given: Mapping[str, Any],
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            show_default="automatic",
            help="Strength above which an edge counts; the default is the threshold of Scutari & "
            "Nagarajan 2013.",
        ),
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            "--threads",
            "--workers",
            min=1,
            help="Number of threads. The result is the same with any number.",
        ),
    ] = 1,
    strengths: Annotated[
        Path | None, typer.Option(help="Write the strength of every pair to this .csv file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the averaged network to a .csv, .json, .graphml or .dot file."),
    ] = None,
    seed: Seed = 1,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from resampled rows: the strength of every edge, and the averaged network."""
    if threshold is not None and not 0.0 <= threshold <= 1.0:
        raise ConfigError(f"--threshold must be between 0 and 1, not {threshold}")
    if learner not in ("ges", "xges0", "xges", "ils", "boss", "hc"):
        raise ConfigError(
            "the bootstrap repeats ges, xges0, xges, ils, boss or hc, which give one structure "
            f"each, not {learner!r}"
        )
    began = time.monotonic()
    words = "reading the table, loading the learners"
    with starting(words, not (quiet or as_json)):
        from fedbn.graphs.writing import require_structure_file, write_structure
        from simulations.commands.learn import read_table
        from simulations.experiment import experiment_from

        if out is not None:
            require_structure_file(out)
        if strengths is not None:
            require_writable(strengths)
        settings = LearnerSettings(
            learner=learner,
            score=score,
            ess=ess,
            max_parents=max_parents,
            knowledge=None if knowledge is None else str(knowledge),
        )
        dataset = read_table(table, score, schema, experiment_from(given).tables)
    worked = time.process_time()
    found = _replicates(dataset, settings, replicates, workers, seed, quiet or as_json)
    searched = time.process_time() - worked
    least = found.threshold() if threshold is None else threshold
    averaged = found.average(least, knowledge_in(settings))
    if strengths is not None:
        write_whole(strengths, strength_table(found))
    if out is not None:
        write_structure(averaged, out)
    _report(found, averaged, float(least), as_json=as_json, quiet=quiet)
    if not (quiet or as_json):
        wall = time.monotonic() - began
        typer.echo(f"searches {searched:.2f} s (CPU), {wall:.2f} s in all by the clock", err=True)


def _replicates(
    dataset: Dataset,
    settings: LearnerSettings,
    replicates: int,
    workers: int,
    seed: int,
    silent: bool,
) -> Bootstrap:
    from fedbn.search.bootstrap import bootstrap as resample

    learn_one = find_learner(settings.learner).run
    with progress_bars(not silent) as tracker:
        progress = tracker("replicates")
        return resample(
            dataset,
            lambda sample, rng: learn_one(sample, settings, rng, None).dags[0],
            rng=np.random.default_rng(seed),
            replicates=replicates,
            threads=workers,
            progress=progress,
        )


def strength_table(found: Bootstrap) -> str:
    """CSV: every pair that was ever an edge, strongest first.

    `strength` is the fraction of replicates in which the two are adjacent, `direction` that of
    from -> to among these, an undirected edge half each way; from -> to is the more frequent
    direction, or that of name order.
    """
    rows = ((a, b, f"{share:.6g}", f"{turned:.6g}") for a, b, share, turned in _rows(found))
    return written_text([("from", "to", "strength", "direction"), *rows])


def _rows(found: Bootstrap) -> list[tuple[str, str, float, float]]:
    directions, strengths = found.directions(), found.strengths()
    rows = []
    for i in range(len(found.names)):
        for j in range(i + 1, len(found.names)):
            if strengths[i, j] > 0:
                a, b = (i, j) if directions[i, j] >= directions[j, i] else (j, i)
                share = float(directions[a, b] / strengths[a, b])
                rows.append((found.names[a], found.names[b], float(strengths[i, j]), share))
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def _report(
    found: Bootstrap, averaged: DAG, threshold: float, *, as_json: bool, quiet: bool
) -> None:
    from fedbn.graphs.writing import structure_text
    from simulations.terminal import print_json

    if as_json:
        content: dict[str, Any] = {
            "nodes": list(averaged.names),
            "edges": [list(edge) for edge in averaged.edges],
            "threshold": threshold,
            "replicates": len(found.dags),
            "distinct": len(found.weigh()[0]),
            "strengths": [list(row) for row in _rows(found)],
        }
        print_json(content)
        return
    print(structure_text(averaged, ".csv"), end="")
    if not quiet:
        typer.echo(
            f"{count_of(len(found.dags), 'replicate')}, "
            f"{count_of(len(found.weigh()[0]), 'different structure')}, "
            f"{count_of(averaged.n_edges, 'edge')} stronger than {threshold:.3f}",
            err=True,
        )
