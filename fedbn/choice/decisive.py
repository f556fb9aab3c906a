"""Few sites that alone decide what sums over sites choose.

A site with rows like nobody else's, made up or of another population, may decide what all rows
together choose although its structure looks like the others'. Few sites are fewer than a third of
all. Three questions are asked, and in the first two the others then choose without the few.

1. *Does what is chosen beat the consensus of the structures, whichever few are missing?* The few
   are looked for to which it owes most (`fedbn.choice.site_sums.pushing`). With sites like the rest
   in their place the consensus must not be better by more than `WORSE` nats. Where it is, the few
   are left out if that is more than `TIMES` standard errors; else the consensus *stands*: more than
   structures is never to be worse than structures.
2. *Do few decide alone?* The sites whose own rows speak most unlike the median site's are left out,
   each by itself, and two, four, and so on at a time, with fewer than half of all rows. They decide
   alone where the rest finds the best of the candidates, or what it chooses by itself, better by
   more than `LEAST` nats, with sites like the rest in their place, too, and by more than
   `FAR_TIMES` the standard error of that, or by more than `FEWER_TIMES` of it while their own rows
   are for the chosen structure by more than a nat for every row, which is much more than rows of
   one population say for one structure against one like it.
3. *Does the choice turn on few?* These are the same sets, and from there on those to which the
   chosen structure owes most of its lead over what the rest finds best, with at most a third of all
   rows. The choice turns on them where with sites like the rest in their place a structure more
   than `FAR` away in SMHD is better by more than `LEAST` nats and `TIMES` standard errors: then
   they are left out. They are *pivotal*, heard, and named in a remark, where it is better by more
   than `WORSE` nats and `PIVOTAL_TIMES` standard errors.

Sites with half of the rows or more are never left out: that is no few sites against the rest, and a
remark names the largest (`fedbn.federation.run_remarks`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from fedbn.choice.site_sums import (
    FEW,
    Contest,
    Sites,
    Sums,
    Worth,
    contest,
    most_left_out,
    numbers_left_out,
    pushing,
)
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

WORSE = 5.0
"""Nats: what is worse by less, a Bayes factor of 150, is not worse."""

LEAST = 10.0
"""Nats: what is worth less is no reason to leave a site out."""

TIMES = 3.0
"""So many standard errors, if sites like the rest had the rows of the few."""

FAR_TIMES = 6.0
"""So many, by the rows of the rest alone."""

FEWER_TIMES = 2.5
"""So many, where the rows left out say more than `A_ROW`."""

A_ROW = 1.0
"""Nats for every row."""

PIVOTAL_TIMES = 2.0
"""So many, where sites are named and heard."""

FAR = 3
"""SMHD: few sites that move the choice by no more are not worth a remark."""

TOLERANCE = 1e-6
"""Nats: a lead is larger when it is so by more than this."""


@dataclass(frozen=True)
class Verdict:
    """What hangs on few of the sites.

    Attributes
    ----------
    decisive : the sites that alone decide, sorted, of which none can be heard.
    pivotal : where none do, the sites on which the choice hangs, sorted.
    moved : SMHD from what was chosen to what the others choose without the pivotal sites.
    stands : whether the consensus of the structures stands.
    unended : whether time ended before all that was to be tried was.
    """

    decisive: Sites = ()
    pivotal: Sites = ()
    moved: int = 0
    stands: bool = False
    unended: bool = False


def verdict_on(
    chosen: DAG,
    consensus: DAG,
    candidates: Sequence[DAG],
    sums: Sums,
    unheard: int = 0,
    is_over: Callable[[], bool] = lambda: False,
) -> Verdict:
    """Which few sites alone decide, or else are pivotal.

    Parameters
    ----------
    chosen : what the sums over all sites chose.
    consensus : what the structures alone chose.
    candidates : the structures that it is held against.
    sums : of all sites that are heard, and of some.
    unheard : how many sites have been left out before.
    is_over : whether the time is over; then no more sites are left out than were.
    """
    few = most_left_out(len(sums.rows) + unheard)
    most = few - unheard
    owed = pushing(chosen, consensus, sums, few)

    def is_worse(few: Sites) -> bool:
        return contest(consensus, chosen, few, sums).is_above(WORSE, TIMES)

    if is_worse(owed) and len(fewest := _fewest(owed, is_worse)) <= most:
        return Verdict(fewest)
    stands = contest(consensus, chosen, owed, sums).is_above(WORSE, 0.0)
    if most < 1:
        return Verdict(stands=stands)
    order = _order_of(chosen, candidates, sums)
    whole = sums.worth_to(sums.without(()))

    @cache
    def without(few: Sites) -> _Rest:
        return _rest_of(few, chosen, candidates, sums, whole)

    tried = list[Sites]()
    several = (tuple(order[:k]) for k in numbers_left_out(most) if k > 1)
    for few_sites in (*((site,) for site in order[: most + 1]), *several):
        if is_over():
            break
        tried.append(few_sites)
        if without(few_sites).is_decided_alone:
            return Verdict(_fewest(few_sites, lambda fewer: without(fewer).is_decided_alone))
    for start in (tuple(order[:most]), owed):
        tried += _owed_from(start, chosen, sums, most, without, is_over)
    unended = is_over()
    for few_sites in tried:
        if without(few_sites).turns(LEAST, TIMES):
            return Verdict(_fewest(few_sites, lambda fewer: without(fewer).turns(LEAST, TIMES)))
    if stands:
        return Verdict(stands=True, unended=unended)
    for few_sites in tried:
        if without(few_sites).turns(WORSE, PIVOTAL_TIMES):
            named = _fewest(few_sites, lambda fewer: without(fewer).turns(WORSE, PIVOTAL_TIMES))
            return Verdict(pivotal=named, moved=without(named).moved, unended=unended)
    return Verdict(unended=unended)


def _fewest(few: Sites, holds: Callable[[Sites], bool]) -> Sites:
    """The sites without those that are not needed, sorted."""
    for site in few:
        fewer = tuple(each for each in few if each != site)
        if fewer and holds(fewer):
            few = fewer
    return tuple(sorted(few))


def _owed_from(
    few: Sites,
    chosen: DAG,
    sums: Sums,
    most: int,
    without: Callable[[Sites], _Rest],
    is_over: Callable[[], bool],
) -> list[Sites]:
    """The sets of sites to which the chosen structure owes most of its lead over what the sites
    without few find best, and over what those without them do, while that is better each time."""
    found = list[Sites]()
    while few and not is_over():
        others = tuple(sorted(pushing(chosen, without(few).best, sums, most)))
        better = without(others).lost > without(few).lost + TOLERANCE if others else False
        if not better:
            break
        found.append(others)
        few = others
    return found


@dataclass(frozen=True, eq=False)
class _Rest:
    """What the sites without few say against what all chose.

    Attributes
    ----------
    best : the best structure to the rest.
    rows : of the few.
    lost : nats by which it is better to the rest than what all chose.
    lead : the same with its error, and with sites like the rest instead of the few.
    pushed : nats by which the few are for what all chose.
    moved : SMHD from there to that structure.
    """

    best: DAG
    rows: int
    lost: float = 0.0
    lead: Contest = field(default_factory=Contest)
    pushed: float = 0.0
    moved: int = 0

    @property
    def is_decided_alone(self) -> bool:
        """Whether the few alone decide."""
        if not self.lost > LEAST:
            return False
        if math.isinf(self.lost):  # the rest gives what is chosen no score: the few alone do
            return True
        if not self.lead.instead > LEAST:  # fewer rows, whoever has them, do not support it
            return False
        return self.lost > FAR_TIMES * self.lead.error or (
            self.lost > FEWER_TIMES * self.lead.error and self.pushed > A_ROW * self.rows
        )

    def turns(self, nats: float, times: float) -> bool:
        """Whether the choice turns on the few, by more than so many nats and standard errors."""
        return self.moved > FAR and self.lead.is_above(nats, times)


def _rest_of(few: Sites, chosen: DAG, candidates: Sequence[DAG], sums: Sums, whole: Worth) -> _Rest:
    """What the sites without few say; `whole` is what structures are worth by all sums. Nothing
    where the few have half of all rows."""
    rest, rows = sums.without(few), sum(sums.rows[site] for site in few)
    if 2 * sum(sums.rows[site] for site in rest) <= sums.rows_in_all:
        return _Rest(chosen, rows)
    worth = sums.worth_to(rest)
    # One that is better by all sums, too, was only missed by the search before.
    rivals = [each for each in (*candidates, sums.choice_of(rest)) if whole(each) <= whole(chosen)]
    best = max(rivals, key=worth, default=chosen)
    lost = worth(best) - worth(chosen)
    if not lost > WORSE or math.isinf(lost):
        return _Rest(best, rows, lost)
    pushed = whole(chosen) - whole(best) + lost
    moved = smhd(chosen, best) if sums.share(few) <= FEW else 0
    return _Rest(best, rows, lost, contest(best, chosen, few, sums), pushed, moved)


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
