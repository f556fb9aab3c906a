"""A learner as one object, and what it returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.learners.settings import LearnerSettings
from fedbn.limits import NOTHING_MET, Limit

if TYPE_CHECKING:
    from fedbn.graphs.knowledge import Knowledge
    from fedbn.scores import LocalScore, TabulatedScore


@dataclass(frozen=True)
class Certificate:
    """What is proven of a score.

    Attributes
    ----------
    certificate : "optimal"; "optimal within limits" (no DAG that keeps `max_parents` scores more);
        "feasible with bound"; or "heuristic", of which nothing is proven.
    upper_bound, gap : what no DAG exceeds, and how far below it the score is; None for a heuristic.
    proof : in words, what the bound rests on.
    """

    certificate: str
    upper_bound: float | None = None
    gap: float | None = None
    proof: str | None = None


HEURISTIC = Certificate("heuristic")


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a search in a process of its own, and of starting that process."""

    seconds: float
    startup_seconds: float


@dataclass(frozen=True)
class Found:
    """What a learner returns.

    Attributes
    ----------
    dags, weights : DAGs in name order, and a positive weight for each.
    score : of the best DAG, higher is better; None when the learner has no single score.
    met : the limits that kept the search from considering everything.
    certificate : what is proven of the score.
    spent : where the search ran in a process of its own.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    score: float | None
    met: frozenset[Limit] = NOTHING_MET
    certificate: Certificate = HEURISTIC
    spent: Spent | None = None


Run = Callable[[Dataset, LearnerSettings, np.random.Generator, DAG | None], Found]
"""(table, settings, rng, start) -> what was found."""

Search = Callable[["TabulatedScore", LearnerSettings, np.random.Generator, DAG | None], Found]
"""(score, settings, rng, start) -> what was found."""


@dataclass(frozen=True)
class Learner:
    """One way to learn structures from one table.

    Attributes
    ----------
    run : imports its search when it is called: a client process loads only what it runs.
    uses : the fields of LearnerSettings that it has a use for, beside those that all share.
    takes_start : whether its search can begin at a given DAG.
    is_private : whether its structures are differentially private (`fedbn.privacy`).
    search : where the learner sees the table through its score alone, what it does with the score:
        then a ladder of row weights counts once for all of them.
    own : the class of its settings, which adds those of its own (`fedbn.own_settings`).
    function : what somebody else wrote; None for fedbn's own.
    """

    run: Run
    uses: frozenset[str] = frozenset()
    takes_start: bool = False
    is_private: bool = False
    search: Search | None = None
    own: type[LearnerSettings] = LearnerSettings
    function: Callable[..., Any] | None = None


def run_search(search: Search) -> Run:
    """The run that makes the score of the settings and searches with it."""

    def run(
        dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
    ) -> Found:
        return search(score_of(dataset, settings), settings, rng, start)

    return run


def knowledge_in(settings: LearnerSettings) -> Knowledge | None:
    """What the settings' knowledge says, text or file; raises ConfigError."""
    from fedbn.graphs.knowledge import read_knowledge

    return None if settings.knowledge is None else read_knowledge(settings.knowledge)


def score_of(dataset: Dataset, settings: LearnerSettings) -> TabulatedScore:
    """The score that the settings name, on the table; raises ConfigError for a ladder."""
    from fedbn.scores import make_score

    return make_score(
        settings.score,
        dataset,
        ess=settings.ess,
        row_weight=settings.single_row_weight,
        memory_mb=settings.memory_mb,
        threads=settings.threads,
    )


def any_score_of(dataset: Dataset, settings: LearnerSettings) -> LocalScore:
    """The score that the settings name, on the table, whoever made it; raises as `score_of`."""
    from fedbn.scores import local_score_of

    return local_score_of(
        settings.score,
        dataset,
        ess=settings.ess,
        row_weight=settings.single_row_weight,
        memory_mb=settings.memory_mb,
    )


def scores_of(dataset: Dataset, settings: LearnerSettings) -> tuple[TabulatedScore, ...]:
    """The score that the settings name, for each row weight of the ladder, counted once."""
    from fedbn.scores import make_scores

    return make_scores(
        settings.score,
        dataset,
        settings.ladder,
        ess=settings.ess,
        memory_mb=settings.memory_mb,
        threads=settings.threads,
    )
