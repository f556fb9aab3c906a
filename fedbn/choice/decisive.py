"""Sites that alone decide what sums over sites choose.

A site with rows like nobody else's, made up or of another population, may decide what all rows
together choose although its structure looks like the others'. Without its rows another structure is
then far better. So the sites whose own rows speak most unlike the median site's are left out, each
by itself, and two, four, and so on at a time, fewer than a third of all and with fewer than half of
all rows. They decide alone where the rest finds the best of the candidates, or what it chooses by
itself, better by more than `LEAST` nats, and

- by more than `TIMES` the standard error of that (the jackknife's: each of the remaining sites left
  out in turn), or
- by more than `FEWER_TIMES` of it, while their own rows are for the chosen structure by more than a
  nat for every row, which is much more than rows of one population say for one structure against
  one like it.

The others then choose without them. Sites with half of the rows or more are never left out: that is
no few sites against the rest, and a remark names the largest (`fedbn.federation.run_remarks`).

Where no few sites decide alone, the choice may still hang on few: they are *pivotal* where the rest
chooses a structure more than `FAR` away in SMHD, better to the rest by more than `LEAST` nats and
by more than `PIVOTAL_TIMES` the standard error. They are heard, and a remark names them. Sites with
more than a third of all rows are no few here: fewer rows support fewer edges, and so the rest then
chooses another structure where all are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

LEAST = 10.0
"""Nats: what is worth less is no reason to leave a site out."""

TIMES = 6.0
"""So many standard errors."""

FEWER_TIMES = 2.5
"""So many, where the rows left out say more than `A_ROW`."""

A_ROW = 1.0
"""Nats for every row."""

PIVOTAL_TIMES = 3.0
"""So many, where sites are named and heard."""

FAR = 3
"""SMHD: few sites that move the choice by no more are not worth a remark."""

BLOCKS = 20
"""Of sites that are left out in turn, for the standard error."""

Sites = tuple[str, ...]

Worth = Callable[[DAG], float]
"""What a structure is worth by the sums of some sites, nats."""

Liking = Callable[[DAG, DAG], Mapping[str, float]]
"""Two structures -> every site, and by how many nats its own rows are for the first."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What sums over some of the sites say.

    Attributes
    ----------
    rows : of every site that is heard.
    rows_in_all : of these and of those that have been left out before.
    liking : site -> by how many nats its own rows are for the first of two structures.
    worth_to : some sites, sorted -> what structures are worth by their sums; minus infinity where
        they give a family no score.
    choice_of : some sites, sorted -> what their sums choose.
    """

    rows: Mapping[str, int]
    rows_in_all: int
    liking: Liking
    worth_to: Callable[[Sites], Worth]
    choice_of: Callable[[Sites], DAG]

    def without(self, few: Sequence[str]) -> Sites:
        """The other sites, sorted."""
        return tuple(sorted(set(self.rows) - {*few}))


@dataclass(frozen=True)
class Verdict:
    """What hangs on few of the sites.

    Attributes
    ----------
    decisive : the sites that alone decide, sorted, of which none can be heard.
    pivotal : where none do, the sites on which the choice hangs, sorted.
    moved : SMHD from what was chosen to what the others choose without the pivotal sites.
    unended : whether time ended before all that was to be tried was.
    """

    decisive: Sites = ()
    pivotal: Sites = ()
    moved: int = 0
    unended: bool = False


def verdict_on(
    chosen: DAG,
    candidates: Sequence[DAG],
    sums: Sums,
    most: int,
    is_over: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Which few sites alone decide, or else are pivotal.

    Parameters
    ----------
    chosen : what the sums over all sites chose.
    candidates : the structures that it is held against.
    sums : of all sites, and of some.
    most : so many sites are left out at most.
    is_over : whether the time is over; then no more sites are left out than were.
    """
    if most < 1:
        return Verdict()
    order = _order_of(chosen, candidates, sums)
    several = (tuple(order[:k]) for k in numbers_left_out(most) if k > 1)
    whole = sums.worth_to(sums.without(()))

    @cache
    def without(few: Sites) -> _Rest:
        return _rest_of(few, chosen, candidates, sums, whole)

    tried = list[Sites]()
    for few in (*((site,) for site in order[: most + 1]), *several):
        if is_over():
            break
        tried.append(few)
        if without(few).is_decided_alone:
            return Verdict(_fewest(few, lambda fewer: without(fewer).is_decided_alone))
    unended = is_over()
    for few in tried:
        if without(few).hangs_on_few:
            few = _fewest(few, lambda fewer: without(fewer).hangs_on_few)
            return Verdict(pivotal=few, moved=without(few).moved, unended=unended)
    return Verdict(unended=unended)


def _fewest(few: Sites, holds: Callable[[Sites], bool]) -> Sites:
    """The sites without those that are not needed, sorted."""
    for site in few:
        fewer = tuple(each for each in few if each != site)
        if fewer and holds(fewer):
            few = fewer
    return tuple(sorted(few))


def most_left_out(sites: int) -> int:
    """How many sites may be left out: fewer than a third.

    >>> [most_left_out(sites) for sites in (1, 3, 4, 9, 10)]
    [0, 0, 1, 2, 3]
    """
    return max(sites - 1, 0) // 3


def numbers_left_out(most: int) -> Iterator[int]:
    """From one on, doubled each time, last `most`: for each there is a search.

    >>> list(numbers_left_out(0)), list(numbers_left_out(3)), list(numbers_left_out(9))
    ([], [1, 2, 3], [1, 2, 4, 8, 9])
    """
    k = 1
    while k < most:
        yield k
        k *= 2
    if most > 0:
        yield most


@dataclass(frozen=True)
class _Rest:
    """What the sites without few say against what all chose.

    Attributes
    ----------
    rows : of the few.
    share : of all rows, those of the few.
    lost : nats by which the best structure to the rest is better to it than what all chose.
    error : the standard error of that.
    pushed : nats by which the few are for what all chose.
    moved : SMHD from there to that structure.
    """

    rows: int
    share: Fraction
    lost: float = 0.0
    error: float = math.inf
    pushed: float = 0.0
    moved: int = 0

    @property
    def is_decided_alone(self) -> bool:
        """Whether the few alone decide."""
        if not self.lost > LEAST:
            return False
        if math.isinf(self.lost):  # the rest gives what is chosen no score: the few alone do
            return True
        return self.lost > TIMES * self.error or (
            self.lost > FEWER_TIMES * self.error and self.pushed > A_ROW * self.rows
        )

    @property
    def hangs_on_few(self) -> bool:
        """Whether the few are pivotal, if they do not decide alone."""
        few = self.share <= Fraction(1, 3)
        return few and self.moved > FAR and self.lost > max(LEAST, PIVOTAL_TIMES * self.error)


def _rest_of(few: Sites, chosen: DAG, candidates: Sequence[DAG], sums: Sums, whole: Worth) -> _Rest:
    """What the sites without few say; `whole` is what structures are worth by all sums. Nothing
    where the few have half of all rows."""
    rest, rows = sums.without(few), sum(sums.rows[site] for site in few)
    share = Fraction(rows, sums.rows_in_all)
    if 2 * sum(sums.rows[site] for site in rest) <= sums.rows_in_all:
        return _Rest(rows, share)
    worth = sums.worth_to(rest)
    # One that is better by all sums, too, was only missed by the search before.
    rivals = [each for each in (*candidates, sums.choice_of(rest)) if whole(each) <= whole(chosen)]
    best = max(rivals, key=worth, default=chosen)
    lost = worth(best) - worth(chosen)
    if not lost > LEAST or math.isinf(lost):
        return _Rest(rows, share, lost)
    error = _standard_error(lost, chosen, best, rest, sums)
    pushed = whole(chosen) - whole(best) + lost
    return _Rest(rows, share, lost, error, pushed, smhd(chosen, best))


def _standard_error(lost: float, chosen: DAG, best: DAG, rest: Sites, sums: Sums) -> float:
    """Of what the rest loses: by the jackknife over its sites; infinite where they cannot tell."""
    parts = []
    for but in _without_each(rest):
        worth = sums.worth_to(but)
        parts.append(lost - (worth(best) - worth(chosen)))
    if not np.isfinite(parts).all():
        return math.inf
    return float(np.std(parts, ddof=1)) * math.sqrt(len(parts))


def _order_of(chosen: DAG, candidates: Sequence[DAG], sums: Sums) -> list[str]:
    """The sites, first whose own rows speak most unlike the median site's of the chosen structure
    against some candidate: the difference for a row, times the root of its rows; ties by name."""
    sites = sorted(sums.rows)
    rows = np.array([sums.rows[site] for site in sites], dtype=np.float64)
    unlike = np.zeros(len(sites))
    for candidate in candidates:
        likes = sums.liking(chosen, candidate)
        a_row = np.array([likes[site] for site in sites]) / rows
        unlike = np.maximum(unlike, np.abs(a_row - np.median(a_row)) * np.sqrt(rows))
    return [sites[k] for k in np.argsort(-unlike, kind="stable")]


def _without_each(sites: Sites) -> Iterator[Sites]:
    """The sites without one of them, or without a twentieth, each in turn."""
    blocks = min(len(sites), BLOCKS)
    for block in range(blocks):
        yield tuple(site for place, site in enumerate(sites) if place % blocks != block)
