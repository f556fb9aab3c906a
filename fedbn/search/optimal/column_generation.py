"""The cluster relaxation over all parent sets of a Gaussian score, priced exactly.

Parent sets enter as columns when their reduced cost is negative; the search of
`gaussian_families` finds them, or proves that none is left. The bound of any duals μ ≥ 0 of
clusters is Σ_i min_P price_i(P) + Σ_C μ_C with price_i(P) = cost - Σ_{C holds i, misses P} μ_C, so
it holds also before the end; where a search is cut short there is no bound.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.limits import NOTHING_MET, Limit, SearchLimits
from fedbn.search.constraints import SearchRules
from fedbn.search.families.cluster_lp import ClusterLP
from fedbn.search.families.families import Families
from fedbn.search.families.gaussian_families import GaussianFamilies, ParentSets
from fedbn.search.families.ordering import ordering_search

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

MARGIN = 1e-6
MIN_SECONDS = 1e-3  # that a greedy search may be given
NEW_SETS = 60  # columns of one node and round, the cheapest


@dataclass(frozen=True, eq=False)
class Relaxation:
    """Duals and what they prove.

    Parameters
    ----------
    bound : no DAG costs less; -inf where a pricing was cut short.
    least : float64 [n], the least price of each node.
    clusters, duals : bool [C, n], float64 [C].
    """

    bound: float
    least: Floats
    clusters: Bools
    duals: Floats


class ColumnGeneration:
    """The relaxation of one score; `columns` are the families found so far."""

    def __init__(
        self,
        pricing: GaussianFamilies,
        start: Families,
        rng: np.random.Generator,
        *,
        max_parents: int | None = None,
        steps: int | None = None,
        deadline: float | None = None,
    ) -> None:
        self.pricing, self.rng = pricing, rng
        self.max_parents, self.steps, self.deadline = max_parents, steps, deadline
        self.n = start.n
        self.offset = np.array([pricing.offset(i) for i in range(self.n)])
        self._lp = ClusterLP(start)
        self._known = {
            (int(i), has.tobytes()) for i, has in zip(start.node, start.has_parent, strict=True)
        }

    @property
    def columns(self) -> Families:
        """The families found so far."""
        return Families.of(self._lp.names, self._lp.node, self._lp.cost, self._lp.bits)

    def close(self, target: float = np.inf) -> Relaxation:
        """Cut and price until neither changes anything, `target` is reached or time ends."""
        best = self._none()
        while True:
            self._lp.close(rng=self.rng, seconds=self._left())
            relaxation, added = self.price()
            if relaxation.bound > best.bound:
                best = relaxation
            if not added or best.bound >= target or self._left() == 0.0:
                return best

    def within(self, relaxation: Relaxation, gap: float) -> tuple[Families, bool]:
        """Every undominated family of reduced cost at most `gap`, and whether these are all."""
        found = [
            self._search(i, relaxation, float(relaxation.least[i]) + gap + MARGIN)
            for i in range(self.n)
        ]
        return self.pricing.families(found), all(part.complete for part in found)

    def price(self) -> tuple[Relaxation, bool]:
        """The bound of the last solution's duals, and whether columns came in."""
        bits, duals = self._lp.duals()
        present = self._lp.bound()
        relaxation = Relaxation(-np.inf, present.least.copy(), unpack(bits, self.n), duals)
        complete, added = True, False
        for i in range(self.n):
            found = self._search(i, relaxation, float(present.least[i]) - MARGIN, NEW_SETS)
            complete = complete and found.complete
            if len(found.price):
                prices = found.price + self._shift(i, relaxation)
                relaxation.least[i] = min(relaxation.least[i], float(prices[0]))
                added = self._add(i, found.has_parent) or added
            else:
                relaxation.least[i] -= MARGIN
        if not complete:
            return relaxation, added
        bound = float(relaxation.least.sum() + duals.sum())
        return Relaxation(bound, relaxation.least, relaxation.clusters, duals), added

    def _search(
        self, i: int, relaxation: Relaxation, threshold: float, keep: int | None = None
    ) -> ParentSets:
        """The sets whose price is at most `threshold`."""
        holding = relaxation.clusters[:, i]
        return self.pricing.search(
            i,
            slack=MARGIN,
            threshold=threshold - self._shift(i, relaxation),
            clusters=relaxation.clusters[holding],
            duals=relaxation.duals[holding],
            keep=keep,
            max_parents=self.max_parents,
            steps=self.steps,
            deadline=self.deadline,
        )

    def _shift(self, i: int, relaxation: Relaxation) -> float:
        """What a price of `GaussianFamilies` lacks: cost(∅) less the duals of all i's clusters."""
        return float(self.offset[i] - relaxation.duals[relaxation.clusters[:, i]].sum())

    def _add(self, i: int, has_parent: Bools) -> bool:
        """Add those that are not there yet: rounding makes a column seem cheaper than it is."""
        keys = [(i, has.tobytes()) for has in has_parent]
        has_parent = has_parent[[key not in self._known for key in keys]]
        if not len(has_parent):
            return False
        self._known.update(keys)
        self._lp.add_columns(
            np.full(len(has_parent), i, dtype=np.int32),
            self.pricing.costs(i, has_parent),
            has_parent,
        )
        return True

    def _none(self) -> Relaxation:
        return Relaxation(
            -np.inf, np.zeros(self.n), np.zeros((0, self.n), dtype=np.bool_), np.zeros(0)
        )

    def _left(self) -> float | None:
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, eq=False)
class Pool:
    """What column generation leaves to search.

    Parameters
    ----------
    families : with those of the best DAG known among them.
    chosen, cost : that DAG, one family per node.
    bound : no DAG costs less; -inf without one.
    complete : whether every DAG that costs less than `cost` is made of these families.
    met : the limits that were met.
    """

    families: Families
    chosen: tuple[int, ...]
    cost: float
    bound: float
    complete: bool
    met: frozenset[Limit]


def generated_pool(score: TabulatedScore, limits: SearchLimits, rng: np.random.Generator) -> Pool:
    """Columns until the relaxation is solved, then all families within its gap to the best DAG.

    Parameters
    ----------
    score : gaussian-bic or gaussian-aic.
    """
    from fedbn.search.ges import ges

    pricing = GaussianFamilies(score)
    seconds = None if limits.left is None else max(limits.left, MIN_SECONDS)
    start = _columns_of(score, ges(score, SearchRules(seconds=seconds)).dag.reorder(score.names))
    generation = ColumnGeneration(pricing, start, rng, deadline=limits.deadline)
    relaxation = generation.close()
    columns = generation.columns
    cost, chosen = ordering_search(columns, rng, restarts=4 * score.n, seconds=limits.left)
    met = frozenset({Limit.TIME}) if limits.over else NOTHING_MET
    if limits.over or not np.isfinite(relaxation.bound):
        return Pool(columns, chosen, cost, relaxation.bound, False, met)
    within, complete = generation.within(relaxation, cost - relaxation.bound)
    pool = _with(within, columns, chosen)
    met = frozenset({Limit.TIME}) if limits.over else NOTHING_MET
    cost, chosen = ordering_search(pool, rng, restarts=4 * score.n, seconds=limits.left)
    return Pool(pool, chosen, cost, relaxation.bound, complete, met)


def _columns_of(score: TabulatedScore, dag: DAG) -> Families:
    """The families of a DAG and the empty ones."""
    lists = []
    for i, parents in enumerate(dag.parent_sets()):
        both = {(), tuple(parents)}
        lists.append([(-score.local_score(i, some), some) for some in sorted(both)])
    return Families.from_parents(score.names, lists)


def _with(families: Families, columns: Families, chosen: tuple[int, ...]) -> Families:
    """The families and those of one DAG of the columns, each once."""
    some = np.asarray(chosen)
    node = np.concatenate((families.node, columns.node[some]))
    cost = np.concatenate((families.cost, columns.cost[some]))
    bits = np.concatenate((families.bits, columns.bits[some]))
    keys = np.concatenate((node[:, None].astype(np.uint64), bits), axis=1)
    first = np.unique(keys, axis=0, return_index=True)[1]
    return Families.of(families.names, node[first], cost[first], bits[first])
