"""`fedbn learn` with a private learner: a promise and a line in the ledger, no score, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from fedbn.errors import ConfigError
from fedbn.graphs.writing import structure_text, write_structure
from fedbn.learners import kind_of_score, learn
from fedbn.learners.private import promise, stated_bounds
from fedbn.privacy.guarantee import ADJACENCY, THREATS, UNIT, Guarantee
from fedbn.privacy.ledger import Reservation, ledger_beside, reserve, table_digest
from fedbn.wording import count_of
from simulations.progress import stages
from simulations.terminal import print_json

if TYPE_CHECKING:
    from fedbn.data.dataset import Dataset
    from fedbn.federation.settings import Experiment
    from fedbn.graphs.dag import DAG
    from fedbn.learners import LearnerSettings


def require_private_options(
    experiment: Experiment, schema: Path | None, start: Path | None
) -> None:
    """Raise ConfigError where the structure would depend on data by another way than its noise."""
    settings = experiment.learner
    if experiment.tables.discretise:
        raise ConfigError(
            f"--discretise is not for the private learner {settings.learner}: cut points found in "
            "the table are data, too; give a schema with cut points"
        )
    if schema is None:
        raise ConfigError(
            f"the private learner {settings.learner} needs --schema: the states in a table are "
            "data, too"
        )
    if settings.learner == "dp-moments" and kind_of_score(settings.score) == "gaussian":
        stated_bounds(settings)
    if start is not None:
        raise ConfigError(f"--start-dag is not for the private learner {settings.learner}")


def learn_private(
    table: Path,
    dataset: Dataset,
    settings: LearnerSettings,
    *,
    ledger: Path | None,
    out: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Reserve, learn, and print or write the structure with what is promised of it.

    With noise from the seed nothing is promised, and nothing is written unless a ledger is named.

    Raises
    ------
    FedbnError : a setting is not as it must be, or the ledger cannot be written.
    """
    guarantee, spent = promise(settings), None
    if ledger is not None or not guarantee.seeded:
        path = ledger or ledger_beside(table)
        spent = reserve(
            path,
            guarantee,
            run="learn",
            round=1,
            table=table_digest(dataset, path),
            mechanism=settings.learner,
            parameters={
                "dp-edges": settings.dp_edges,
                "max-parents": settings.max_parents,
                "bounds": settings.bounds,
                "noise": settings.noise,
            },
        )
    with stages(not (quiet or as_json)) as notify:
        notify(f"learning from the table with {settings.learner}")
        dag = learn(dataset, settings, np.random.default_rng(seed)).dags[0]
    if out is not None:
        write_structure(dag, out)
    if as_json:
        print_json(_content(dag, guarantee, spent))
        return
    if out is None:
        print(structure_text(dag, ".csv"), end="")
    if not quiet:
        total = "" if spent is None else f"; ε {spent.epsilon:.4g} in all (fedbn budget)"
        typer.echo(
            f"{count_of(dag.n, 'column')}, {count_of(dag.n_edges, 'edge')}; "
            f"{guarantee.words}{total}",
            err=True,
        )


def promise_json(guarantee: Guarantee) -> Mapping[str, Any]:
    """ε with all that belongs to it, for JSON."""
    return {
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "unit": UNIT,
        "adjacency": ADJACENCY,
        "threats": "" if guarantee.seeded else THREATS,
        "words": guarantee.words,
    }


def _content(dag: DAG, guarantee: Guarantee, spent: Reservation | None) -> dict[str, Any]:
    return {
        "nodes": list(dag.names),
        "edges": [list(edge) for edge in dag.edges],
        "status": "complete",
        "privacy": promise_json(guarantee),
        "spent": None if spent is None else {"rho": spent.spent_rho, "epsilon": spent.epsilon},
    }
