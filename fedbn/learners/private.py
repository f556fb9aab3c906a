"""Learners whose structures are differentially private per row.

They begin with nothing, use no score, and say nothing but their DAG: status, weight and score are
the same for every table. The noise is that of the operating system, unless an experiment wants it
from its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from random import Random, SystemRandom
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, DataError
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import Found
from fedbn.learners.settings import LearnerSettings
from fedbn.privacy.bounds import Bounds
from fedbn.privacy.guarantee import Guarantee

Mechanism = Callable[..., tuple[DAG, Any]]


def run_dp_climb(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Hill climbing that only adds arcs, one private draw per arc."""
    from fedbn.privacy.climb import dp_climb

    mechanism = partial(dp_climb, edges=Fraction(settings.dp_edges))
    return _draw(mechanism, dataset, settings, rng, start)


def run_dp_ges(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Greedy equivalence search, one private draw per operator."""
    from fedbn.privacy.class_climb import dp_ges

    mechanism = partial(dp_ges, edges=Fraction(settings.dp_edges))
    return _draw(mechanism, dataset, settings, rng, start)


def run_dp_moments(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """Noisy covariances of all pairs and the class that they speak for; on categories, then draws
    of dp-ges."""
    from fedbn.privacy.moments import dp_moments
    from fedbn.privacy.number_moments import dp_number_moments

    if dataset.kind != "gaussian":
        if settings.bounds is not None:
            raise ConfigError(f"bounds are for columns of numbers, these are {dataset.kind}")
        return _draw(dp_moments, dataset, settings, rng, start)
    mechanism = partial(dp_number_moments, bounds=Bounds.of(stated_bounds(settings), dataset.names))
    return _draw(mechanism, dataset, settings, rng, start, kind="gaussian")


def stated_bounds(settings: LearnerSettings) -> str:
    """The bounds of columns of numbers; raises ConfigError where none are stated."""
    if settings.bounds is None:
        raise ConfigError(
            "dp-moments needs --bounds for columns of numbers, and they must be known without the "
            "table: the largest number of a table is data, too"
        )
    return settings.bounds


def promise(settings: LearnerSettings) -> Guarantee:
    """What these settings of a private learner promise."""
    return Guarantee(settings.epsilon, settings.delta, seeded=settings.noise == "seeded")


def _draw(
    mechanism: Mechanism,
    dataset: Dataset,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None,
    kind: str = "categorical",
) -> Found:
    if start is not None:
        raise ConfigError(f"the private learner {settings.learner} must begin without a structure")
    if settings.seconds is not None:
        raise ConfigError(f"{settings.learner} takes no learner-seconds: times depend on the data")
    if settings.row_weight != 1:
        raise ConfigError(
            f"row-weight must be 1 for {settings.learner}, not {settings.row_weight}: a row that "
            "counts more would need more noise"
        )
    if dataset.kind != kind:
        raise DataError(f"{settings.learner} needs {kind} data, these are {dataset.kind}")
    seeded = settings.noise == "seeded"
    dag, _ = mechanism(
        dataset,
        rho=Fraction(promise(settings).rho),
        source=Random(int(rng.integers(1 << 62))) if seeded else SystemRandom(),
        max_parents=settings.max_parents,
    )
    return Found((dag,), (1.0,), None)
