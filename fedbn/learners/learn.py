"""Learn structures from one table: a data set and settings in, weighted DAGs out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import Certificate, Found, scores_of
from fedbn.learners.settings import LearnerSettings
from fedbn.learners.table import learner_for
from fedbn.limits import Limit, status_of

if TYPE_CHECKING:
    from fedbn.scores import TabulatedScore


@dataclass(frozen=True)
class LearnedStructures:
    """What :func:`learn` found, and for humans what it took.

    Attributes
    ----------
    dags, weights : DAGs in name order, and a positive weight for each.
    score : of the best DAG, higher is better; None when the learner has no single score.
    met : the limits that kept the search from considering everything.
    certificate : what is proven of the score.
    seconds : CPU seconds of scoring and search alone.
    startup_seconds : CPU seconds that a child process took to start, where the learner has one.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    score: float | None
    met: frozenset[Limit]
    certificate: Certificate
    seconds: float
    startup_seconds: float

    @property
    def status(self) -> str:
        """The word of `fedbn.limits.STATUSES` for the limits that were met."""
        return status_of(self.met)


def learn(
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
) -> LearnedStructures:
    """Learn structures from one table.

    Parameters
    ----------
    dataset : the table; its kind must suit the score. Missing cells are filled first
        (`fedbn.learners.completion`), as often as the settings have `imputations`: of several
        tables completed so, all have the same weight, and nothing is proven of a score.
    settings : which learner, which score, which limits; all searches of a table with missing cells
        share the limits of time and memory.
    rng : for learners that are random.
    start : where the search starts, over the same names; None for the empty graph.

    Raises
    ------
    ConfigError : the learner or the score is unknown, or does not suit the kind of data; or the
        learner has no use for a setting that is given.
    """
    learner, each = learner_for(settings), _of_each_search(settings, dataset)

    def run() -> Found:
        tables = _without_gaps(dataset, each, rng, start)
        return _of_all([learner.run(table, each, rng, start) for table in tables], settings)

    return _measure(run)


def _of_each_search(
    settings: LearnerSettings, dataset: Dataset, *, completes: bool = True
) -> LearnerSettings:
    """The settings of one search: all searches of a table with missing cells share the time limit,
    and its completed tables, whose scores are kept together, the memory. The searches that complete
    it are among them where these are the settings that complete it."""
    if dataset.gone is None:
        return settings
    from fedbn.learners.completion import SEARCHES

    limit, tables = settings.seconds, settings.imputations
    searches = tables * (SEARCHES if completes else 1)
    return replace(
        settings,
        seconds=None if limit is None else limit / searches,
        memory_mb=max(1.0, settings.memory_mb / tables),
    )


def _of_all(found: Sequence[Found], settings: LearnerSettings) -> Found:
    """What was found in several tables as one, all of them with the same weight; equal structures
    are one, and the heaviest are kept."""
    if len(found) == 1:
        return found[0]
    weights: dict[DAG, float] = {}
    for each in found:
        for dag, weight in zip(each.dags, each.weights, strict=True):
            share = weight / sum(each.weights) / len(found)
            weights[dag] = weights.get(dag, 0.0) + share
    kept = sorted(weights, key=lambda dag: (-weights[dag], dag.edges))[: settings.max_structures]
    met = frozenset(limit for each in found for limit in each.met)
    return Found(tuple(kept), tuple(weights[dag] for dag in kept), None, met)


def _without_gaps(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> list[Dataset]:
    """The table, or as many as are wanted, with its missing cells filled by structural EM with this
    learner."""
    if dataset.gone is None:
        return [dataset]
    from fedbn.learners.completion import complete

    learner = learner_for(settings)
    if learner.is_private:
        raise ConfigError(
            f"{settings.learner} cannot impute missing cells: how they are filled is not private; "
            "use missing-cells state or drop-rows"
        )

    def best(table: Dataset, least: float) -> DAG:
        row_weight = max(settings.single_row_weight, least)
        found = learner.run(table, replace(settings, row_weight=row_weight), rng, start)
        return found.dags[int(np.argmax(found.weights))]

    return [complete(dataset, best, rng) for _ in range(settings.imputations)]


def learn_ladder(
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
) -> tuple[LearnedStructures, ...]:
    """Learn once for each row weight of the settings, which may be a ladder or one number.

    The same structures and scores as `learn` gives for each row weight by itself, one after the
    other, but that missing cells are filled once, with the first row weight. Where the learner sees
    the table through its score alone, what one search counts the next ones know. Raises what
    `learn` raises.
    """
    each = _of_each_search(settings, dataset)
    rungs = [
        replace(_of_each_search(settings, dataset, completes=place == 0), row_weight=k)
        for place, k in enumerate(settings.ladder)
    ]
    tables = _without_gaps(dataset, rungs[0], rng, start)
    learner = learner_for(settings)
    search = learner.search
    scores: list[tuple[TabulatedScore, ...]] = []

    def climb(place: int) -> Found:
        rung = rungs[place]
        if search is None:
            return _of_all([learner.run(table, rung, rng, start) for table in tables], rung)
        if not scores:
            scores.extend(scores_of(table, each) for table in tables)
        return _of_all([search(of[place], rung, rng, start) for of in scores], rung)

    return tuple(_measure(partial(climb, place)) for place in range(len(rungs)))


def _measure(run: Callable[[], Found]) -> LearnedStructures:
    """What a run finds, with the CPU seconds that it takes and those of its start."""
    began = _cpu_seconds()
    found = run()
    seconds, startup = _cpu_seconds() - began, 0.0
    if found.spent is not None:
        seconds, startup = found.spent.seconds, found.spent.startup_seconds
    return LearnedStructures(
        dags=found.dags,
        weights=found.weights,
        score=found.score,
        met=found.met,
        certificate=found.certificate,
        seconds=seconds,
        startup_seconds=startup,
    )


def _cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
