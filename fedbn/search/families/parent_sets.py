"""Parent sets that an optimal, or a nearly optimal, structure can use, found by levels.

A parent set P of node i may be dropped when a subset of it is better by more than the slack
ε ≥ 0: no DAG within ε of the best then contains it (with ε = 0, some best DAG avoids it). The
search extends only sets all of whose subsets may be extended; what stops it, by score:

* BIC and AIC (w = ln N / 2 or 1): theorem 4 of Liao et al. (2019) with the factor w that its print
  lacks, and the half of theorem 7 that does not follow from it; both sharpened by what no parents
  can save, N H(i | all others);
* BDeu: theorem 8, with the number of observed configurations of the larger set;
* Gaussian BIC and AIC: a depth-first search instead of levels, see `gaussian_families`. BGe and
  mixed scores have no such rule here: all sets up to `max_parents` are scored.

All comparisons are strict and allow 1e-8, so exact ties are kept. Every set of variables is
counted once for all nodes: local scores are differences of joint values (see `fedbn.scores`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedbn._core import families as core
from fedbn._core.scores import ScoreKind
from fedbn.arrays import Floats, Ints, Ints32
from fedbn.errors import SearchError
from fedbn.limits import NOTHING_MET, Limit, in_words
from fedbn.search.families.families import Families

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

TOLERANCE = 1e-8  # absolute, natural logarithms: scores this close are equal
PIECE = 200_000  # sets that are counted between two looks at the clock
LAST_LEVEL = 5_000_000  # families of one size from which the last level is searched by its own
ALL_SETS_FROM = (
    3  # parents; where nothing is pruned by then, the sets of few variables are all taken
)
ALL_SETS, ALL_COUNTS = 1 << 25, 1 << 28  # at most so many families, and rows times sets
DENSE_LIMIT = 60_000_000  # sets of one size that are stored by rank without a list of ranks


@dataclass(frozen=True)
class ParentSetSearch:
    """What `parent_sets` found.

    `complete` is False when `max_parents` or a limit stopped the search where the rules had not;
    then `largest` is the size up to which the families are complete, and `met` says why.
    """

    families: Families
    complete: bool
    largest: int
    scored: int
    seconds: float
    met: frozenset[Limit] = NOTHING_MET

    def rename(self, names: tuple[str, ...]) -> ParentSetSearch:
        """The same with the variables in the order of `names`."""
        return replace(self, families=self.families.reorder(names))


class _Stopped(Exception):  # noqa: N818
    """Time ended inside a level."""


@dataclass
class _Level:
    """Joint values of the sets of one size; no ranks means that every set has its place."""

    size: int
    ranks: Ints
    values: Floats
    occupied: Ints32


@dataclass
class _Frontier:
    """The sets of one size that node may extend, with the least cost within each."""

    ranks: Ints
    best: Floats


def parent_sets(
    score: TabulatedScore,
    *,
    slack: float = 0.0,
    chained: bool = False,
    max_parents: int | None = None,
    memory: int | None = None,
    seconds: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ParentSetSearch:
    """Every family that no subset beats by more than `slack`.

    Parameters
    ----------
    score : made by `make_score`.
    slack : ε ≥ 0 in natural logarithms.
    chained : the bookkeeping of Liao et al. (2019): a set is compared with its immediate subsets,
        of which a dropped one stands for the best that dropped it. Keeps more than the exact rule.
    max_parents : stop at this size, and say so.
    memory : bytes that the search may hold, checked before each level; None: no check.
    seconds : wall-clock limit. The level that it or Ctrl-C cuts off is left out. (Gaussian BIC and
        AIC: sizes up to 2, 4, 8, ... in turn; a turn that is cut off is left out.)
    progress : called with (size done, families kept).

    Raises
    ------
    SearchError : the slack is negative, or a level needs more memory than allowed.
    DataError : Gaussian BIC and AIC: columns are constant or collinear, or there are too few rows.
    """
    if not slack >= 0.0:
        raise SearchError(f"the slack must be at least 0, not {slack}")
    deadline = None if seconds is None else time.monotonic() + seconds
    if score.is_gaussian and score.parameter > 0.0 and not chained:
        return _by_depth(score, slack, max_parents, memory, deadline, progress)
    names = score.names
    if not (score.is_gaussian or score.is_mixed):  # short counts run fastest
        score = score.over(np.argsort(score.core.rows_outside_modes, kind="stable"))
    search = _LevelSearch(score, slack + TOLERANCE, memory, deadline, chained)
    return search.run(max_parents, progress).rename(names)


def _by_depth(
    score: TabulatedScore,
    slack: float,
    max_parents: int | None,
    memory: int | None,
    deadline: float | None,
    progress: Callable[[int, int], None] | None,
) -> ParentSetSearch:
    """Gaussian BIC and AIC, with 2, 4, 8, ... parents at most until no cap binds."""
    from fedbn.search.families.gaussian_families import GaussianFamilies

    began = time.monotonic()
    search = GaussianFamilies(score)
    most, largest, scored = 1, -1, 0
    limit: Limit | None = None
    families = None
    while limit is None:
        most = min(2 * most, score.n - 1 if max_parents is None else max_parents)
        try:
            found, limit = search.parent_sets(
                slack + TOLERANCE, most, memory=memory, deadline=deadline
            )
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTION
        if limit is not None:
            break
        families, largest = search.families(found, slack), most
        scored = sum(part.steps for part in found)
        if progress is not None:
            progress(most, families.size)
        if not any(part.capped for part in found):
            break
        if most == max_parents:
            limit = Limit.PARENTS
    met = NOTHING_MET if limit is None else frozenset({limit})
    if families is None:
        raise SearchError(f"{in_words(met)} came before any parent set was scored")
    seconds = time.monotonic() - began
    return ParentSetSearch(families, not met, largest, scored, seconds, met)


class _LevelSearch:
    """The state of one search: frontiers per node, joint values of three successive sizes."""

    def __init__(
        self,
        score: TabulatedScore,
        slack: float,
        memory: int | None,
        deadline: float | None,
        chained: bool,
    ) -> None:
        self.score, self.memory = score, memory
        self.slack, self.deadline, self.chained = slack, deadline, chained
        self.n = score.n
        self.others = self.n - 1
        self.kind = score.core.kind
        self.information = self.kind == ScoreKind.information
        self.levels = _levels(score, slack)
        self.workers = os.cpu_count() or 1
        self.kept: list[list[tuple[int, Ints, Floats]]] = [[] for _ in range(self.n)]
        self.scored = 0
        self.floors = self._floors() if self.information else np.zeros(self.n)

    def run(
        self, max_parents: int | None, progress: Callable[[int, int], None] | None
    ) -> ParentSetSearch:
        started = time.monotonic()
        none = np.zeros(0, dtype=np.int64)
        frontiers = [_Frontier(none, np.full(1, np.inf)) for _ in range(self.n)]
        below = _Level(0, none, np.zeros(1), np.zeros(1, dtype=np.int32))
        own = self._joint(0, [np.zeros(1, dtype=np.int64)])
        size, met = 0, NOTHING_MET
        while size <= self.others:
            try:
                bounds = frontiers if size == 0 else self._extend_all(size - 1, frontiers)
                if not any(bound.best.size for bound in bounds):
                    break
                if max_parents is not None and size > max_parents:
                    met = frozenset({Limit.PARENTS})
                    break
                if self._is_last(size, bounds):
                    self._last_level(size, frontiers, own)
                    size += 1
                    break
                below, own, frontiers = self._level(size, bounds, below, own)
                size += 1
                if progress is not None:
                    progress(size - 1, sum(len(r) for lists in self.kept for _, r, _ in lists))
                if max_parents is None and self._nothing_is_pruned(size - 1, frontiers):
                    return self._of_all_sets(started)
            except _Stopped:
                met = frozenset({Limit.TIME})
                break
            except KeyboardInterrupt:
                met = frozenset({Limit.INTERRUPTION})
                break
        if size == 0:
            raise SearchError(f"{in_words(met)} came before any parent set was scored")
        return ParentSetSearch(
            self._families(size), not met, size - 1, self.scored,
            time.monotonic() - started, met,
        )  # fmt: skip

    def _require_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _Stopped

    def _level(
        self, size: int, bounds: list[_Frontier], below: _Level, own: _Level
    ) -> tuple[_Level, _Level, list[_Frontier]]:
        """Score the sets of `size` with these bounds; returns the values for the next level."""

        self._require_memory(size, bounds)
        own = self._joint(size, [self._ranks(i, size, bounds[i])[0] for i in range(self.n)], own)
        if self.information and size:
            with ThreadPoolExecutor(self.workers) as pool:
                bounds = list(
                    pool.map(lambda i: self._worth(i, size, bounds[i], below, own), range(self.n))
                )
        above = self._joint(size + 1, [self._ranks(i, size, bounds[i])[1] for i in range(self.n)])

        def one(i: int) -> _Frontier:
            return self._score(i, size, bounds[i], own, above)

        with ThreadPoolExecutor(self.workers) as pool:
            frontiers = list(pool.map(one, range(self.n)))
        return own, above, frontiers

    def _ranks(self, i: int, size: int, bound: _Frontier) -> tuple[Ints, Ints]:
        """Ranks among all variables of node i's sets, and of these with i."""
        own, family = self.levels.global_ranks(i, _list_ranks(bound), size)
        return own, family

    def _worth(self, i: int, size: int, bound: _Frontier, below: _Level, own: _Level) -> _Frontier:
        """Theorem 7: the sets that may be undominated, or have undominated supersets."""
        self._require_time()
        ranks = _list_ranks(bound)
        keep = self.levels.worth_scoring(
            i, ranks, size, self.floors, below.ranks, below.values, own.ranks, own.values
        )
        return bound if keep.all() else _Frontier(ranks[keep], bound.best[keep])

    def _nothing_is_pruned(self, size: int, frontiers: list[_Frontier]) -> bool:
        """Whether BDeu has pruned nothing so far, of variables so few that all sets are counted."""
        return (
            self.kind == ScoreKind.bdeu
            and not self.chained
            and size == ALL_SETS_FROM
            and self.n << self.n <= ALL_SETS
            and self.score.core.merged_rows()[1].size << self.n <= ALL_COUNTS
            and all(f.best.size == self.levels.count(self.others, size) for f in frontiers)
        )

    def _of_all_sets(self, started: float) -> ParentSetSearch:
        """The result by costs of all sets, which theorem 8 proves to be the same."""
        values = self.levels.all_joint_values()
        found = [core.undominated_sets(values, i, self.n, self.slack) for i in range(self.n)]
        families = Families.of(
            self.score.names,
            np.repeat(np.arange(self.n, dtype=np.int32), [len(costs) for _, costs in found]),
            np.concatenate([costs for _, costs in found]),
            np.concatenate([masks for masks, _ in found])[:, None],
        )
        scored, seconds = self.n << self.others, time.monotonic() - started
        return ParentSetSearch(families, True, self.others, scored, seconds)

    def _is_last(self, size: int, bounds: list[_Frontier]) -> bool:
        """Whether sets of size + 1 are too large for every node (theorem 5, BIC and AIC), and those
        of `size` so many that counting all of them once is cheaper than a list per node."""
        if not self.information or size < 2 or not self._are_many(size, bounds):
            return False
        arities = np.sort(self.score.core.arities).astype(np.float64)
        least = float(np.prod(arities[: size + 1]))
        units = self.score.parameter * (self.score.core.arities - 1.0)
        return bool(np.all(self._empty_costs() + self.slack < units * least))

    def _are_many(self, size: int, bounds: list[_Frontier]) -> bool:
        pairs = sum(bound.best.size for bound in bounds)
        all_sets, families = (self.levels.count(self.n, size + more) for more in (0, 1))
        return bool(pairs >= max(LAST_LEVEL, families) and all_sets <= DENSE_LIMIT)

    def _empty_costs(self) -> Floats:
        """The cost of the empty set, per node."""
        return np.array([lists[0][2][0] for lists in self.kept])

    def _last_level(self, size: int, frontiers: list[_Frontier], own: _Level) -> None:
        """Keep what the slack allows of the sets of `size`, the last level."""
        own = self._joint(size, [np.arange(self.levels.count(self.n, size))], own)
        start = np.cumsum([0, *(f.best.size for f in frontiers)]).astype(np.int64)
        ranks = np.concatenate([_list_ranks(f) for f in frontiers])
        best = np.concatenate([f.best for f in frontiers])
        limit = self._empty_costs() + self.slack
        total = self.levels.count(self.n, size + 1)

        def one(first: int) -> tuple[Ints, Ints, Floats]:
            self._require_time()
            found: tuple[Ints, Ints, Floats] = self.levels.last_level(
                first, min(first + PIECE, total), size, own.values, start, ranks, best, limit
            )
            return found

        with ThreadPoolExecutor(self.workers) as pool:
            found = list(pool.map(one, range(0, total, PIECE)))
        nodes, sets, costs = (np.concatenate(column) for column in zip(*found, strict=True))
        self.scored += total * (size + 1)
        for i in range(self.n):
            order = np.flatnonzero(nodes == i)
            order = order[np.argsort(sets[order])]
            self.kept[i].append((size, sets[order], costs[order]))

    def _score(self, i: int, size: int, bound: _Frontier, own: _Level, above: _Level) -> _Frontier:
        """Keep what the slack allows; the frontier that may be extended."""
        self._require_time()
        ranks = _list_ranks(bound)
        cost, extend = self.levels.costs(
            i, ranks, bound.best, size,
            own.ranks, own.values, own.occupied, above.ranks, above.values,
        )  # fmt: skip
        self.scored += ranks.size
        keep = ~(bound.best + self.slack < cost)
        self.kept[i].append((size, ranks[keep], cost[keep]))
        best = np.where(keep, cost, bound.best) if self.chained else np.minimum(bound.best, cost)
        if extend.all():
            return _Frontier(bound.ranks, best)
        return _Frontier(ranks[extend], best[extend])

    def _extend_all(self, size: int, frontiers: list[_Frontier]) -> list[_Frontier]:
        """The candidates of size + 1 of every node."""
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(lambda i: self._extend(i, size, frontiers[i]), range(self.n)))

    def _extend(self, i: int, size: int, frontier: _Frontier) -> _Frontier:
        """The candidates of size + 1 of node i."""
        self._require_time()
        if frontier.best.size == 0:
            return frontier
        ranks, best = self.levels.extend(
            i, frontier.ranks, frontier.best, size, float(self.floors[i])
        )
        if ranks.size == self.levels.count(self.others, size + 1):
            ranks = np.zeros(0, dtype=np.int64)
        return _Frontier(ranks, best)

    def _floors(self) -> Floats:
        """[n]: N H(i | all others), the part of a cost that no parents can save."""
        whole, _ = self.levels.joint_values(np.zeros(1, dtype=np.int64), self.n)
        without = np.arange(self.n, dtype=np.int64)  # the k-th set lacks variable n - 1 - k
        parts, _ = self.levels.joint_values(without, self.others)
        return np.asarray(np.maximum(0.0, parts[::-1] - whole))

    def _joint(self, size: int, wanted: list[Ints], known: _Level | None = None) -> _Level:
        """Joint values of the wanted sets; those that `known` has are copied."""
        total = self.levels.count(self.n, size) if size <= self.n else 0
        if total <= DENSE_LIMIT:
            marked = np.zeros(total, dtype=np.bool_)
            for ranks in wanted:
                marked[ranks] = True
            ranks, places = np.zeros(0, dtype=np.int64), np.flatnonzero(marked).astype(np.int64)
            values = np.full(total, np.nan)
            occupied = np.zeros(total, dtype=np.int32)
        else:
            ranks = np.unique(np.concatenate(wanted))
            places = ranks
            values = np.full(ranks.size, np.nan)
            occupied = np.zeros(ranks.size, dtype=np.int32)
        missing = places
        if known is not None and known.ranks.size == 0 and ranks.size == 0:
            values, occupied = known.values, known.occupied
            missing = places[np.isnan(values[places])]

        def one(part: Ints) -> tuple[Ints, Floats, Ints32]:
            if size:
                self._require_time()
            if size > self.n:
                return part, np.empty(0), np.empty(0, dtype=np.int32)
            return part, *self.levels.joint_values(part, size)

        pieces = max(1, missing.size // PIECE)
        parts = np.array_split(missing, self.workers * pieces if missing.size > 2000 else 1)
        with ThreadPoolExecutor(self.workers) as pool:
            for part, found, seen in pool.map(one, parts):
                at = part if ranks.size == 0 else np.searchsorted(ranks, part)
                values[at], occupied[at] = found, seen
        return _Level(size, ranks, values, occupied)

    def _require_memory(self, size: int, bounds: list[_Frontier]) -> None:
        if self.memory is None:
            return
        pairs = sum(bound.best.size for bound in bounds)
        sets = min(self.levels.count(self.n, min(size + 1, self.n)), pairs)
        need = 12 * (3 * sets) + 48 * pairs
        if need > self.memory:
            raise SearchError(
                f"parent sets of {size} variables: {pairs} of them need about {need >> 20} MiB, "
                f"{self.memory >> 20} MiB are allowed; set max_parents or allow more memory"
            )

    def _families(self, sizes: int) -> Families:
        """What was kept of the levels below `sizes`."""
        node, cost, bits = [], [], []
        for i, lists in enumerate(self.kept):
            for size, ranks, costs in lists:
                if size >= sizes:
                    continue
                node.append(np.full(ranks.size, i, dtype=np.int32))
                cost.append(costs)
                bits.append(self.levels.bits(i, ranks, size))
        return Families.of(
            self.score.names, np.concatenate(node), np.concatenate(cost), np.concatenate(bits)
        )


def _list_ranks(frontier: _Frontier) -> Ints:
    """The ranks, also where all sets of the size are present."""
    if frontier.ranks.size == 0:
        return np.arange(frontier.best.size, dtype=np.int64)
    return frontier.ranks


def _levels(score: TabulatedScore, slack: float) -> core.ParentSetLevels:
    """The compiled part, which holds the table."""
    levels = core.ParentSetLevels
    if score.is_gaussian:
        return levels.gaussian(score.core, slack)
    if score.is_mixed:
        return levels.mixed(score.core, slack)
    return levels.discrete(score.core, slack)
