"""What a client sends of its credible set: one DAG per class, at most k, with weights.

Where the limits do not allow the whole set, the DAGs within the largest part of ε that was reached
are sent; where not even the optimum was found, the best DAG of an ordering search under two
parents per variable. Both are said: the status is then "fallback".
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbn.credible.averaging import weighted_structures
from fedbn.credible.candidates import candidate_sets
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import credible_set
from fedbn.data.dataset import Dataset
from fedbn.errors import SearchError
from fedbn.graphs.dag import DAG
from fedbn.scores import make_score
from fedbn.search.optimal import learn_optimal

__all__ = ["CredibleStructures", "credible_structures"]

FALLBACK_PARENTS = 2


@dataclass(frozen=True)
class CredibleStructures:
    """DAGs by descending weight; the weights sum to 1.

    Parameters
    ----------
    status : "complete", or "fallback" when the exact set was out of reach.
    score : of the best DAG, maximised.
    dropped : share of the set's weight in classes that were not sent.
    reason : "" or why it is a fallback.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: Literal["complete", "fallback"]
    score: float
    dropped: float
    reason: str


def credible_structures(
    dataset: Dataset,
    score: str = "bic",
    *,
    ess: float = 1.0,
    bayes_factor: float = 20.0,
    max_dags: int = 20,
    max_parents: int | None = None,
    seconds: float | None = None,
    memory: int | None = None,
    rng: np.random.Generator | None = None,
) -> CredibleStructures:
    """One DAG per credible class of a table, the heaviest first.

    Parameters
    ----------
    dataset, score, ess, bayes_factor, max_parents : see `candidate_sets`.
    max_dags : how many classes at most.
    seconds, memory : limits (wall clock; bytes).

    Raises
    ------
    ConfigError, DataError : settings or data that no limit would mend.
    """
    began = time.monotonic()
    try:
        candidates = candidate_sets(
            dataset, score, bayes_factor=bayes_factor, ess=ess, max_parents=max_parents,
            memory=memory, seconds=seconds,
        )  # fmt: skip
        left = None if seconds is None else max(0.0, began + seconds - time.monotonic())
        found = credible_set(candidates, memory=memory, seconds=left, rng=rng)
        dags, weights, dropped = weighted_structures(markov_classes(found), max_dags)
    except SearchError as error:
        cap = FALLBACK_PARENTS if max_parents is None else min(max_parents, FALLBACK_PARENTS)
        best = learn_optimal(
            make_score(score, dataset, ess=ess), "ordering", max_parents=cap, rng=rng
        )
        return CredibleStructures((best.dag,), (1.0,), "fallback", best.score, 0.0, str(error))
    # A cap that the user set is not a fallback; a limit that was met is.
    reason = found.limit
    if not candidates.complete and (max_parents is None or candidates.largest < max_parents):
        reason = reason or f"parent sets end at {candidates.largest} variables"
    return CredibleStructures(
        tuple(dags),
        tuple(weights),
        "fallback" if reason else "complete",
        -found.opt,
        dropped,
        reason,
    )
