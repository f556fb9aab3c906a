"""What a client sends of its credible set: one DAG per class, at most k, with weights.

Where the exact set is out of reach (its candidates do not fit the memory or the time), the set
within a superstructure is taken; where limits cut a set short, the part of it that is there. Where
even its classes do not fit, the single best DAG. All are said: the status is then "fallback".
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fedbn.credible.averaging import weighted_structures
from fedbn.credible.classes import markov_classes
from fedbn.credible.enumerate import CredibleSet, credible_set
from fedbn.credible.pruning import Candidates, candidate_sets
from fedbn.credible.superstructure import superstructure_candidates
from fedbn.data.dataset import Dataset
from fedbn.errors import SearchError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import Limit, free_memory, in_words


@dataclass(frozen=True)
class CredibleStructures:
    """DAGs by descending weight; the weights sum to 1.

    Parameters
    ----------
    met : FALLBACK when the exact set was out of reach, PARENTS when a cap was binding.
    score : of the best DAG, maximised.
    dropped : share of the set's weight in classes that were not sent.
    reason : "" or why it is a fallback, and what was sent instead.
    """

    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    met: frozenset[Limit]
    score: float
    dropped: float
    reason: str


def credible_structures(
    dataset: Dataset,
    score: str = "bic",
    *,
    ess: float = 1.0,
    row_weight: float = 1.0,
    bayes_factor: float = 20.0,
    max_dags: int = 20,
    max_parents: int | None = None,
    seconds: float | None = None,
    memory: int | None = None,
    rng: np.random.Generator | None = None,
    knowledge: Knowledge | None = None,
) -> CredibleStructures:
    """One DAG per credible class of a table, the heaviest first.

    Parameters
    ----------
    dataset, score, ess, row_weight, bayes_factor, max_parents : see `candidate_sets`.
    max_dags : how many classes at most.
    seconds : wall clock; half of it at most goes to the candidates.
    memory : bytes, by default half of what is free.
    knowledge : what every DAG keeps.

    Raises
    ------
    ConfigError, DataError : settings or data that no limit would mend.
    """
    began = time.monotonic()
    memory = free_memory() // 2 if memory is None else memory
    candidates, reason = _candidates(
        dataset, score, ess, row_weight, bayes_factor, max_parents, memory, seconds, knowledge
    )
    left = None if seconds is None else max(0.0, began + seconds - time.monotonic())
    found = credible_set(candidates, memory=memory, seconds=left, rng=rng)
    if not reason and not found.complete and not _as_asked(candidates, found):
        reason = f"{found.limit}; {found.proof}"
    try:
        dags, weights, dropped = weighted_structures(
            markov_classes(found, memory=memory, seconds=left), max_dags
        )
    except SearchError as error:
        reason = reason or f"{error}; the best graph alone is sent"
        best = found.k_best(1)[0]
        dags, weights, dropped = [best.dag], [1.0], max(0.0, 1.0 - 1.0 / found.total_weight)
    met = frozenset({Limit.FALLBACK}) if reason else candidates.met
    return CredibleStructures(tuple(dags), tuple(weights), met, -found.opt, dropped, reason)


def _candidates(
    dataset: Dataset, score: str, ess: float, row_weight: float, bayes_factor: float,
    max_parents: int | None, memory: int, seconds: float | None, knowledge: Knowledge | None,
) -> tuple[Candidates, str]:  # fmt: skip
    """All candidates under the user's cap, or those of a superstructure and why."""
    try:
        candidates = candidate_sets(
            dataset, score, bayes_factor=bayes_factor, ess=ess, row_weight=row_weight,
            max_parents=max_parents, memory=memory,
            seconds=None if seconds is None else seconds / 2, knowledge=knowledge,
        )  # fmt: skip
    except SearchError as error:
        why = str(error)
    else:
        known = knowledge is not None and not candidates.met
        if candidates.complete or known or candidates.met == {Limit.PARENTS}:
            return candidates, ""
        why = f"candidate parent sets: {in_words(candidates.met)}"
    smaller = superstructure_candidates(
        dataset, score, bayes_factor=bayes_factor, ess=ess, row_weight=row_weight,
        max_parents=max_parents, knowledge=knowledge,
    )  # fmt: skip
    return smaller, f"{why}; sent is the credible set with {smaller.scope}"


def _as_asked(candidates: Candidates, found: CredibleSet) -> bool:
    """Whether the set is whole under the user's cap on parents and knowledge, which alone were
    binding."""
    whole = found.covered == found.epsilon and all(part.whole for part in found.parts)
    asked = bool(candidates.met) or candidates.knowledge is not None
    return whole and asked and candidates.met <= {Limit.PARENTS}
