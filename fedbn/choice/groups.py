"""Whether the sites fall into two groups with structures of their own.

Where seven sites have one structure and three another, sums over all of them mix two populations,
and what counts choose is neither's structure. Two steps tell:

1. *Structures*. The tree of `fedbn.groups` (average linkage on SMHD) is cut in two. It is
   a split worth asking about where each part has two sites and sites of different parts are, in the
   mean, at least `APART` times as far from each other as sites of one part.
2. *Counts*. The best structure for each part, from its own sums, is compared with the best common
   one, all by the larger of shared and own tables. A second structure costs what it takes to say
   where it differs, ln n for a parent and one more for a family.

Only where both say so are the sites taken to be groups. Where the smaller one is few sites
(`fedbn.choice.site_sums.are_few`) the counts of the larger one choose, elsewhere the structures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np

from fedbn.choice.site_sums import most_left_out, numbers_left_out
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.groups.profiles import SiteStructures, profiles_of
from fedbn.groups.tree import tree_of

Groups = tuple[tuple[str, ...], tuple[str, ...]]
"""The names of the sites of both parts, each sorted; the larger part first."""

APART = 1.5
"""How many times as far sites of different parts are from each other."""


def split_by_structures(dags: Mapping[str, DAG]) -> Groups | None:
    """The two parts of the sites, where their structures tell them apart.

    Parameters
    ----------
    dags : site -> its structure, all over the same names.

    Examples
    --------
    >>> chain = DAG.from_edges("abcd", ["ab", "bc", "cd"])
    >>> other = DAG.from_edges("abcd", ["ad", "ac", "bd"])
    >>> split_by_structures({"n": chain, "s": chain, "e": other, "w": other})
    (('e', 'w'), ('n', 's'))
    >>> split_by_structures({"n": chain, "s": chain, "e": chain, "w": other})
    """
    sites = sorted(dags)
    if len(sites) < 4:
        return None
    one = (Fraction(1),)
    tree = tree_of(profiles_of([SiteStructures(site, (dags[site],), one) for site in sites]))
    part = np.array(tree.cut(2))
    parts = sorted(
        (tuple(site for site, own in zip(sites, part, strict=True) if own == k) for k in (0, 1)),
        key=lambda own: (-len(own), own),
    )
    if len(parts[1]) < 2:
        return None
    one_site, other = np.triu_indices(len(sites), 1)
    together = part[one_site] == part[other]
    within, between = tree.distances[together].mean(), tree.distances[~together].mean()
    if between == 0.0 or between < APART * within:
        return None
    return parts[0], parts[1]


def medoid(sites: Sequence[str], dags: Mapping[str, DAG]) -> DAG:
    """The structure of a site with the smallest sum of SMHD to the others; ties by name."""
    sums = {site: sum(smhd(dags[site], dags[other]) for other in sites) for site in sorted(sites)}
    return dags[min(sums, key=lambda site: sums[site])]


def confirm_parts(
    parts: Groups,
    best_of: Callable[[tuple[str, ...]], tuple[DAG, float]],
    liking: Callable[[DAG, DAG], Mapping[str, float]],
) -> Groups | None:
    """The parts, where a structure for each is better than a common one, also without the few sites
    whose own rows speak most for that; None where not.

    One site with rows like nobody else's makes a structure for its part better, whoever else is in
    that part. So the sites that gain most are left out, one, two, four, and so on, fewer than a
    third of all, as long as both parts have a site left, and a score.

    Parameters
    ----------
    parts : of the sites, none of them empty.
    best_of : of some sites, the best structure by what they sent, and its score in nats.
    liking : site -> by how many nats its own rows are for the first of two structures.
    """
    best_of = cache(best_of)
    if not _gain(*parts, best_of) > 0:
        return None
    common, _ = best_of((*parts[0], *parts[1]))
    gains = {}
    for part in parts:
        likes = liking(best_of(part)[0], common)
        gains.update({site: likes[site] for site in part})
    order = sorted(gains, key=lambda site: (-gains[site], site))
    for k in numbers_left_out(most_left_out(len(order))):
        few = order[:k]
        first, second = (tuple(site for site in part if site not in few) for part in parts)
        if not first or not second:
            break
        gain = _gain(first, second, best_of)
        if math.isfinite(gain) and gain <= 0:
            return None
    return parts


def _gain(
    first: tuple[str, ...],
    second: tuple[str, ...],
    best_of: Callable[[tuple[str, ...]], tuple[DAG, float]],
) -> float:
    """By how many nats a structure for each of two parts is better than a common one, less what it
    costs; not finite where one of them has no score."""
    _, whole = best_of((*first, *second))
    (here, one), (there, other) = best_of(first), best_of(second)
    return one + other - whole - cost_of_another(here, there)


def cost_of_another(one: DAG, other: DAG) -> float:
    """What it costs, in nats, to say how the second structure differs from the first."""
    pairs = zip(one.parent_sets(), other.parent_sets(), strict=True)
    differing = [len(b) for a, b in pairs if a != b]
    return sum(parents + 1 for parents in differing) * math.log(max(one.n, 2))
