"""The credible set as a learner: several structures of one table, weighted."""

from __future__ import annotations

import warnings

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import FedbnWarning
from fedbn.graphs.dag import DAG
from fedbn.learners.learner import Found, knowledge_in
from fedbn.learners.settings import LearnerSettings


def run_credible(
    dataset: Dataset, settings: LearnerSettings, rng: np.random.Generator, start: DAG | None
) -> Found:
    """The heaviest classes within a Bayes factor of the best, one DAG each.

    Warns of what is left out. The set does not depend on where a search starts, so `start` is
    of no use here.
    """
    from fedbn.credible.client import credible_structures

    found = credible_structures(
        dataset,
        settings.score,
        ess=settings.ess,
        row_weight=settings.single_row_weight,
        bayes_factor=settings.bayes_factor,
        max_dags=settings.max_dags,
        max_parents=settings.max_parents,
        seconds=settings.seconds,
        rng=rng,
        knowledge=knowledge_in(settings),
    )
    if found.reason:
        warnings.warn(f"not the whole credible set: {found.reason}", FedbnWarning, stacklevel=2)
    if found.dropped > 0.005:
        share = f"{100 * found.dropped:.1f} %"
        text = f"{share} of the credible weight is in classes that are not sent"
        warnings.warn(text, FedbnWarning, stacklevel=2)
    return Found(found.dags, found.weights, found.score, found.met)
