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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbn.graphs.dag import DAG

__all__ = ["Liking", "Sums", "Worth", "decisive_sites", "most_left_out", "numbers_left_out"]

LEAST = 10.0
"""Nats: what is worth less is no reason to leave a site out."""

TIMES = 6.0
"""So many standard errors."""

FEWER_TIMES = 2.5
"""So many, where the rows left out say more than `A_ROW`."""

A_ROW = 1.0
"""Nats for every row."""

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


def decisive_sites(chosen: DAG, candidates: Sequence[DAG], sums: Sums, most: int) -> Sites:
    """Few sites that alone decide, sorted, of which none can be heard; empty where no few do.

    Parameters
    ----------
    chosen : what the sums over all sites chose.
    candidates : the structures that it is held against.
    sums : of all sites, and of some.
    most : so many sites are left out at most.
    """
    if most < 1:
        return ()
    order = _order_of(chosen, candidates, sums)
    several = (tuple(order[:k]) for k in numbers_left_out(most) if k > 1)
    whole = sums.worth_to(sums.without(()))
    for few in (*((site,) for site in order[: most + 1]), *several):
        if _decide(few, chosen, candidates, sums, whole):
            for site in few:
                fewer = tuple(each for each in few if each != site)
                if fewer and _decide(fewer, chosen, candidates, sums, whole):
                    few = fewer
            return tuple(sorted(few))
    return ()


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


def _decide(few: Sites, chosen: DAG, candidates: Sequence[DAG], sums: Sums, whole: Worth) -> bool:
    """Whether few sites alone decide; `whole` is what structures are worth by all sums."""
    rest = sums.without(few)
    if 2 * sum(sums.rows[site] for site in rest) <= sums.rows_in_all:
        return False
    worth = sums.worth_to(rest)
    # One that is better by all sums, too, was only missed by the search before.
    rivals = [each for each in (*candidates, sums.choice_of(rest)) if whole(each) <= whole(chosen)]
    best = max(rivals, key=worth, default=chosen)
    lost = worth(best) - worth(chosen)
    if not lost > LEAST:
        return False
    if math.isinf(lost):  # the rest gives what is chosen no score: the few alone do
        return True
    error = _standard_error(lost, chosen, best, rest, sums)
    if lost > TIMES * error:
        return True
    pushed = whole(chosen) - whole(best) + lost
    rows = sum(sums.rows[site] for site in few)
    return lost > FEWER_TIMES * error and pushed > A_ROW * rows


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
