"""The probability that a pair is an edge, from the sites' votes on it and on the pairs around it.

The pair counts as an edge of the network that the rows were sampled from whatever its direction;
sites are alike, learn with GES and BDeu, and send one structure each.

Where variables determine each other almost, sites make the same mistake from different rows: all of
them join a pair that the network does not join. A vote alone does not show it, but its surroundings
do. Such variables stand in for one another, so wrong pairs come in clusters: their ends have many
neighbours, many of them in common, and these are joined among themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Floats, Ints

SURENESS = (
    1.766, 2.075, 0.2873, -0.3671, -0.5589, -0.2415,
    -0.4365, -0.294, -0.6008, -0.2869, 0.2983, -1.185,
)  # fmt: skip
"""Of a pair's `features`: fitted by the study of strengths (docs/studies/strengths.md)."""


class Pairs(NamedTuple):
    """What votes show of the pairs that at least one site joins; all arrays are [P].

    one, other : the variables' places, one < other.
    joining : of `sites` sites so many join the pair.
    common : ln(1 + sum over the other variables of the product of the shares of sites that join
        them with either end).
    degree : ln(1 + sum of these shares over both ends).
    clustering : of both ends together, the share of their pairs of neighbours that are joined.
    """

    one: Ints
    other: Ints
    joining: Ints
    common: Floats
    degree: Floats
    clustering: Floats


def pairs_of(votes: Ints, sites: int) -> Pairs:
    """The pairs that some site joins, in the order of their places.

    Parameters
    ----------
    votes : int64 [n, n], symmetric with an empty diagonal: how many of the sites join each pair.
    """
    shares = votes / sites
    reach, through = shares.sum(axis=1), shares @ shares
    triangles = (through * shares).sum(axis=1) / 2
    clustering = triangles / np.maximum(reach * (reach - 1) / 2, 0.5)
    one, other = np.nonzero(np.triu(votes > 0, k=1))
    beside = reach[one] + reach[other] - 2 * shares[one, other]
    return Pairs(
        one,
        other,
        votes[one, other],
        np.log1p(through[one, other]),
        np.log1p(beside),
        clustering[one] + clustering[other],
    )


def probabilities(
    pairs: Pairs, sites: int, variables: int, numbers: Sequence[float] = SURENESS
) -> Floats:
    """float64 [P]: the probability that each pair is an edge."""
    odds: Floats = features(pairs, sites, variables) @ np.array(numbers)
    return 1.0 / (1.0 + np.exp(-odds))


def features(pairs: Pairs, sites: int, variables: int) -> Floats:
    """float64 [P, 12]: 1, the log odds l of (joining + 1/2) / (sites + 1), ln(sites), common,
    degree, ln(variables), clustering, l common, l degree, l ln(sites), l ln(variables), and the
    logarithm of the pairs that a site joins on average, for each variable."""
    count = len(pairs.joining)
    odds = np.log((pairs.joining + 0.5) / (sites - pairs.joining + 0.5))
    size = np.log(variables)
    return np.stack(
        [
            np.ones(count),
            odds,
            np.full(count, np.log(sites)),
            pairs.common,
            pairs.degree,
            np.full(count, size),
            pairs.clustering,
            odds * pairs.common,
            odds * pairs.degree,
            odds * np.log(sites),
            odds * size,
            np.full(count, np.log(pairs.joining.sum() / sites + 0.5) - size),
        ],
        axis=1,
    )
