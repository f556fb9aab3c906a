"""The greedy searches as learners, and the bootstrap of GES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import Found, knowledge_in, score_of
from fedbn.learners.settings import LearnerSettings
from fedbn.limits import Limit

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore
    from fedbn.search.constraints import SearchRules
    from fedbn.search.result import SearchResult

HILL_CLIMBING_TABU = 10
"""Steps for which the learner `hc` leaves a changed pair alone."""


def search_ges(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Chickering's greedy equivalence search; its CPDAG's canonical extension."""
    from fedbn.search.ges import ges

    search = partial(ges, turning=settings.turning, repeat=settings.repeat)
    return _over_classes(search, score, settings, rng, start)


def search_xges0(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """XGES-0: the best Delete, else the best Turn, else the best Insert."""
    from fedbn.search.xges import xges0

    return _over_classes(xges0, score, settings, rng, start)


def search_xges(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """XGES: XGES-0, then again from where an edge is taken away, until that brings nothing."""
    from fedbn.search.xges import xges

    return _over_classes(xges, score, settings, rng, start)


def search_ils(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Iterated local search: XGES-0, then kicks and climbs over DAGs."""
    from fedbn.search.iterated_local_search import iterated_local_search

    return _over_classes(partial(iterated_local_search, rng=rng), score, settings, rng, start)


def search_boss(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Best order score search: nodes moved in an order of them, kicks, then Deletes."""
    from fedbn.search.boss import boss

    rules, memory = _rules(settings, start, None), settings.memory_mb
    return _one(boss(score, rules, rng=rng, memory_mb=memory, candidates=settings.candidates))


def search_hill_climbing(
    score: TabulatedScore, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Hill climbing over DAGs with a tabu list, the baseline."""
    from fedbn.search.hill_climbing import hill_climbing

    rules = _rules(settings, start, None)
    return _one(hill_climbing(score, rules, tabu=HILL_CLIMBING_TABU))


def run_bootstrap(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """GES on resampled rows: the most frequent DAGs, weighted by their frequency.

    A time limit holds for the replicates together, shared equally. There is no single score.
    """
    from fedbn.search.bootstrap import bootstrap

    each = None if settings.seconds is None else settings.seconds / settings.replicates
    met: set[Limit] = set()

    def one(sample: Dataset, generator: np.random.Generator) -> DAG:
        shorter = replace(settings, seconds=each)
        found = search_ges(score_of(sample, shorter), shorter, generator, start)
        met.update(found.met)
        return found.dags[0]

    dags, weights = bootstrap(dataset, one, rng=rng, replicates=settings.replicates).weigh()
    kept = weights[: settings.max_dags]
    shares = tuple(weight / sum(kept) for weight in kept)
    return Found(dags[: settings.max_dags], shares, None, frozenset(met))


def _over_classes(
    search: Callable[..., SearchResult],
    score: TabulatedScore,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None,
) -> Found:
    """A search over equivalence classes with the settings that all of them have."""
    rules = _rules(settings, start, rng if settings.random_ties else None)
    return _one(search(score, rules))


def _one(result: SearchResult) -> Found:
    return Found((result.dag,), (1.0,), result.score, result.met)


def _rules(
    settings: LearnerSettings, start: DAG | None, rng: np.random.Generator | None
) -> SearchRules:
    """The rules of the settings, with their background knowledge."""
    from fedbn.search.constraints import SearchRules

    return SearchRules(
        start=start,
        max_parents=settings.max_parents,
        max_t=settings.max_t,
        seconds=settings.seconds,
        knowledge=knowledge_in(settings),
        rng=rng,
    )
