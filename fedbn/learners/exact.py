"""The searches for a best structure as learners; each runs in a process of its own."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import FedbnWarning, SearchError
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import HEURISTIC, Certificate, Found, Spent, knowledge_in, score_of
from fedbn.learners.settings import LearnerSettings
from fedbn.limits import Limit

if TYPE_CHECKING:
    from fedbn.search.optimal.learn import OptimalResult


def run_optimal(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """The proven optimum, or as much of it as the limits allow; `start` is of no use here."""
    return _by_proof(dataset, settings, rng, "auto")


def run_ordering(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Ordering search over all undominated parent sets: seldom short of the optimum, no bound."""
    return _by_proof(dataset, settings, rng, "ordering")


def run_cg_dca(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """CG-DCA as published: a heuristic without bound.

    It begins with no edges, whatever `start`. Where a solver fails, the ordering search over small
    parent sets gives the DAG, with a warning.
    """
    from fedbn.search.cg_dca.choices import pricing_for
    from fedbn.search.cg_dca.in_child_process import learn_isolated
    from fedbn.search.optimal.in_child_process import fallback

    score, knowledge = score_of(dataset, settings), knowledge_in(settings)
    try:
        answer = learn_isolated(
            score,
            pricing=pricing_for(score, settings.pricing),
            max_parents=settings.max_parents,
            seconds=settings.seconds,
            memory=_bytes(settings),
            rng=rng,
            knowledge=knowledge,
        )
    except SearchError as error:
        best = fallback(score, settings.max_parents, rng, str(error), knowledge)
        warnings.warn(f"cg-dca failed: {best.proof}", FedbnWarning, stacklevel=2)
        return Found((best.dag,), (1.0,), best.score, best.met)
    result, spent = answer.result, Spent(answer.seconds, answer.startup_seconds)
    return Found((result.dag,), (1.0,), result.score, result.met, HEURISTIC, spent)


def _by_proof(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, method: str
) -> Found:
    """`learn_optimal` in a process of its own; warns when it had to fall back."""
    from fedbn.search.optimal.in_child_process import learn_isolated

    answer = learn_isolated(
        score_of(dataset, settings),
        method,
        seconds=settings.seconds,
        memory=_bytes(settings),
        max_parents=settings.max_parents,
        rng=rng,
        knowledge=knowledge_in(settings),
    )
    found: OptimalResult = answer.result
    if Limit.FALLBACK in found.met:
        warnings.warn(f"no proven structure: {found.proof}", FedbnWarning, stacklevel=3)
    bounded = math.isfinite(found.upper_bound)
    certificate = Certificate(
        found.status,
        found.upper_bound if bounded else None,
        found.gap if bounded else None,
        found.proof,
    )
    spent = Spent(answer.seconds, answer.startup_seconds)
    return Found((found.dag,), (1.0,), found.score, found.met, certificate, spent)


def _bytes(settings: LearnerSettings) -> int | None:
    memory = settings.search_memory_mb
    return None if memory is None else int(memory * 2**20)
