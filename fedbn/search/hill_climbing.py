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
from typing import TYPE_CHECKING

import numpy as np

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.random import perturbed
from fedbn.limits import Limit
from fedbn.scores.base import TabulatedScore, total_score
from fedbn.search.knowledge import Knowledge
from fedbn.search.result import SearchResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["hill_climbing"]

_NO_LIMIT = 1 << 40
_STEPS_BETWEEN_LOOKS_AT_THE_CLOCK = 200


def hill_climbing(
    score: TabulatedScore,
    *,
    start: DAG | None = None,
    tabu: int = 0,
    patience: int | None = None,
    restarts: int = 0,
    perturbation: int | None = None,
    max_parents: int | None = None,
    seconds: float | None = None,
    knowledge: Knowledge | None = None,
    rng: np.random.Generator | None = None,
) -> SearchResult:
    """The best DAG that greedy moves on single edges find.

    Parameters
    ----------
    score : from `fedbn.scores.make_score`.
    start : where to begin; the empty graph by default.
    tabu : steps for which a changed pair is left alone; 0 for plain hill climbing.
    patience : steps without a new best before a tabu search ends; `tabu` by default.
    restarts : how often to climb again from a perturbed best graph; needs `rng`.
    perturbation : edges changed at random for a restart; a tenth of the nodes, 1 at least.
    max_parents : largest in-degree that a move may make.
    seconds : wall-clock limit; the best graph until then is the result.
    knowledge : required and forbidden edges and tiers.
    rng : for restarts.

    Raises
    ------
    ConfigError : a setting is out of range, restarts lack an rng, or the knowledge contradicts
        itself or the start.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> hill_climbing(make_score("bdeu", data)).dag.n_edges
    1
    """
    _require_settings(tabu, patience, restarts, perturbation, max_parents, seconds, rng)
    deadline = None if seconds is None else time.monotonic() + seconds
    known = Knowledge() if knowledge is None else knowledge
    known.require_room(max_parents)
    dag = DAG.empty(score.names) if start is None else start.reordered(score.names)
    hit = np.zeros(1, dtype=np.int64)
    changes = max(1, score.n // 10) if perturbation is None else perturbation
    climber = _Climber(score, known, max_parents, tabu, patience, deadline, hit)
    best, finished, steps = climber.run(known.with_required(dag))
    best_total = total_score(score, best)
    for _ in range(restarts):
        if rng is None or not finished:
            break
        found, finished, more = climber.run(_shaken(best, changes, known, max_parents, rng))
        steps += more
        value = total_score(score, found)
        if value > best_total + 1e-9 * (1.0 + abs(best_total)):
            best, best_total = found, value
    limits = {Limit.PARENTS: hit[0], Limit.TIME: not finished}
    met = frozenset(limit for limit, is_met in limits.items() if is_met)
    return SearchResult(best, dag_to_cpdag(best), best_total, met, {"steps": steps})


def _shaken(
    dag: DAG, changes: int, known: Knowledge, max_parents: int | None, rng: np.random.Generator
) -> DAG:
    """`dag` after random changes that knowledge and limit allow; itself if 100 draws fail."""
    for _ in range(100):
        try:
            shaken = known.with_required(perturbed(dag, changes, rng=rng))
        except ConfigError:
            continue
        if max_parents is None or shaken.adjacency.sum(axis=0).max() <= max_parents:
            return shaken
    return dag


class _Climber:
    """One climb with fixed settings."""

    def __init__(
        self,
        score: TabulatedScore,
        knowledge: Knowledge,
        max_parents: int | None,
        tabu: int,
        patience: int | None,
        deadline: float | None,
        hit: NDArray[np.int64],
    ) -> None:
        from fedbn.graphs._bit_kernels import pack
        from fedbn.search._hill_kernels import HillRules

        self.score = score
        self.rules = HillRules(
            forbidden=pack(knowledge.forbidden_matrix(score.names).T),
            required=pack(knowledge.required_matrix(score.names).T),
            max_parents=_NO_LIMIT if max_parents is None else max_parents,
            tabu_length=tabu,
            patience=0 if tabu == 0 else (tabu if patience is None else patience),
        )
        self.deadline = deadline
        self.hit = hit

    def run(self, dag: DAG) -> tuple[DAG, bool, int]:
        """The best DAG met from `dag`, whether the climb came to its end, and its steps."""
        from fedbn.graphs._bit_kernels import pack, unpack
        from fedbn.search._hill_kernels import Hill, climb_hill

        n = self.score.n
        hill = Hill(
            pa=pack(dag.adjacency.T),
            ch=pack(dag.adjacency),
            best_pa=pack(dag.adjacency.T),
            change=np.zeros((n, n)),
            score=np.full(2, total_score(self.score, dag)),
            state=np.zeros(2, dtype=np.int64),
            tabu=np.zeros((n, n), dtype=np.int64),
            hit=self.hit,
        )
        budget = _NO_LIMIT if self.deadline is None else _STEPS_BETWEEN_LOOKS_AT_THE_CLOCK
        finished = False
        while not finished and (self.deadline is None or time.monotonic() < self.deadline):
            finished = climb_hill(self.score.tables, hill, self.rules, budget)
        return DAG(self.score.names, unpack(hill.best_pa, n).T), finished, int(hill.state[0])


def _require_settings(
    tabu: int,
    patience: int | None,
    restarts: int,
    perturbation: int | None,
    max_parents: int | None,
    seconds: float | None,
    rng: np.random.Generator | None,
) -> None:
    counts = {
        "tabu": tabu,
        "patience": patience,
        "restarts": restarts,
        "perturbation": perturbation,
        "max_parents": max_parents,
    }
    for name, value in counts.items():
        if value is not None and value < 0:
            raise ConfigError(f"{name} must be at least 0, not {value}")
    if seconds is not None and not seconds > 0:
        raise ConfigError(f"the time limit must be positive, not {seconds} seconds")
    if restarts and rng is None:
        raise ConfigError(f"{restarts} restarts are random, so they need an rng")
