"""A greedy search over equivalence classes, around the compiled `ClassSearch`.

`ges.py` and `xges.py` decide in which order the kinds of operators are used; what they share is
here: the start, the limits, the clock, and the result.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG
from fedbn.limits import Limit
from fedbn.scores.base import TabulatedScore
from fedbn.search.constraints import SearchRules
from fedbn.search.result import SearchResult

Kind = Literal["insert", "delete", "turn"]
KINDS: tuple[Kind, ...] = ("insert", "delete", "turn")

_SETS_BETWEEN_LOOKS_AT_THE_CLOCK = 2000


class ClassSearch:
    """A search in progress, at the class of the start; driven by `climb`, read by `result`.

    Raises
    ------
    ConfigError : knowledge contradicts the start.
    """

    def __init__(self, score: TabulatedScore, rules: SearchRules) -> None:
        from fedbn._core import search

        self.deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
        self.out_of_time = False
        self.score, self.knowledge = score, rules.knowledge
        dag = DAG.empty(score.names) if rules.start is None else rules.start.reorder(score.names)
        if rules.knowledge is not None:
            dag = rules.knowledge.with_required(dag)
        self._search = search.ClassSearch(
            score.core,
            pack(dag.adjacency.T),
            **({} if rules.knowledge is None else rules.known.bits(score.names)),
            max_parents=rules.max_parents,
            max_t=rules.max_t,
            seed=None if rules.rng is None else int(rules.rng.integers(1 << 63)),
        )
        if rules.knowledge is not None:
            self._member()

    def climb(self, kinds: Sequence[Kind]) -> bool:
        """Take the best operator of the first of `kinds` that has one, until none has one.

        Returns whether anything changed.

        Raises
        ------
        SearchError : an operator that passed its tests was not valid; that is a bug.
        """
        from fedbn._core.search import Kind, Outcome

        codes = [getattr(Kind, kind) for kind in kinds]
        budget = None if self.deadline is None else _SETS_BETWEEN_LOOKS_AT_THE_CLOCK
        before = self._search.steps
        while not self.out_of_time:
            outcome = self._search.climb(codes, budget)
            if outcome == Outcome.broken:
                raise SearchError("a search step led out of the space of classes: a bug in fedbn")
            if outcome == Outcome.done:
                break
            self.out_of_time = self.deadline is not None and time.monotonic() > self.deadline
        return bool(self._search.steps != before)

    def result(self) -> SearchResult:
        """What has been found so far."""

        names, core = self.score.names, self.score.core
        dag = self._member()
        cpdag = PDAG(names, unpack(self._search.cpdag(), len(names)))
        counters = {"sets counted": core.counted, "store emptied": core.emptied}
        counters |= dict(zip(KINDS, self._search.steps, strict=True))
        return SearchResult(dag, cpdag, self._search.total(), self._met(), counters)

    def _member(self) -> DAG:
        """A member of the class that satisfies the knowledge; without any, the one that depends on
        the class alone."""
        parents = self._search.member()
        if parents is not None:
            return DAG(self.score.names, unpack(parents, self.score.n).T)
        if self.knowledge is None:
            raise SearchError("a chain component is not chordal: a bug in fedbn")
        raise ConfigError(
            f"no graph equivalent to the start satisfies the background knowledge: {self.knowledge}"
        )

    def _met(self) -> frozenset[Limit]:
        hit = {
            Limit.TIME: self.out_of_time,
            Limit.PARENTS: self._search.met_max_parents,
            Limit.SETS: self._search.met_max_t,
        }
        return frozenset(limit for limit, met in hit.items() if met)
