"""The command `fedbn learn`: one table in, one structure out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from fedbn.data.tables import read_dataset, read_schema
from fedbn.errors import ConfigError
from fedbn.graphs.directions import (
    class_text,
    directed_words,
    directions_line,
    write_class,
)
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.writing import require_structure_file, structure_text, write_structure
from fedbn.learners import LEARNERS, find_learner, kind_of_score, learn
from fedbn.scores import local_score_of, total_score
from fedbn.wording import count_of
from simulations.experiment import experiment_from
from simulations.inputs import one_structure, require_ess_of
from simulations.progress import stages
from simulations.terminal import print_json, readable

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.data.table_settings import TableSettings
    from fedbn.graphs.dag import DAG
    from fedbn.learners import LearnedStructures, LearnerSettings


def read_table(table: Path, score: str, schema: Path | None, settings: TableSettings) -> Dataset:
    """The table, its columns read as the score needs them.

    Raises
    ------
    ConfigError : no score has this name.
    DataError : the table or the schema is not as it must be.
    """
    agreed = None if schema is None else read_schema(schema)
    kind: Any = kind_of_score(score)
    prepared = with_cuts_of([table], settings)
    return read_dataset(table, kind, prepared.preparation(), schema=agreed)


def with_cuts_of(tables: Sequence[Path], settings: TableSettings) -> TableSettings:
    """The settings with the cut points and identifiers that they ask for, found in these tables."""
    if not (settings.leave_out_identifiers or settings.discretise):
        return settings
    from fedbn.data.common_cuts import tables_with_cuts
    from fedbn.federation.site_file import SiteFile
    from fedbn.federation.site_table import site_numbers, without_identifiers

    settings = without_identifiers([(table, SiteFile()) for table in tables], settings)
    if not settings.discretise:
        return settings
    numbers = {str(path): site_numbers(path, settings, SiteFile()) for path in tables}
    return tables_with_cuts(numbers, settings)


def learn_and_report(
    table: Path,
    options: Mapping[str, Any],
    *,
    schema: Path | None,
    start: Path | None,
    out: Path | None,
    as_class: bool,
    ledger: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn with the settings in `options` and print or write the heaviest structure.

    Raises
    ------
    FedbnError : a setting, the table, or the start is not as it must be.
    """
    started = time.monotonic()
    experiment = experiment_from(options)
    settings = experiment.learner
    if out is not None:
        require_structure_file(out)
    if find_learner(settings.learner).is_private:
        from simulations.commands.learn_private import require_private_options

        if as_class:
            raise ConfigError("--class is not for private learners, which give one structure")
        require_private_options(experiment, schema, start)
    else:
        _require_open_options(settings, start, ledger)
    with stages(not (quiet or as_json)) as notify:
        notify("reading the table")
        dataset = read_table(table, settings.score, schema, experiment.tables)
    if find_learner(settings.learner).is_private:
        from simulations.commands.learn_private import learn_private

        shown_as = {"as_json": as_json, "quiet": quiet}
        learn_private(table, dataset, settings, ledger=ledger, out=out, seed=seed, **shown_as)
        return
    begin = None if start is None else one_structure(str(start), nodes=dataset.names)
    ready = time.process_time()
    with stages(not (quiet or as_json)) as notify:
        notify(f"learning from {count_of(dataset.n_rows, 'row')} with {settings.learner}")
        learned = learn(dataset, settings, np.random.default_rng(seed), begin)
    dag = learned.dags[int(np.argmax(learned.weights))]
    score = _score_of(dag, learned, dataset, settings)
    if out is not None:
        _write(dag, out, as_class)
    if as_json:
        print_json(_content(dag, score, learned, ready))
        return
    if out is None:
        print(_text(dag, as_class), end="")
    if not quiet:
        status = "" if learned.status == "complete" else f" ({learned.status})"
        told = "" if score is None else f"{settings.score} {readable(score)}, "
        typer.echo(
            f"{count_of(dataset.n_rows, 'row')}, {count_of(dag.n, 'column')}, "
            f"{count_of(dag.n_edges, 'edge')}, "
            f"{told}search {learned.seconds:.2f} s of "
            f"{time.monotonic() - started:.2f} s in all{status}",
            err=True,
        )
        typer.echo(directions_line(dag), err=True)


def _text(dag: DAG, as_class: bool) -> str:
    return class_text(dag_to_cpdag(dag), ".csv") if as_class else structure_text(dag, ".csv")


def _write(dag: DAG, out: Path, as_class: bool) -> None:
    if as_class:
        write_class(dag_to_cpdag(dag), out)
    else:
        write_structure(dag, out)


def _content(
    dag: DAG, score: float | None, learned: LearnedStructures, ready: float
) -> dict[str, Any]:
    """What --json prints; `ready` are the CPU seconds before learning began."""
    content = {
        "nodes": list(dag.names),
        "edges": [list(edge) for edge in dag.edges],
        "directed": list(directed_words(dag).values()),
        "score": score,
        "seconds": learned.seconds,
        "startup_seconds": ready + learned.startup_seconds,
        "status": learned.status,
    }
    return content | asdict(learned.certificate)


def _require_open_options(
    settings: LearnerSettings, start: Path | None, ledger: Path | None
) -> None:
    """Raise ConfigError where a learner that is not private has no use for an option."""
    name = settings.learner
    if ledger is not None:
        raise ConfigError(f"--ledger is for private learners, not for {name!r}")
    if start is not None and not find_learner(name).takes_start:
        able = ", ".join(key for key, learner in LEARNERS.items() if learner.takes_start)
        raise ConfigError(f"--start-dag is for {able}; the learner {name!r} has no use for it")
    require_ess_of(settings.score, settings.ess)


def _score_of(
    dag: DAG, learned: LearnedStructures, dataset: Dataset, settings: LearnerSettings
) -> float | None:
    """The score of the structure that is shown, which of several need not be the learner's own;
    None where several came of imputed cells, as no completed table is kept."""
    if learned.score is not None and len(learned.dags) == 1:
        return learned.score
    if dataset.gone is not None:
        return None
    return total_score(local_score_of(settings.score, dataset, ess=settings.ess), dag)
