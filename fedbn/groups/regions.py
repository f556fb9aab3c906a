"""In how many regions of the network two parts of the sites differ.

A learner that takes one of two local optima changes pairs around one place: an edge here makes
another one there needless, and so on along a chain. So a difference that is one connected region
may be that of two optima of one population, where one of several regions rather is not.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.graphs.components import count_components
from fedbn.groups.judged_pairs import means_of_judges

MOSTLY = 0.5
"""A pair belongs to a region where the parts' shares of it differ by more."""


def regions_between(shares: Floats, pairs: Ints, part: Bools, judges: Bools | None = None) -> int:
    """The number of connected components of the pairs that one part mostly has and the other not.

    Parameters
    ----------
    shares : float64 [m, P], the shares of the sites' structures with each pair.
    pairs : int64 [P, 2], the pair of each column.
    part : bool [m], one side of the split; both sides have sites.
    judges : bool [m, P], which sites judge each pair; None: all. A pair of which one side has no
        judge is in no region.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 2], [4, 5]])
    >>> regions_between(np.array([[1.0, 0, 1], [0, 1, 0]]), pairs, np.array([True, False]))
    2
    """
    sides = (part, ~part)
    of_sides = [None if judges is None else judges[side] for side in sides]
    one, other = (
        means_of_judges(shares[side], own) for side, own in zip(sides, of_sides, strict=True)
    )
    apart = np.abs(one - other) > MOSTLY
    for own in of_sides:
        if own is not None:
            apart &= own.any(axis=0)
    return count_components(pairs[apart])
