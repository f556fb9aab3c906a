"""Parent sets that an optimal, or a nearly optimal, structure can use, found by levels.

A parent set P of node i may be dropped when a subset of it is better by more than the slack
ε ≥ 0: no DAG within ε of the best then contains it (with ε = 0, some best DAG avoids it). The
search extends only sets all of whose subsets may be extended; what stops it, by score:

* BIC and AIC (w = ln N / 2 or 1): theorem 4 of Liao et al. (2019) with the factor w that its print
  lacks, and the half of theorem 7 that does not follow from it;
* BDeu: theorem 8, with the number of observed configurations of the larger set;
* Gaussian BIC: no set of k parents costs less than all variables together, less the penalty of
  those beyond k. BGe has no such rule here: all sets up to `max_parents` are scored.

All comparisons are strict and allow 1e-8, so exact ties are kept. Every set of variables is
counted once for all nodes: local scores are differences of joint values (see `fedbn.scores`).
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fedbn.errors import SearchError
from fedbn.search.optimal.families import Families

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore

__all__ = ["TOLERANCE", "ParentSetSearch", "parent_sets"]

TOLERANCE = 1e-8  # absolute, natural logarithms: scores this close are equal
PIECE = 200_000  # sets that are counted between two looks at the clock
DENSE_LIMIT = 60_000_000  # sets of one size that are stored by rank without a list of ranks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ParentSetSearch:
    """What `parent_sets` found.

    `complete` is False when `max_parents` or a limit stopped the search where the rules had not;
    then `largest` is the size up to which the families are complete, and `limit` says why.
    """

    families: Families
    complete: bool
    largest: int
    scored: int
    seconds: float
    limit: str = ""


class _Stopped(Exception):  # noqa: N818
    """Time ended inside a level."""


@dataclass
class _Level:
    """Joint values of the sets of one size; no ranks means that every set has its place."""

    size: int
    ranks: Ints
    values: Floats
    occupied: NDArray[np.int32]


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
    seconds : wall-clock limit. The level that it or Ctrl-C cuts off is left out.
    progress : called with (size done, families kept).

    Raises
    ------
    SearchError : the slack is negative, or a level needs more memory than allowed.
    """
    if not slack >= 0.0:
        raise SearchError(f"the slack must be at least 0, not {slack}")
    deadline = None if seconds is None else time.monotonic() + seconds
    return _LevelSearch(score, slack + TOLERANCE, memory, deadline, chained).run(
        max_parents, progress
    )


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
        from fedbn.scores._kernels import GAUSSIAN, INFORMATION

        self.score, self.slack, self.memory = score, slack, memory
        self.deadline, self.chained = deadline, chained
        self.t = score.tables
        self.n = score.n
        self.others = self.n - 1
        self.gaussian = self.t.kind == GAUSSIAN
        self.information = self.t.kind == INFORMATION
        counts = np.arange(self.t.n_rows + 1, dtype=np.float64)
        counts[0] = 1.0
        self.n_log_n = np.where(np.arange(self.t.n_rows + 1) > 0, counts * np.log(counts), 0.0)
        self.binomial = _binomials(self.n)
        self.workers = 1 if self.gaussian else (os.cpu_count() or 1)
        self.kept: list[list[tuple[int, Ints, Floats]]] = [[] for _ in range(self.n)]
        self.scored = 0

    def run(
        self, max_parents: int | None, progress: Callable[[int, int], None] | None
    ) -> ParentSetSearch:
        started = time.monotonic()
        none = np.zeros(0, dtype=np.int64)
        frontiers = [_Frontier(none, np.full(1, np.inf)) for _ in range(self.n)]
        below = _Level(0, none, np.zeros(1), np.zeros(1, dtype=np.int32))
        own = self._joint(0, [np.zeros(1, dtype=np.int64)])
        size, limit = 0, ""
        while size <= self.others:
            try:
                bounds = frontiers if size == 0 else self._all_extended(size - 1, frontiers)
                if not any(bound.best.size for bound in bounds):
                    break
                if max_parents is not None and size > max_parents:
                    limit = f"a cap of {max_parents} parents"
                    break
                below, own, frontiers = self._level(size, bounds, below, own)
            except _Stopped:
                limit = "the time limit"
                break
            except KeyboardInterrupt:
                limit = "an interruption"
                break
            if progress is not None:
                progress(size, sum(len(r) for lists in self.kept for _, r, _ in lists))
            size += 1
        if size == 0:
            raise SearchError(f"{limit or 'a limit'} came before any parent set was scored")
        return ParentSetSearch(
            self._families(size), not limit, size - 1, self.scored,
            time.monotonic() - started, limit,
        )  # fmt: skip

    def _require_time(self) -> None:
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise _Stopped

    def _level(
        self, size: int, bounds: list[_Frontier], below: _Level, own: _Level
    ) -> tuple[_Level, _Level, list[_Frontier]]:
        """Score the sets of `size` with these bounds; returns the values for the next level."""
        from fedbn.search.optimal._level_kernels import global_ranks

        self._require_memory(size, bounds)
        sets, joined = [], []
        for i, bound in enumerate(bounds):
            ranks = _listed(bound)
            plain, family = global_ranks(i, ranks, size, self.others, self.binomial)
            sets.append(plain)
            joined.append(family)
        own = self._joint(size, sets, own)
        above = self._joint(size + 1, joined)

        def one(i: int) -> _Frontier:
            return self._scored(i, size, bounds[i], below, own, above)

        with ThreadPoolExecutor(self.workers) as pool:
            frontiers = list(pool.map(one, range(self.n)))
        return own, above, frontiers

    def _scored(
        self, i: int, size: int, bound: _Frontier, below: _Level, own: _Level, above: _Level
    ) -> _Frontier:
        """Keep what the slack allows; the frontier that may be extended."""
        from fedbn.search.optimal._level_kernels import scored

        self._require_time()
        ranks = _listed(bound)
        floor = self._floor(i, size + 1)
        cost, extend = scored(
            self.t, i, ranks, bound.best, size, self.binomial, self.slack, floor, below.ranks,
            below.values, own.ranks, own.values, own.occupied, above.ranks, above.values,
        )  # fmt: skip
        self.scored += ranks.size
        keep = ~(bound.best + self.slack < cost)
        self.kept[i].append((size, ranks[keep], cost[keep]))
        best = np.where(keep, cost, bound.best) if self.chained else np.minimum(bound.best, cost)
        if extend.all():
            return _Frontier(bound.ranks, best)
        return _Frontier(ranks[extend], best[extend])

    def _all_extended(self, size: int, frontiers: list[_Frontier]) -> list[_Frontier]:
        """The candidates of size + 1 of every node."""
        return [self._extended(i, size, frontiers[i]) for i in range(self.n)]

    def _extended(self, i: int, size: int, frontier: _Frontier) -> _Frontier:
        """The candidates of size + 1 of node i."""
        from fedbn.search.optimal._level_kernels import extended

        self._require_time()
        if frontier.best.size == 0:
            return frontier
        arities = np.ones(0, dtype=np.int64)
        unit = 0.0
        if self.information:
            arities = np.delete(self.t.arities, i).astype(np.int64)
            unit = self.t.parameter * (float(self.t.arities[i]) - 1.0)
        ranks, best = extended(
            frontier.ranks, frontier.best, size, self.others, self.binomial, arities, unit,
            self.slack,
        )  # fmt: skip
        if ranks.size == self.binomial[self.others, size + 1]:
            ranks = np.zeros(0, dtype=np.int64)
        return _Frontier(ranks, best)

    def _floor(self, i: int, size: int) -> float:
        """A lower bound on the cost of every parent set of i with `size` members or more."""
        if not self.gaussian or "bic" not in self.score.label:
            return -np.inf
        most = [j for j in range(self.n) if j != i]
        penalty = 0.5 * math.log(self.t.n_rows)
        return -self.score.local_score(i, most) - penalty * (self.others - size)

    def _joint(self, size: int, wanted: list[Ints], known: _Level | None = None) -> _Level:
        """Joint values of the wanted sets; those that `known` has are copied."""
        from fedbn.search.optimal._level_kernels import joint_values

        total = int(self.binomial[self.n, size]) if size <= self.n else 0
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

        def one(part: Ints) -> tuple[Ints, Floats, NDArray[np.int32]]:
            self._require_time()
            found, seen = np.empty(part.size), np.zeros(part.size, dtype=np.int32)
            joint_values(self.t, self.n_log_n, part, size, self.binomial, found, seen)
            return part, found, seen

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
        sets = min(int(self.binomial[self.n, min(size + 1, self.n)]), pairs)
        need = 12 * (3 * sets) + 48 * pairs
        if need > self.memory:
            raise SearchError(
                f"parent sets of {size} variables: {pairs} of them need about {need >> 20} MiB, "
                f"{self.memory >> 20} MiB are allowed; set max_parents or allow more memory"
            )

    def _families(self, sizes: int) -> Families:
        """What was kept of the levels below `sizes`."""
        from fedbn.search.optimal._level_kernels import set_bits

        words = max(1, (self.n + 63) // 64)
        node, cost, bits = [], [], []
        for i, lists in enumerate(self.kept):
            for size, ranks, costs in lists:
                if size >= sizes:
                    continue
                node.append(np.full(ranks.size, i, dtype=np.int32))
                cost.append(costs)
                bits.append(set_bits(i, ranks, size, self.others, self.binomial, words))
        return Families.of(
            self.score.names, np.concatenate(node), np.concatenate(cost), np.concatenate(bits)
        )


def _listed(frontier: _Frontier) -> Ints:
    """The ranks, also where all sets of the size are present."""
    if frontier.ranks.size == 0:
        return np.arange(frontier.best.size, dtype=np.int64)
    return frontier.ranks


def _binomials(n: int) -> Ints:
    """C(a, b) for a ≤ n + 1, b ≤ n + 1, cut off at 2^62."""
    table = np.zeros((n + 2, n + 2), dtype=np.int64)
    for a in range(n + 2):
        for b in range(a + 1):
            table[a, b] = min(math.comb(a, b), 1 << 62)
    return table
