"""Sites that alone decide what sums over sites choose.

A site with rows like nobody else's, made up or of another population, may decide what all rows
together choose although its structure looks like the others'. Without its rows another structure is
then far better. So few sites are left out, fewer than a third of all and with fewer than half of
all rows:

- those whose own rows speak most unlike the median site's, each by itself, and two, four, and so on
  at a time;
- as many as may be that together push most for the chosen structure against some candidate
  (`_pushing`).

Of as many as may be, those take the place of others on whom the choice hangs more, as long as the
rest loses more so (`_most_influential`): an odd honest site then shields none of several that look
less odd.

They decide alone where the rest finds the best of the candidates, or what it chooses by itself,
better by more than `LEAST` nats, and

- by more than `TIMES` the standard error of that (the jackknife's: each of the remaining sites left
  out in turn), or
- by more than `FEWER_TIMES` of it, while their own rows are for the chosen structure by more than a
  nat for every row, which is much more than rows of one population say for one structure against
  one like it.

They turn the choice where the structure that the rest finds better is more than `FAR` away in SMHD,
and better by more than `TURNED` nats and `TURNED_TIMES` the standard error. In both cases the
others then choose without them. Sites with half of the rows or more are never left out: that is no
few sites against the rest, and a remark names the largest (`fedbn.federation.run_remarks`).

Where nobody is left out, the choice may still hang on few: they are *pivotal* where the rest loses
less than that, but more than `PIVOTAL` nats and `PIVOTAL_TIMES` the standard error. They are heard,
and a remark names them. Sites with more than a third of all rows turn no choice and are not
pivotal: fewer rows support fewer edges, and so the rest then chooses another structure where all
are alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

LEAST = 10.0
"""Nats: who is worth less does not decide alone."""

TIMES = 6.0
"""So many standard errors."""

FEWER_TIMES = 2.5
"""So many, where the rows left out say more than `A_ROW`."""

A_ROW = 1.0
"""Nats for every row."""

TURNED, TURNED_TIMES = 5.0, 2.0
"""Nats and standard errors, where another structure is more than `FAR` away."""

PIVOTAL, PIVOTAL_TIMES = 3.0, 1.5
"""The same, where sites are named and heard."""

FAR = 3
"""SMHD: few sites that move the choice by no more are not worth a remark."""

LOOKED_AT, TRIED = 16, 3
"""Of the sets of sites that push together, so many are looked at, and so many are left out."""

TOLERANCE = 1e-6
"""Nats: the rest loses more when it does by more than this."""

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
    decisive : the sites that alone decide or turn the choice, sorted, of which none can be heard.
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

    one_by_one = ((site,) for site in order[: most + 1])
    together = _pushing(chosen, candidates, sums, most)
    tried = list[Sites]()
    for few in dict.fromkeys((*one_by_one, *several, *together)):
        if is_over():
            break
        few = _most_influential(few, chosen, sums, without) if len(few) == most else few
        tried.append(few)
        if without(few).is_decided_alone:
            return Verdict(_fewest(few, lambda fewer: without(fewer).is_decided_alone))
    unended = is_over()
    for few in tried:
        if without(few).turns_the_choice:
            return Verdict(_fewest(few, lambda fewer: without(fewer).turns_the_choice))
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
    best : that structure; None where it is what all chose.
    """

    rows: int
    share: Fraction
    lost: float = 0.0
    error: float = math.inf
    pushed: float = 0.0
    moved: int = 0
    best: DAG | None = None

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
    def turns_the_choice(self) -> bool:
        """Whether the few turn the choice, and so are not heard."""
        return self._is_far_without(TURNED, TURNED_TIMES)

    @property
    def hangs_on_few(self) -> bool:
        """Whether the few are pivotal, if they do not turn the choice."""
        return self._is_far_without(PIVOTAL, PIVOTAL_TIMES)

    def _is_far_without(self, nats: float, times: float) -> bool:
        few = self.share <= Fraction(1, 3)
        return few and self.moved > FAR and self.lost > max(nats, times * self.error)


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
    if not lost > PIVOTAL or math.isinf(lost):
        return _Rest(rows, share, lost, best=best if 0 < lost < math.inf else None)
    error = _standard_error(lost, chosen, best, rest, sums)
    pushed = whole(chosen) - whole(best) + lost
    return _Rest(rows, share, lost, error, pushed, smhd(chosen, best), best)


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


def _pushing(chosen: DAG, candidates: Sequence[DAG], sums: Sums, most: int) -> list[Sites]:
    """The sets of as many sites as may be left out whose own rows together push most for the chosen
    structure against some candidate, beyond what the median site's rows say; of these, those
    without which the rest likes that candidate most."""
    sites = sorted(sums.rows)
    rows = np.array([sums.rows[site] for site in sites], dtype=np.float64)
    pushes: dict[Sites, tuple[float, DAG]] = {}
    for candidate in candidates:
        likes = sums.liking(chosen, candidate)
        own = np.array([likes[site] for site in sites])
        beyond = own - np.median(own / rows) * rows
        first = np.argsort(-beyond, kind="stable")[:most]
        few = tuple(sorted(sites[k] for k in first))
        pushed = float(beyond[first].sum())
        if pushed > pushes.get(few, (TOLERANCE, chosen))[0]:
            pushes[few] = pushed, candidate
    strongest = sorted(pushes, key=lambda few: (-pushes[few][0], few))[:LOOKED_AT]

    def lost(few: Sites) -> float:
        worth = sums.worth_to(sums.without(few))
        found = worth(pushes[few][1]) - worth(chosen)
        return -math.inf if math.isnan(found) else found

    return sorted(strongest, key=lambda few: (-lost(few), few))[:TRIED]


def _most_influential(
    few: Sites, chosen: DAG, sums: Sums, without: Callable[[Sites], _Rest]
) -> Sites:
    """As many sites, but those on whom it hangs most that what all chose is better than what the
    rest likes best, by the sums of the rest with and without each; from there on anew, while the
    rest loses more."""
    while (best := without(few).best) is not None:
        rest = sums.without(few)

        def for_chosen(sites: Iterable[str], best: DAG = best) -> float:
            worth = sums.worth_to(tuple(sorted(sites)))
            push = worth(chosen) - worth(best)
            return push if math.isfinite(push) else 0.0

        now = for_chosen(rest)
        pushes = {site: for_chosen((*rest, site)) - now for site in few}
        pushes |= {site: now - for_chosen(set(rest) - {site}) for site in rest}
        order = sorted(pushes, key=lambda site: (-round(pushes[site], 6), site))
        others = tuple(sorted(order[: len(few)]))
        if others == tuple(sorted(few)) or (without(others).lost <= without(few).lost + TOLERANCE):
            break
        few = others
    return few


def _without_each(sites: Sites) -> Iterator[Sites]:
    """The sites without one of them, or without a twentieth, each in turn."""
    blocks = min(len(sites), BLOCKS)
    for block in range(blocks):
        yield tuple(site for place, site in enumerate(sites) if place % blocks != block)
