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

from fedbn._core.credible import TOGETHER
from fedbn.arrays import Floats, Ints32
from fedbn.credible.building import Problem, build_diagram
from fedbn.credible.depth_first import Listed, depth_first
from fedbn.credible.diagram import Diagram
from fedbn.credible.filter import Component, filtered_components
from fedbn.credible.limits import DiagramLimit, Limits
from fedbn.credible.profiles import Profile
from fedbn.credible.pruning import Candidates
from fedbn.graphs.dag import DAG
from fedbn.limits import in_words
from fedbn.search.families.parent_sets import TOLERANCE


@dataclass(frozen=True)
class RankedDAG:
    """A credible DAG and its excess: cost - OPT ≥ 0, its weight is exp(-excess)."""

    dag: DAG
    excess: float


@dataclass(frozen=True, eq=False)
class CredibleSet:
    """All DAGs whose cost is at most opt + covered, or as many as the limits allowed.

    Parameters
    ----------
    candidates : what was searched.
    opt : least cost of a DAG that was found.
    least : no DAG of the candidates costs less.
    epsilon : ln BF as asked.
    covered : ε, or less where the limits did not allow all of it; the set is that of `covered`.
    components, parts : by smallest node; the DAGs of each.
    limit : "" or what stopped the search, or the search for candidates.
    seconds : wall clock.
    """

    candidates: Candidates
    opt: float
    least: float
    epsilon: float
    covered: float
    components: tuple[Component, ...]
    parts: tuple[Diagram | Listed, ...]
    limit: str
    seconds: float

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return self.candidates.families.names

    @property
    def optimal(self) -> bool:
        """Whether no structure at all costs less than `opt`."""
        return self.candidates.complete and self.opt - self.least <= TOLERANCE * len(self.names)

    @property
    def complete(self) -> bool:
        """Whether every credible DAG is in it: all that is left out is proven to cost more."""
        return self.optimal and self.covered == self.epsilon and all(p.whole for p in self.parts)

    @property
    def proof(self) -> str:
        """What is proven of the counts, in words."""
        if self.complete:
            return "every credible graph is counted, and the minimum cost OPT is proven"
        if not self.candidates.complete:
            return (
                f"counted are graphs with {self.candidates.scope}, against the best of these; "
                "nothing is proven of other graphs"
            )
        if not self.optimal:
            return (
                "counted are graphs near the best one known, which need not be the best: no graph "
                f"costs less than {self.least:.6f}"
            )
        if all(part.whole for part in self.parts):
            return (
                "the minimum cost OPT is proven; every graph within a Bayes factor of "
                f"{math.exp(self.covered):.4g} is counted, and some beyond may be credible"
            )
        return "the minimum cost OPT is proven, every graph counted is credible; there may be more"

    @property
    def budget(self) -> float:
        """Largest excess, tolerance included."""
        return self.covered + TOLERANCE

    @cached_property
    def profile(self) -> Profile:
        """The number of credible DAGs per excess."""
        return combine([part.profile for part in self.parts], self.budget)

    @property
    def count(self) -> int:
        """The exact number of DAGs; a lower bound unless `complete`."""
        return sum(self.profile.count)

    def k_best(self, k: int) -> list[RankedDAG]:
        """The k DAGs of least cost, or all."""
        return list(islice(iter(self), k))

    def __iter__(self) -> Iterator[RankedDAG]:
        """Credible DAGs by ascending cost; memory grows with how far one goes."""
        lists = [_SortedPaths(part, self.budget) for part in self.parts]
        for places, excess in ordered_sums(lists, self.budget):
            rows = [paths.families(at) for paths, at in zip(lists, places, strict=True)]
            yield RankedDAG(self.dag_of(rows), excess)

    def dag_of(self, rows: Sequence[Ints32]) -> DAG:
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
        for k, (component, part) in enumerate(zip(self.components, self.parts, strict=True)):
            others = [other.profile for j, other in enumerate(self.parts) if j != k]
            value, weight = cumulative_weight(combine(others, self.budget))
            shares = part.family_weights(self.budget, value, weight) / self.total_weight
            for family, share in zip(component.origin, shares, strict=True):
                out[families.has_parent[family], families.node[family]] += share
        return out


def credible_set(
    candidates: Candidates,
    *,
    memory: int | None = None,
    seconds: float | None = None,
    rng: np.random.Generator | None = None,
    notify: Callable[[str], None] = lambda words: None,
) -> CredibleSet:
    """All credible DAGs of the candidates.

    Parameters
    ----------
    candidates : from `candidate_sets`.
    memory : bytes for tables and diagrams, by default half of what is free; `seconds` : wall clock.
        A limit that is met gives a smaller set that says so, and so does Ctrl-C.
    rng : for the search of incumbents; the result does not depend on it.
    notify : told what is known so far, in words.
    """
    began = time.monotonic()
    limits = Limits(memory, seconds)
    rng = np.random.default_rng(0) if rng is None else rng
    epsilon = candidates.epsilon
    limit = in_words(candidates.met)
    components = filtered_components(candidates.families, epsilon, rng, limits.half(), notify)
    parts: list[Diagram | Listed] = []
    covered = epsilon
    for k, component in enumerate(components):
        if component.families.n > 1:
            notify(f"graphs of component {k + 1} of {len(components)}")
        part, reached, reason = _widest(component, epsilon, limits)
        covered, limit = min(covered, reached), limit or reason
        parts.append(part)
    opt = sum(part.opt for part in parts)
    least = sum(
        part.opt if part.whole else component.least
        for component, part in zip(components, parts, strict=True)
    )
    return CredibleSet(
        candidates, opt, least, epsilon, covered, tuple(components), tuple(parts), limit,
        time.monotonic() - began,
    )  # fmt: skip


def _widest(
    component: Component, epsilon: float, limits: Limits
) -> tuple[Diagram | Listed, float, str]:
    """The component's DAGs, the ε that they cover, and why that is not all.

    A diagram for ε; where it does not fit, a list; else a diagram for ε / 2, / 4, / 8 or 0; else
    what the list has found. Each gets half of the time that is left.
    """
    try:
        return _diagram(component, epsilon, limits.half()), epsilon, ""
    except DiagramLimit as error:
        reason = str(error)
    listed = depth_first(_problem(component, epsilon), epsilon, component.best, limits.half())
    if listed.whole:
        return listed, epsilon, ""
    for share in (0.5, 0.25, 0.125, 0.0):
        try:
            return _diagram(component, share * epsilon, limits.half()), share * epsilon, reason
        except DiagramLimit:
            continue
    return listed, epsilon, reason


def _diagram(component: Component, epsilon: float, limits: Limits) -> Diagram:
    return build_diagram(_problem(component, epsilon), epsilon, limits)


def _problem(component: Component, epsilon: float) -> Problem:
    return Problem.of(
        component.families, component.best[0], epsilon, rest=component.rest, bound=component.bound
    )


def combine(profiles: Sequence[Profile], budget: float) -> Profile:
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
        value, count = _merge(sums[order], ways[order])
    return Profile(value, tuple(int(c) for c in count))


def _merge(value: Floats, count: NDArray[np.object_]) -> tuple[Floats, NDArray[np.object_]]:
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

    def __init__(self, diagram: Diagram | Listed, budget: float) -> None:
        self._diagram = diagram
        profile = diagram.profile
        last = int(np.searchsorted(profile.value, budget, side="right"))
        self._value = profile.value[:last]
        self._until = np.cumsum(np.array(profile.count[:last], dtype=object))
        self._rows: Ints32 = np.zeros((0, diagram.families.n), dtype=np.int32)
        self._excess: Floats = np.zeros(0)

    def __len__(self) -> int:
        return int(self._until[-1])

    def excess(self, at: int) -> float:
        """The excess of the DAG in this place."""
        self._ensure(at)
        return float(self._excess[at])

    def families(self, at: int) -> Ints32:
        """Its families, by node."""
        self._ensure(at)
        row: Ints32 = self._rows[at]
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
