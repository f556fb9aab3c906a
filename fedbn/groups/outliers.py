"""Sites that stand alone: groups of one.

A site is an outlier of its group when it is much farther from the others than they are from each
other: its mean SMHD to them, as a logarithm, is above the median of the group by more robust
standard deviations (1.4826 times the median absolute deviation) than a normal sample of this size
has with probability `LEVEL` (Bonferroni over the sites). Where all sites tell their rows, a line
through their logarithms is taken out first: few rows are no fault.

A median absolute deviation of ten sites is small by chance now and then, above all where they
differ in few pairs. But a site's own differences, which are half of the median SMHD m, are a count,
and a count of m / 2 has a standard deviation of √(m / 2): so a logarithm of 1 + m is not taken to
vary by less than √(m / 2) / (1 + m). Pairs that differ together vary more; the level is not exact.

It is named and stays in its group: `auto` makes no group of one. A broken or hostile site looks
like this, and `robust = clip` bounds what it can do to the consensus; so does a site of a
population of its own. Where sites have different variables, distances are over different pairs,
and nobody but groups of one is named.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Indices
from fedbn.groups.tree import SiteTree

LEVEL = 0.01
LEAST_SITES = 5
"""Of fewer sites nobody is said to stand alone."""


def outliers_of(tree: SiteTree, groups: tuple[int, ...]) -> tuple[int, ...]:
    """The sites that stand alone in their groups, or are groups of one, ascending.

    groups : the group of every site.
    """
    of = np.array(groups)
    found: list[int] = []
    for group in range(max(groups) + 1):
        members = np.flatnonzero(of == group)
        if len(members) == 1 and len(of) > 1:
            found.append(int(members[0]))
        elif len(members) >= LEAST_SITES and tree.profiles.judges is None:
            found += [int(i) for i in members[_alone(tree, members)]]
    return tuple(sorted(found))


def _alone(tree: SiteTree, members: Indices) -> Bools:
    """bool [k]: the members that are far from the others."""
    from scipy.stats import norm, theilslopes

    shares = tree.profiles.shares[members]
    votes, own = shares.sum(axis=0), shares.sum(axis=1)
    k = len(members)
    total = k * own + votes.sum() - 2.0 * shares @ votes
    itself = 2.0 * (own - (shares**2).sum(axis=1))
    distances = (total - itself) / (k - 1)
    mean = np.log1p(distances)
    if tree.profiles.rows is not None:
        logs = tree.profiles.covariate[members]
        if np.ptp(logs) > 0:
            mean = mean - theilslopes(mean, logs)[0] * logs
    apart = mean - np.median(mean)
    spread = max(1.4826 * float(np.median(np.abs(apart))), _by_chance(float(np.median(distances))))
    found: Bools = apart / spread > norm.isf(LEVEL / k)
    return found


def _by_chance(distance: float) -> float:
    """What the logarithm of 1 + a distance varies by, where a half of it is a count; a distance of
    at least 1, so that sites that agree wholly have room for one pair."""
    m = max(distance, 1.0)
    return float(np.sqrt(m / 2.0) / (1.0 + m))
