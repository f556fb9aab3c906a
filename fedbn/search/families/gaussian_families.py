"""Parent sets under Gaussian BIC and AIC, by depth-first search with exact bounds.

No set between I (included) and I ∪ U (U undecided) has a smaller residual variance than I ∪ U, so
N/2 ln σ²(I ∪ U) + Λ (|I| + 1) bounds the cost of every proper superset of I that the search can
still reach. It stops where that exceeds the cost of a set met on the way by more than the slack,
or, when pricing, where it exceeds a threshold together with the duals of the clusters that I meets.
The undecided variable of largest partial correlation with the node is decided next: without it
little can be explained. Costs that a bound cannot tell apart in floating point are kept.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedbn._core import families as core
from fedbn.arrays import Bools, Floats, Indices
from fedbn.graphs.bits import pack, unpack
from fedbn.limits import Limit
from fedbn.scores.gaussian import require_regular
from fedbn.search.families.families import Families

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

TOLERANCE = 1e-8  # absolute, natural logarithms: costs this close are equal
STEPS = 200_000  # between two looks at the clock
CHUNK = 4096  # sets that one call of the core can report


@dataclass(frozen=True)
class ParentSets:
    """Parent sets of one node: `has_parent` [sets, n], `price` [sets].

    `complete` is False where a limit on steps or time cut the search; `capped` is True where the
    largest size did. `steps` counts the sets that were visited.
    """

    has_parent: Bools
    price: Floats
    complete: bool
    capped: bool
    steps: int

    def cheapest(self, keep: int) -> ParentSets:
        """The `keep` sets of least price, cheapest first."""
        order = np.argsort(self.price, kind="stable")[:keep]
        return replace(self, has_parent=self.has_parent[order], price=self.price[order])


def _steps(parts: list[ParentSets]) -> int:
    return sum(part.steps for part in parts)


def _reaches(parts: list[ParentSets], steps: int | None, sets: int | None) -> bool:
    """Whether the parts have so many steps or sets."""
    many = steps is not None and _steps(parts) >= steps
    return many or (sets is not None and sum(len(part.price) for part in parts) >= sets)


def _join(parts: list[ParentSets]) -> ParentSets:
    return ParentSets(
        np.concatenate([part.has_parent for part in parts]),
        np.concatenate([part.price for part in parts]),
        parts[-1].complete,
        parts[-1].capped,
        _steps(parts),
    )


@dataclass(frozen=True, eq=False)
class GaussianFamilies:
    """Searches for parent sets under one Gaussian BIC or AIC score.

    Raises
    ------
    DataError : columns are constant or collinear, or there are too few rows.
    """

    score: TabulatedScore

    def __post_init__(self) -> None:
        require_regular(self.score)

    @cached_property
    def correlation(self) -> Floats:
        """[n, n]."""
        gram = self.score.core.gram
        spread = np.sqrt(np.diag(gram))
        return np.asarray(gram / np.outer(spread, spread))

    @cached_property
    def precision(self) -> Floats:
        """[n, n], the inverse of the correlation matrix."""
        inverse = np.linalg.inv(self.correlation)
        return np.asarray((inverse + inverse.T) / 2.0)

    @cached_property
    def margin(self) -> float:
        """What rounding may add to N/2 ln σ²."""
        condition = float(np.linalg.cond(self.correlation))
        counted = self.score.row_weight * self.score.n_rows
        return 32.0 * self.score.n * np.finfo(float).eps * condition * counted

    def offset(self, node: int) -> float:
        """The cost of the empty set, which prices leave out."""
        return -self.score.local_score(node, [])

    def search(
        self,
        node: int,
        *,
        slack: float,
        threshold: float = np.inf,
        clusters: Bools | None = None,
        duals: Floats | None = None,
        keep: int | None = None,
        max_parents: int | None = None,
        max_sets: int | None = None,
        steps: int | None = None,
        deadline: float | None = None,
    ) -> ParentSets:
        """Sets P with price(P) ≤ threshold that no set met on the way beats by more than `slack`.

        Parameters
        ----------
        node : the child.
        slack : ≥ 0, natural logarithms.
        threshold : of price = cost - cost(∅) + Σ duals of the clusters that P meets.
        clusters, duals : bool [C, n] clusters that hold the node, float64 [C] ≥ 0.
        keep : only so many, those of least price, cheapest first.
        max_parents : largest |P|.
        max_sets, steps, deadline : limits; the deadline is a value of time.monotonic().
        """
        n = self.score.n
        order = np.r_[node, np.delete(np.arange(n), node)]
        walk = self._walk(order, slack, clusters, duals, max_parents, keep is not None)
        most = CHUNK if keep is None else keep
        found = [ParentSets(np.zeros((0, n), dtype=np.bool_), np.zeros(0), False, False, 0)]
        while not found[-1].complete:
            pace = STEPS if steps is None else max(1, min(STEPS, steps - _steps(found)))
            bits, prices, left = walk.walk_on(threshold, pace, most)
            has_parent = np.zeros((len(prices), n), dtype=np.bool_)
            has_parent[:, order[1:]] = unpack(bits, n)[:, 1:]
            over = left > 0 and len(prices) < most
            found.append(ParentSets(has_parent, prices, over, walk.capped, pace - left))
            if keep is not None:
                found = [_join(found).cheapest(keep)]
                if len(found[0].price) == keep:
                    threshold = min(threshold, float(found[0].price[-1]))
            late = deadline is not None and time.monotonic() > deadline
            if late or _reaches(found, steps, max_sets):
                break
        return _join(found)

    def parent_sets(
        self,
        slack: float,
        max_parents: int | None = None,
        *,
        memory: int | None = None,
        sets: int | None = None,
        steps: int | None = None,
        deadline: float | None = None,
    ) -> tuple[list[ParentSets], Limit | None]:
        """What `search` finds for every node, and the limit that ended it.

        Parameters
        ----------
        slack, max_parents, deadline : see `search`.
        memory : bytes that the lists may take. sets, steps : of all nodes together.
        """
        found: list[ParentSets] = []
        fits = None if memory is None else memory // (4 * self.score.n + 32)
        room = min((limit for limit in (fits, sets) if limit is not None), default=None)
        for i in range(self.score.n):
            left = None if steps is None else steps - _steps(found)
            more = None if room is None else room - sum(len(part.price) for part in found)
            part = self.search(
                i,
                slack=slack,
                max_parents=max_parents,
                steps=left,
                max_sets=more,
                deadline=deadline,
            )
            found.append(part)
            if more is not None and len(part.price) > more:
                return found, Limit.MEMORY if room == fits else Limit.SETS
            if not part.complete:
                late = deadline is not None and time.monotonic() > deadline
                return found, Limit.TIME if late else Limit.STEPS
        return found, None

    def costs(self, node: int, has_parent: Bools) -> Floats:
        """-local score of the node with each row of parents, [sets]."""
        j = self.score.core
        costs: Floats = core.gaussian_costs(j.gram, j.constant, j.exponent, node, has_parent)
        return costs

    def find_undominated(
        self, node: int, has_parent: Bools, slack: float = 0.0
    ) -> tuple[Bools, Floats]:
        """The sets that no subset among them beats by more than `slack`, with costs, cheapest
        first."""
        cost = self.costs(node, has_parent)
        order = np.argsort(cost, kind="stable")
        ordered, cost = has_parent[order], cost[order]
        keep = core.are_undominated(pack(ordered), cost, slack + TOLERANCE)
        return ordered[keep], cost[keep]

    def families(self, found: list[ParentSets], slack: float = 0.0) -> Families:
        """The undominated sets of all nodes."""
        kept = [self.find_undominated(i, part.has_parent, slack) for i, part in enumerate(found)]
        return Families.of(
            self.score.names,
            np.concatenate([np.full(len(cost), i) for i, (_, cost) in enumerate(kept)]),
            np.concatenate([cost for _, cost in kept]),
            pack(np.concatenate([has_parent for has_parent, _ in kept])),
        )

    def _walk(
        self,
        order: Indices,
        slack: float,
        clusters: Bools | None,
        duals: Floats | None,
        max_parents: int | None,
        large_first: bool,
    ) -> core.GaussianWalk:
        n = self.score.n
        clusters = np.zeros((0, n), dtype=np.bool_) if clusters is None else clusters
        return core.GaussianWalk(
            np.ascontiguousarray(self.correlation[np.ix_(order, order)]),
            np.ascontiguousarray(self.precision[np.ix_(order, order)]),
            scale=float(self.score.core.exponent[0]),
            penalty=self.score.parameter,
            slack=slack,
            margin=self.margin,
            max_parents=n - 1 if max_parents is None else max_parents,
            large_first=large_first,
            clusters=np.ascontiguousarray(clusters[:, order]),
            duals=np.zeros(0) if duals is None else duals,
        )
