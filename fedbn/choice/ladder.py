"""Which row-weight class to take when nothing but structures is known.

The card's rule, the state of least mean SMHD to the inputs, cannot compare two classes, for their
inputs differ. What can be compared is how many *chance* pairs a majority of the sites would join.
As k grows, weak true edges come to be seen by most sites, while chance edges differ from site to
site; so the largest k is best at which chance still cannot make a majority.

As in stability selection (Meinshausen & Bühlmann 2010; Shah & Samworth 2013) the chance pairs are
bounded in expectation. A pair that fewer than half of the sites join in their moral graphs is taken
to be chance; f is the mean share of the sites that join such a pair (weak true pairs only
raise it; (a + 1) / (b + 2) keeps it off 0). If S sites err independently, the expected number of
chance pairs that at least half of them join is P × P(Bin(S, f) ≥ S / 2) over all P pairs. Taken is
the largest k up to which this stays below `EXPECTED` = 0.05, and the smallest k where none does.

Deviations from these papers: the sites are not subsamples of one table, and the same search errs at
several of them in the same way, so this is a rule with a meaning and no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["EXPECTED", "class_by_chance", "expected_chance_pairs"]

EXPECTED = 0.05
"""Chance pairs of a majority, in expectation, that a class may have."""


def expected_chance_pairs(moral: NDArray[np.int64], total: int, sites: int) -> float:
    """How many pairs at least half of the sites are expected to join by chance.

    Parameters
    ----------
    moral : int64 [n, n], symmetric: weight of the inputs whose moral graph has the pair.
    total : weight of all inputs.
    sites : how many sites they come from.

    Examples
    --------
    >>> votes = np.array([[0, 9, 1], [9, 0, 0], [1, 0, 0]])
    >>> round(expected_chance_pairs(votes, total=10, sites=10), 4)
    0.0032
    """
    from scipy.stats import binom

    pairs = moral[np.triu_indices(len(moral), k=1)]
    chance = pairs[2 * pairs < total]
    joined = chance.sum() * sites / total
    share = (joined + 1.0) / (chance.size * sites + 2.0)
    return float(pairs.size * binom.sf(math.ceil(sites / 2) - 1, sites, share))


def class_by_chance(expected: Sequence[float]) -> int:
    """The position of the class to take, from the expected chance pairs by ascending row weight.

    >>> class_by_chance([0.0, 0.01, 0.3, 0.04]), class_by_chance([2.0, 9.0])
    (1, 0)
    """
    taken = 0
    for place, pairs in enumerate(expected):
        if pairs > EXPECTED:
            break
        taken = place
    return taken
