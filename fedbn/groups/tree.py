"""The tree over the sites: average linkage, by scipy.

It is made of SMHD; where all sites tell or show their rows, of what these do not explain
(`fedbn.groups.size_adjusted`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.groups.profiles import (
    SiteProfiles,
    distances_in_blocks,
    distances_where_both_judge,
)
from fedbn.groups.size_adjusted import beyond_rows, turned_apart


@dataclass(frozen=True, eq=False)
class SiteTree:
    """Average linkage (UPGMA) of the sites.

    Attributes
    ----------
    profiles : of the sites.
    distances : float64 [m (m - 1) / 2], as scipy condenses it: the mean SMHD of every two sites;
        where all sites tell or show their rows, 1 - cosine of what these do not explain.
    linkage : float64 [m - 1, 4], scipy's: the two branches that are joined, the mean distance
        between their sites, and how many sites there are then. Branch b below m is site b, m + k
        is what row k makes. Equal distances are joined as scipy does, in the order of the sites,
        which is that of their labels.
    """

    profiles: SiteProfiles
    distances: Floats
    linkage: Floats

    @property
    def m(self) -> int:
        """The number of sites."""
        return len(self.profiles.sites)

    def leaves(self) -> list[int]:
        """The sites in the order in which the tree is drawn without crossings."""
        from scipy.cluster.hierarchy import leaves_list

        return [0] if self.m == 1 else [int(i) for i in leaves_list(self.linkage)]

    def spans(self) -> Ints:
        """int64 [2 m - 1, 2]: branch b has the sites `leaves()[start:end]`."""
        spans = np.empty((2 * self.m - 1, 2), np.int64)
        for place, site in enumerate(self.leaves()):
            spans[site] = place, place + 1
        for row, (left, right) in enumerate(self.linkage[:, :2].astype(np.int64)):
            both = spans[[left, right]]
            spans[self.m + row] = both[:, 0].min(), both[:, 1].max()
        return spans

    def cut(self, groups: int) -> tuple[int, ...]:
        """The number of each site's group, from 0 in the order of first sites, where the tree has
        so many branches; ties of heights go to the branches that were joined first."""
        of = np.arange(2 * self.m - 1)
        for row, (left, right) in enumerate(self.linkage[: self.m - groups, :2].astype(np.int64)):
            of[(of == of[left]) | (of == of[right])] = self.m + row
        return renumber(of[: self.m])


def tree_of(profiles: SiteProfiles) -> SiteTree:
    """The tree of sites with these profiles."""
    from scipy.cluster.hierarchy import average

    if profiles.shows_rows:
        beyond = beyond_rows(profiles.shares, profiles.covariate, profiles.judges)
        distances = turned_apart(beyond)
    elif profiles.judges is not None:
        distances = distances_where_both_judge(profiles)
    else:
        distances = distances_in_blocks(profiles.shares)
    few = len(profiles.sites) < 2
    return SiteTree(profiles, distances, np.empty((0, 4)) if few else average(distances))


def renumber(labels: Ints) -> tuple[int, ...]:
    """Labels as 0, 1, ... in the order in which they first occur.

    >>> renumber(np.array([7, 7, 3, 7, 9]))
    (0, 0, 1, 0, 2)
    """
    numbers: dict[int, int] = {}
    return tuple(numbers.setdefault(int(label), len(numbers)) for label in labels)
