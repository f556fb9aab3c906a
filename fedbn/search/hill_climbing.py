"""Hill climbing over DAGs with a tabu list and random restarts: the baseline.

Add, remove or reverse the edge that gains most. With `tabu` > 0, the search then goes on over worse
graphs until `patience` steps in a row bring no new best; a pair that was changed stays as it is for
`tabu` steps, unless its change makes a new best (Glover's tabu search, as in Bouckaert 1995).
Each restart changes `perturbation` edges of the best graph at random and climbs again. Background
knowledge is never broken. Ties within 1e-9 (1 + |score|): additions before removals before
reversals, then (y, x).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from fedbn._core.search import Hill
from fedbn.errors import ConfigError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.random import perturb
from fedbn.limits import NOTHING_MET, Limit
from fedbn.scores.base import TabulatedScore, total_score
from fedbn.search.constraints import FREE, SearchRules
from fedbn.search.result import SearchResult

_STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 200


def hill_climbing(
    score: TabulatedScore,
    rules: SearchRules = FREE,
    *,
    tabu: int = 0,
    patience: int | None = None,
    restarts: int = 0,
    perturbation: int | None = None,
) -> SearchResult:
    """The best DAG that greedy moves on single edges find.

    Parameters
    ----------
    score : from `fedbn.scores.make_score`.
    rules : start, limits, knowledge, and the random draws of restarts; no max_t.
    tabu : steps for which a changed pair is left alone; 0 for plain hill climbing.
    patience : steps without a new best before a tabu search ends; `tabu` by default.
    restarts : how often to climb again from a perturbed best graph; needs an rng.
    perturbation : edges changed at random for a restart; a tenth of the nodes, 1 at least.

    Raises
    ------
    ConfigError : a setting is out of range, restarts lack an rng, a max_t is given, or the
        knowledge contradicts the start.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> hill_climbing(make_score("bdeu", data)).dag.n_edges
    1
    """
    _require_settings(rules, tabu, patience, restarts, perturbation)
    deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
    dag = DAG.empty(score.names) if rules.start is None else rules.start.reorder(score.names)
    changes = max(1, score.n // 10) if perturbation is None else perturbation
    length = tabu if patience is None else patience
    climber = _Climber(score, rules, tabu, length if tabu else 0, deadline)
    best = climber.run(rules.known.with_required(dag))
    best_total = total_score(score, best)
    for _ in range(restarts):
        if Limit.TIME in climber.met:
            break
        found = climber.run(_shake(best, changes, rules))
        value = total_score(score, found)
        if value > best_total + 1e-9 * (1.0 + abs(best_total)):
            best, best_total = found, value
    return SearchResult(best, dag_to_cpdag(best), best_total, climber.met, {"steps": climber.steps})


def _shake(dag: DAG, changes: int, rules: SearchRules) -> DAG:
    """`dag` after random changes that knowledge and limit allow; itself if 100 draws fail."""
    assert rules.rng is not None
    for _ in range(100):
        try:
            shaken = rules.known.with_required(perturb(dag, changes, rng=rules.rng))
        except ConfigError:
            continue
        if rules.max_parents is None or shaken.in_degree <= rules.max_parents:
            return shaken
    return dag


@dataclass
class _Climber:
    """One climb after another with the same settings and one deadline for all."""

    score: TabulatedScore
    rules: SearchRules
    tabu: int
    patience: int
    deadline: float | None
    steps: int = 0
    met: frozenset[Limit] = NOTHING_MET

    def run(self, dag: DAG) -> DAG:
        """The best DAG met from `dag`."""
        hill = Hill(
            self.score.core,
            pack(dag.adjacency.T),
            **self.rules.known.bits(self.score.names),
            max_parents=self.rules.max_parents,
            tabu_length=self.tabu,
            patience=self.patience,
        )
        budget = None if self.deadline is None else _STEPS_BETWEEN_LOOKS_AT_THE_CLOCK
        finished = False
        while not finished and (self.deadline is None or time.monotonic() < self.deadline):
            finished = hill.climb(budget)
        self.steps += hill.steps
        self.met |= {Limit.PARENTS} if hill.met_max_parents else NOTHING_MET
        self.met |= NOTHING_MET if finished else {Limit.TIME}
        return DAG(self.score.names, unpack(hill.best(), self.score.n).T)


def _require_settings(
    rules: SearchRules,
    tabu: int,
    patience: int | None,
    restarts: int,
    perturbation: int | None,
) -> None:
    counts = {
        "tabu": tabu,
        "patience": patience,
        "restarts": restarts,
        "perturbation": perturbation,
    }
    for name, value in counts.items():
        if value is not None and value < 0:
            raise ConfigError(f"{name} must be at least 0, not {value}")
    if rules.max_t is not None:
        raise ConfigError(f"hill climbing has no Insert, so no max_t, got {rules.max_t}")
    if restarts and rules.rng is None:
        raise ConfigError(f"{restarts} restarts are random, so they need an rng")
