"""What sums over some of the sites say, and what they would say with other sites instead of few.

Sites are left out fewer than a third at a time. Which of them one structure owes its lead over
another is found by leaving out in turn who costs the other most (`pushing`).

The sums of the rest are of fewer rows, and fewer rows support fewer edges: an edge that all rows
together support may be lost without the rows of any few sites, whoever they are. So the few are
not only left out: sites like the rest take their place (`Contest.instead`). To the lead by the sums
of the rest comes, for every row of the few, what a row of the rest adds to it: the mean of what it
adds to the rest and of what it adds to all, for a row is worth more where there are more rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedbn.graphs.dag import DAG

BLOCKS = 20
"""Of sites that are left out in turn, for the standard error."""

FEW = Fraction(1, 3)
"""Of all rows, that few sites have at most."""

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

    def share(self, few: Sequence[str]) -> Fraction:
        """Of all rows, those of few sites."""
        return Fraction(sum(self.rows[site] for site in few), self.rows_in_all)

    def lead(self, one: DAG, other: DAG, few: Sequence[str] = ()) -> float:
        """By how many nats the first structure is better to the sites without few."""
        worth = self.worth_to(self.without(few))
        return worth(one) - worth(other)


@dataclass(frozen=True)
class Contest:
    """By how much one structure is better than another to the sites without few.

    Attributes
    ----------
    lead : nats, by the sums of the rest.
    error : the standard error of that: the jackknife's, each of the remaining sites left out in
        turn; infinite where they cannot tell.
    instead : nats, if sites like the rest had the rows of the few; minus infinity where the rest
        cannot tell.
    error_instead : the standard error of that.
    """

    lead: float = 0.0
    error: float = math.inf
    instead: float = -math.inf
    error_instead: float = math.inf

    def is_above(self, nats: float, times: float) -> bool:
        """Whether it is better by more than so many nats and standard errors, if sites like the
        rest had the rows of the few."""
        return self.instead > max(nats, times * self.error_instead if times else 0.0)


def contest(one: DAG, other: DAG, few: Sites, sums: Sums) -> Contest:
    """By how much the first structure is better than the other one to the sites without few; its
    error where it is."""
    lead = sums.lead(one, other, few)
    if not 0.0 < lead < math.inf:
        return Contest(lead)
    rest = sums.without(few)
    parts = [lead - sums.lead(one, other, (*few, *out)) for out in _blocks(rest)]
    of_all = sums.lead(one, other)
    among_all = [of_all - sums.lead(one, other, out) for out in _blocks(rest)] if few else parts
    if not np.isfinite([*parts, *among_all]).all():
        return Contest(lead)
    error = float(np.std(parts, ddof=1)) * math.sqrt(len(parts))
    times = sum(sums.rows[site] for site in few) / sum(sums.rows[site] for site in rest)
    more = times * math.fsum([*parts, *among_all]) / 2
    return Contest(lead, error, lead + more, error * (1 + times))


def pushing(one: DAG, other: DAG, sums: Sums, most: int) -> Sites:
    """The few sites, at most so many and with at most a third of all rows, to which the first
    structure owes most of its lead over the other, first whose absence costs it most; looked for
    by one, two, four, and so on in all, ties by name. Nobody where a structure has no score."""
    few = Sites()
    for number in numbers_left_out(most if one != other else 0):
        leads = {site: round(sums.lead(one, other, (*few, site)), 6) for site in sums.without(few)}
        if not np.isfinite([*leads.values()]).all():
            break
        for site in sorted(leads, key=lambda site: (leads[site], site)):
            if len(few) < number and sums.share((*few, site)) <= FEW:
                few = (*few, site)
    return few


def most_left_out(sites: int) -> int:
    """How many sites may be left out: fewer than a third.

    >>> [most_left_out(sites) for sites in (1, 3, 4, 9, 10)]
    [0, 0, 1, 2, 3]
    """
    return max(sites - 1, 0) // 3


def are_few(few: Sites, rows: Mapping[str, int]) -> bool:
    """Whether sites are fewer than a third of all, with fewer than half of all rows.

    >>> are_few(("e",), {"e": 5, "n": 4, "s": 4, "w": 4}), are_few(("e",), {"e": 5, "n": 4, "s": 4})
    (True, False)
    """
    own = sum(rows[site] for site in few)
    return len(few) <= most_left_out(len(rows)) and 2 * own < sum(rows.values())


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


def _blocks(sites: Sites) -> Iterator[Sites]:
    """Each of the sites, or each twentieth of them."""
    blocks = min(len(sites), BLOCKS)
    for block in range(blocks):
        yield sites[block::blocks]
