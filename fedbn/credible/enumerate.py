"""The credible set: counted, listed in order of score, and its posteriors, without a list.

A DAG is credible iff its cost is at most OPT + ε, ε = ln BF, with 1e-8 for rounding. Components
(see `filter`) are independent but share one budget: counts are products cut at ε.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fedbn.credible.candidates import Candidates
from fedbn.credible.diagram import TOGETHER, Diagram, DiagramLimit, Profile, build_diagram
from fedbn.credible.filter import Component, filtered_components
from fedbn.graphs.dag import DAG
from fedbn.search.optimal.parent_sets import TOLERANCE

__all__ = ["CredibleSet", "RankedDAG", "combined", "credible_set", "ordered_sums"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankedDAG:
    """A credible DAG and its excess: cost - OPT ≥ 0, its weight is exp(-excess)."""

    dag: DAG
    excess: float


@dataclass(frozen=True, eq=False)
class CredibleSet:
    """All DAGs whose cost is at most opt + covered.

    Parameters
    ----------
    candidates : what was searched.
    opt : least cost, proven.
    epsilon : ln BF as asked.
    covered : ε, or less where the limits did not allow all of it; then counts are of the DAGs
        within `covered` and lower bounds of what was asked.
    components, diagrams : by smallest node.
    limit : "" or what stopped the search.
    seconds : wall clock.
    """

    candidates: Candidates
    opt: float
    epsilon: float
    covered: float
    components: tuple[Component, ...]
    diagrams: tuple[Diagram, ...]
    limit: str
    seconds: float

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.candidates.families.names

    @property
    def complete(self) -> bool:
        """Whether every credible DAG is in it."""
        return self.candidates.complete and self.covered == self.epsilon

    @property
    def budget(self) -> float:
        """Largest excess, tolerance included."""
        return self.covered + TOLERANCE

    @cached_property
    def profile(self) -> Profile:
        """The number of credible DAGs per excess."""
        return combined([diagram.profile for diagram in self.diagrams], self.budget)

    @property
    def count(self) -> int:
        """The exact number of DAGs; a lower bound unless `complete`."""
        return sum(self.profile.count)

    def k_best(self, k: int) -> list[RankedDAG]:
        """The k DAGs of least cost, or all."""
        return list(islice(iter(self), k))

    def __iter__(self) -> Iterator[RankedDAG]:
        """Credible DAGs by ascending cost; memory grows with how far one goes."""
        lists = [_SortedPaths(diagram, self.budget) for diagram in self.diagrams]
        for places, excess in ordered_sums(lists, self.budget):
            rows = [paths.families(at) for paths, at in zip(lists, places, strict=True)]
            yield RankedDAG(self.dag_of(rows), excess)

    def dag_of(self, rows: Sequence[NDArray[np.int32]]) -> DAG:
        """The DAG of one choice of families per component."""
        chosen = [
            component.origin[row] for component, row in zip(self.components, rows, strict=True)
        ]
        return self.candidates.families.dag(np.concatenate(chosen))

    @cached_property
    def total_weight(self) -> float:
        """Σ exp(-excess) over the set."""
        profile = self.profile
        return sum(c * math.exp(-x) for x, c in zip(profile.value, profile.count, strict=True))

    @cached_property
    def edge_posteriors(self) -> Floats:
        """[n, n]: [i, j] is the share of the set's weight that has i -> j. Nothing is listed."""
        families = self.candidates.families
        out = np.zeros((families.n, families.n))
        for k, (component, diagram) in enumerate(zip(self.components, self.diagrams, strict=True)):
            others = [d.profile for j, d in enumerate(self.diagrams) if j != k]
            value, weight = cumulative_weight(combined(others, self.budget))
            shares = diagram.family_weights(self.budget, value, weight) / self.total_weight
            for family, share in zip(component.origin, shares, strict=True):
                out[families.has_parent[family], families.node[family]] += share
        return out


def credible_set(
    candidates: Candidates,
    *,
    memory: int | None = None,
    seconds: float | None = None,
    rng: np.random.Generator | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> CredibleSet:
    """All credible DAGs of the candidates.

    Parameters
    ----------
    candidates : from `candidate_sets`.
    memory : bytes for tables and diagrams; a limit met gives a smaller set that says so.
    seconds : wall-clock limit, likewise.
    rng : for the search of incumbents; the result does not depend on it.
    progress : called with (stage, done, total).

    Raises
    ------
    SearchError : not even the optimum is found within the limits.
    """
    began = time.monotonic()
    deadline = None if seconds is None else began + seconds
    rng = np.random.default_rng(0) if rng is None else rng
    epsilon = candidates.epsilon
    parts = filtered_components(candidates.families, epsilon, rng, memory=memory, deadline=deadline)
    diagrams: list[Diagram] = []
    covered, limit = epsilon, ""
    for k, part in enumerate(parts):
        if progress is not None:
            progress("components", k, len(parts))
        diagram, reached, reason = _widest(part, epsilon, memory, deadline)
        covered, limit = min(covered, reached), limit or reason
        diagrams.append(diagram)
    inside = sum(diagram.opt for diagram in diagrams)
    return CredibleSet(
        candidates, inside, epsilon, covered, tuple(parts), tuple(diagrams), limit,
        time.monotonic() - began,
    )  # fmt: skip


def _widest(
    part: Component, epsilon: float, memory: int | None, deadline: float | None
) -> tuple[Diagram, float, str]:
    """The diagram with the largest of ε, ε/2, ε/4, ε/8, 0 that the limits allow, and why."""
    reason = ""
    for share in (1.0, 0.5, 0.25, 0.125):
        try:
            diagram = build_diagram(
                part.families, part.opt, share * epsilon, rest=part.rest, bound=part.bound,
                memory=memory, deadline=deadline,
            )  # fmt: skip
        except DiagramLimit as error:
            reason = reason or str(error)
        else:
            return diagram, share * epsilon, reason
    diagram = build_diagram(
        part.families, part.opt, 0.0, rest=part.rest, bound=part.bound, memory=memory
    )
    return diagram, 0.0, reason


def combined(profiles: Sequence[Profile], budget: float) -> Profile:
    """The profile of all combinations of independent parts, cut at the budget."""
    value, count = np.zeros(1), np.ones(1, dtype=object)
    for profile in sorted(profiles, key=lambda p: len(p.value)):
        last = int(np.searchsorted(profile.value, budget, side="right"))
        if last == 1 and profile.value[0] == 0.0:
            count = count * profile.count[0]
            continue
        other = np.empty(last, dtype=object)
        other[:] = profile.count[:last]
        sums = (value[:, None] + profile.value[:last]).ravel()
        ways = (count[:, None] * other[None, :]).ravel()
        order = np.argsort(sums, kind="stable")
        order = order[sums[order] <= budget]
        value, count = _merged(sums[order], ways[order])
    return Profile(value, tuple(int(c) for c in count))


def _merged(value: Floats, count: NDArray[np.object_]) -> tuple[Floats, NDArray[np.object_]]:
    """Sorted values, those within `TOGETHER` of their predecessor made one."""
    if value.size == 0:
        return value, count
    first = np.flatnonzero(np.concatenate(([True], np.diff(value) > TOGETHER)))
    return value[first], np.add.reduceat(count, first)


def cumulative_weight(profile: Profile) -> tuple[Floats, Floats]:
    """Excesses, and the weight Σ exp(-excess) of all that have at most each."""
    weights = [c * math.exp(-x) for x, c in zip(profile.value, profile.count, strict=True)]
    return profile.value, np.cumsum(np.array(weights, dtype=np.float64))


class _SortedPaths:
    """The DAGs of one component by ascending excess, listed as far as they are asked for."""

    def __init__(self, diagram: Diagram, budget: float) -> None:
        self._diagram = diagram
        profile = diagram.profile
        last = int(np.searchsorted(profile.value, budget, side="right"))
        self._value = profile.value[:last]
        self._until = np.cumsum(np.array(profile.count[:last], dtype=object))
        self._rows: NDArray[np.int32] = np.zeros((0, diagram.families.n), dtype=np.int32)
        self._excess: Floats = np.zeros(0)

    def __len__(self) -> int:
        return int(self._until[-1])

    def excess(self, at: int) -> float:
        """The excess of the DAG in this place."""
        self._ensure(at)
        return float(self._excess[at])

    def families(self, at: int) -> NDArray[np.int32]:
        """Its families, by node."""
        self._ensure(at)
        row: NDArray[np.int32] = self._rows[at]
        return row

    def _ensure(self, at: int) -> None:
        if at < len(self._excess):
            return
        wanted = max(2 * (at + 1), 1024)
        group = min(int(np.searchsorted(self._until, wanted)), len(self._value) - 1)
        beyond = self._value[group + 1] if group + 1 < len(self._value) else np.inf
        limit = min(self._diagram.budget, (self._value[group] + beyond) / 2)
        pieces = list(self._diagram.listing(float(limit), min(2 * wanted, 200_000)))
        rows = np.concatenate([piece[0] for piece in pieces])
        excess = np.concatenate([piece[1] for piece in pieces])
        rank = np.searchsorted(self._value, excess + 10 * TOGETHER, side="right")
        order = np.lexsort((*rows.T[::-1], rank))
        self._rows, self._excess = rows[order], self._value[rank[order] - 1]


def ordered_sums(
    lists: Sequence[_SortedPaths | Sequence[float]], budget: float
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Places in several ascending lists, by ascending sum, each combination once."""

    def value(k: int, at: int) -> float:
        part = lists[k]
        return part.excess(at) if isinstance(part, _SortedPaths) else part[at]

    start = (0,) * len(lists)
    heap = [(sum(value(k, 0) for k in range(len(lists))), start, 0)]
    while heap:
        total, places, moved = heapq.heappop(heap)
        yield places, total
        for k in range(moved, len(lists)):
            at = places[k] + 1
            if at < len(lists[k]):
                more = total - value(k, at - 1) + value(k, at)
                if more <= budget:
                    heapq.heappush(heap, (more, (*places[:k], at, *places[k + 1 :]), k))
