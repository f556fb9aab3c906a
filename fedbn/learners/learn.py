"""Learn structures from one table: a data set and settings in, weighted DAGs out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset, Schema
from fedbn.graphs.dag import DAG
from fedbn.kernel_compilation import without_collection
from fedbn.learners.learner import Certificate, Found, Learner, scores_of
from fedbn.learners.settings import LearnerSettings
from fedbn.learners.table import kind_of_score, learner_for
from fedbn.limits import Limit, status_of

if TYPE_CHECKING:
    from fedbn.scores import TabulatedScore

__all__ = ["LearnedStructures", "learn", "learn_ladder", "warm_up"]


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
    startup_seconds : CPU seconds of importing the search and of compiling or loading its kernels,
        which the first call of a process pays.
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
    dataset : the table; its kind must suit the score.
    settings : which learner, which score, which limits.
    rng : for learners that are random.
    start : where the search starts, over the same names; None for the empty graph.

    Raises
    ------
    ConfigError : the learner or the score is unknown, or does not suit the kind of data; or the
        learner has no use for a setting that is given.
    """
    learner = learner_for(settings)
    return _measure(learner, settings, lambda: learner.run(dataset, settings, rng, start))


def learn_ladder(
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
) -> tuple[LearnedStructures, ...]:
    """Learn once for each row weight of the settings, which may be a ladder or one number.

    The same structures and scores as `learn` gives for each row weight by itself, one after the
    other. Where the learner sees the table through its score alone, what one search counts the
    next ones know. Raises what `learn` raises.
    """
    rungs = [replace(settings, row_weight=k) for k in settings.ladder]
    search = learner_for(settings).search
    if search is None:
        return tuple(learn(dataset, rung, rng, start) for rung in rungs)
    scores: list[TabulatedScore] = []

    def climb(place: int) -> Found:
        if not scores:
            scores.extend(scores_of(dataset, settings))
        return search(scores[place], rungs[place], rng, start)

    return tuple(
        _measure(learner_for(rung), rung, partial(climb, place)) for place, rung in enumerate(rungs)
    )


def _measure(
    learner: Learner, settings: LearnerSettings, run: Callable[[], Found]
) -> LearnedStructures:
    """What a run finds, with the CPU seconds that it takes and those of its start."""
    began = _cpu_seconds()
    if not learner.is_isolated:
        warm_up(settings.learner, settings.score, settings.turning)
    ready = _cpu_seconds()
    found = run()
    seconds, startup = _cpu_seconds() - ready, ready - began
    if found.spent is not None:
        seconds = found.spent.seconds
        startup += found.spent.startup_seconds
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


@cache
def warm_up(name: str, score: str, turning: bool) -> None:
    """Run a learner once per process on a table of no interest, to compile or load its kernels."""
    replicates = 1 if name == "bootstrap" else LearnerSettings.replicates
    settings = LearnerSettings(learner=name, score=score, turning=turning, replicates=replicates)
    table = _any_table(kind_of_score(score))
    with without_collection():
        learner_for(settings).run(table, settings, np.random.default_rng(0), None)


def _any_table(kind: str) -> Dataset:
    """Three related columns of 32 rows."""
    draws = np.random.default_rng(0).normal(size=(32, 3)).cumsum(axis=1)
    if kind == "gaussian":
        return Dataset(Schema.gaussian(("a", "b", "c")), draws)
    schema = Schema.categorical(dict.fromkeys(("a", "b", "c"), ("0", "1")))
    return Dataset(schema, (draws > 0).astype(np.int32))
