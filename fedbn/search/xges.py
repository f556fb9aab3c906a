"""XGES: greedy search over equivalence classes that deletes as soon as it can.

Nazaret & Blei 2024, "Extremely greedy equivalence search". XGES-0: at each step the best Delete if
any gains, else the best Turn, else the best Insert. On dense graphs it ends at better scores than
GES. Operators, validity and ties are those of `ges.py`.

XGES goes on from there: it takes an edge away although that loses, lets XGES-0 climb while the
edge stays away, and keeps what it finds if that is better. Deviations: an edge is taken from the
DAG that represents the class, not by every valid Delete, and a second climb is free to bring it
back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedbn.graphs.dag import DAG
from fedbn.limits import NOTHING_MET, Limit
from fedbn.scores.base import TabulatedScore
from fedbn.search.class_search import ClassSearch
from fedbn.search.constraints import FREE, SearchRules
from fedbn.search.result import SearchResult

if TYPE_CHECKING:
    from fedbn.graphs.knowledge import Edge, Knowledge

RELATIVE = 1e-9  # of the score: what counts as better, as in every step
MIN_SECONDS = 1e-3  # that a climb may be given


def xges0(score: TabulatedScore, rules: SearchRules = FREE) -> SearchResult:
    """XGES-0; parameters, result and errors are those of `ges`.

    >>> from fedbn.data.dataset import Dataset, Schema
    >>> from fedbn.scores import make_score
    >>> rows = [[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]] * 25
    >>> data = Dataset(Schema.categorical({"a": "01", "b": "01", "c": "01"}), rows)
    >>> xges0(make_score("bic", data)).dag.edges
    (('a', 'b'),)
    """
    search = ClassSearch(score, rules)
    search.climb(("delete", "turn", "insert"))
    return search.result()


def xges(score: TabulatedScore, rules: SearchRules = FREE) -> SearchResult:
    """XGES; parameters, result and errors are those of `ges`.

    The edges are tried by what their loss costs, cheapest first, then by (parent, child); the first
    better class is the next one to leave, until no edge leads to one. `counters["climbs"]` tells
    how often XGES-0 ran.
    """
    deadline = None if rules.seconds is None else time.monotonic() + rules.seconds
    climbs = _Climbs(score, rules, deadline)
    best = climbs.climb(rules.start, rules.known)
    met, count = best.met, 1
    escapes = climbs.escapes(best)
    while not climbs.late and (found := next(escapes, None)) is not None:
        met |= found.met
        count += 2
        if found.score > best.score + RELATIVE * (1.0 + abs(best.score)):
            best, escapes = found, climbs.escapes(found)
    met |= {Limit.TIME} if climbs.late else NOTHING_MET
    return replace(best, met=met, counters=dict(best.counters) | {"climbs": count})


@dataclass(frozen=True)
class _Climbs:
    """XGES-0 again and again, with one deadline for all."""

    score: TabulatedScore
    rules: SearchRules
    deadline: float | None

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def climb(self, start: DAG | None, knowledge: Knowledge) -> SearchResult:
        """XGES-0 in the time that is left."""
        left = None if self.deadline is None else self.deadline - time.monotonic()
        seconds = None if left is None else max(left, MIN_SECONDS)
        rules = replace(self.rules, start=start, seconds=seconds, knowledge=knowledge)
        return xges0(self.score, rules)

    def escapes(self, best: SearchResult) -> Iterator[SearchResult]:
        """Where the climbs from `best` without one of its edges end."""
        for parent, child in self._by_loss(best.dag):
            matrix = best.dag.adjacency.copy()
            matrix[parent, child] = False
            x, y = best.dag.names[parent], best.dag.names[child]
            apart = (*self.rules.known.forbidden, (x, y), (y, x))
            without = replace(self.rules.known, forbidden=apart)
            reached = self.climb(DAG(best.dag.names, matrix), without)
            yield self.climb(reached.dag, self.rules.known)

    def _by_loss(self, dag: DAG) -> list[tuple[int, int]]:
        """The edges that are not required, by what the score loses without them."""
        losses: list[tuple[float, int, int]] = []
        for child, parents in enumerate(dag.parent_sets()):
            whole = self.score.local_score(child, parents)
            for parent in parents:
                edge: Edge = (dag.names[parent], dag.names[child])
                if edge not in self.rules.known.required:
                    rest = [other for other in parents if other != parent]
                    losses.append((whole - self.score.local_score(child, rest), parent, child))
        return [(parent, child) for _, parent, child in sorted(losses)]
