"""Whether the sites fall into two groups with structures of their own.

Where seven sites have one structure and three another, sums over all of them mix two populations,
and what counts choose is neither's structure. Two steps tell:

1. *Structures*. The sites are divided in two by average linkage on the SMHD between their
   structures. It is a split worth asking about where each part has two sites and sites of different
   parts are, in the mean, at least `APART` times as far from each other as sites of one part.
2. *Counts*. The best structure for each part, from its own sums, is compared with the best common
   one, all by the larger of shared and own tables. A second structure costs what it takes to say
   where it differs, ln n for a parent and one more for a family.

Only where both say so are the sites taken to be groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd

__all__ = ["APART", "Groups", "cost_of_another", "medoid", "split_by_structures"]

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
    from scipy.cluster.hierarchy import fcluster, linkage

    far = {(a, b): smhd(dags[a], dags[b]) for a, b in combinations(sites, 2)}
    tree = linkage(np.array(list(far.values()), dtype=np.float64), "average")
    part = dict(zip(sites, fcluster(tree, 2, "maxclust").tolist(), strict=True))
    parts = sorted(
        (tuple(site for site in sites if part[site] == k) for k in set(part.values())),
        key=lambda own: (-len(own), own),
    )
    if len(parts) < 2 or len(parts[1]) < 2:
        return None
    within = [distance for (a, b), distance in far.items() if part[a] == part[b]]
    between = [distance for (a, b), distance in far.items() if part[a] != part[b]]
    if np.mean(between) < APART * np.mean(within):
        return None
    return parts[0], parts[1]


def medoid(sites: Sequence[str], dags: Mapping[str, DAG]) -> DAG:
    """The structure of a site with the smallest sum of SMHD to the others; ties by name."""
    sums = {site: sum(smhd(dags[site], dags[other]) for other in sites) for site in sorted(sites)}
    return dags[min(sums, key=lambda site: sums[site])]


def cost_of_another(one: DAG, other: DAG) -> float:
    """What it costs, in nats, to say how the second structure differs from the first."""
    pairs = zip(one.parent_sets(), other.parent_sets(), strict=True)
    differing = [len(b) for a, b in pairs if a != b]
    return sum(parents + 1 for parents in differing) * math.log(max(one.n, 2))
