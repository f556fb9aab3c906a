"""Sites that alone decide what sums over sites choose.

A site with rows like nobody else's, made up or of another population, may decide what all rows
together choose although its structure looks like the others'. Without its rows another structure is
then far better. So the sites whose own rows speak most for the chosen structure are left out, one,
two, four, and so on, fewer than a third of all. Where the best of the candidates, or what the
others choose by themselves, is then better by more than `LEAST` nats, and by more than `TIMES` the
standard error of that (the jackknife's: each of the remaining sites left out in turn), those left
out decide alone, and the others choose without them.

Sites with half of the rows or more are never left out: that is no few sites against the rest, and a
remark names the largest (`fedbn.federation.run_remarks`).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from fedbn.graphs.dag import DAG

__all__ = ["Liking", "Worth", "decisive_sites", "most_left_out"]

LEAST = 10.0
"""Nats: what is worth less is no reason to leave a site out."""

TIMES = 6.0
"""So many standard errors."""

BLOCKS = 20
"""Of sites that are left out in turn, for the standard error."""

Worth = Callable[[DAG], float]
"""What a structure is worth by the sums of some sites, nats."""

Liking = Callable[[DAG, DAG], Mapping[str, float]]
"""Two structures -> every site, and by how many nats its own rows are for the first."""


def decisive_sites(
    chosen: DAG,
    candidates: Sequence[DAG],
    rows: Mapping[str, int],
    liking: Liking,
    worth_to: Callable[[tuple[str, ...]], Worth],
    choice_of: Callable[[tuple[str, ...]], DAG],
    most: int,
) -> tuple[str, ...]:
    """The fewest sites that alone decide, sorted; none where no such few do.

    Parameters
    ----------
    chosen : what the sums over all sites chose.
    candidates : the structures that it is held against. Sites are left out in descending order of
        their liking of `chosen` against the one that the others like best; ties by name.
    rows : of every site.
    liking : site -> by how many nats its own rows are for the first of two structures.
    worth_to : some sites -> what structures are worth by their sums; where `chosen` has no finite
        worth there is no comparison.
    choice_of : some sites -> what their sums choose. One that is better by all sums, too, was only
        missed by the search before, and says nothing about who decides.
    most : so many sites are left out at most.
    """
    if most < 1:
        return ()
    likes = liking(chosen, _rival(chosen, candidates, liking, most))
    order = sorted(rows, key=lambda site: (-likes[site], site))
    whole = worth_to(tuple(sorted(rows)))
    for k in _sizes(most):
        few, rest = order[:k], order[k:]
        if sum(rows[site] for site in few) >= sum(rows[site] for site in rest):
            break
        heard = tuple(sorted(rest))
        worth, rivals = worth_to(heard), list(candidates)
        own = choice_of(heard)
        if whole(own) <= whole(chosen):
            rivals.append(own)
        best = max(rivals, key=worth)
        lost = worth(best) - worth(chosen)
        if LEAST < lost < math.inf:
            parts = [
                lost - worth(best) + worth(chosen)
                for worth in (worth_to(but) for but in _without_each(heard))
            ]
            if lost > TIMES * statistics.stdev(parts) * math.sqrt(len(parts)):
                return tuple(sorted(few))
    return ()


def most_left_out(sites: int) -> int:
    """How many sites may be left out: fewer than a third.

    >>> [most_left_out(sites) for sites in (1, 3, 4, 9, 10)]
    [0, 0, 1, 2, 3]
    """
    return max(sites - 1, 0) // 3


def _rival(chosen: DAG, candidates: Sequence[DAG], liking: Liking, most: int) -> DAG:
    """The candidate that sites like best against the chosen structure, but for those `most` that
    like it least."""

    def sum_of_likes(dag: DAG) -> float:
        return math.fsum(sorted(liking(dag, chosen).values())[most:])

    return max(candidates, key=sum_of_likes)


def _without_each(sites: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """The sites without one of them, or without a twentieth, each in turn."""
    blocks = min(len(sites), BLOCKS)
    for block in range(blocks):
        yield tuple(site for place, site in enumerate(sites) if place % blocks != block)


def _sizes(most: int) -> Iterator[int]:
    """Doubled each time, last `most`, for each takes a search.

    >>> list(_sizes(3)), list(_sizes(9))
    ([1, 2, 3], [1, 2, 4, 8, 9])
    """
    k = 1
    while k < most:
        yield k
        k *= 2
    yield most
