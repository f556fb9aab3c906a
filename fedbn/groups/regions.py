"""In how many regions of the network two parts of the sites differ.

A learner that takes one of two local optima changes pairs around one place: an edge here makes
another one there needless, and so on along a chain. So a difference that is one connected region
may be that of two optima of one population, where one of several regions rather is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats, Ints
from fedbn.graphs.components import count_components

MOSTLY = 0.5
"""A pair belongs to a region where the parts' shares of it differ by more."""


def regions_between(shares: Floats, pairs: Ints, part: NDArray[np.bool_]) -> int:
    """The number of connected components of the pairs that one part mostly has and the other not.

    Parameters
    ----------
    shares : float64 [m, P], the shares of the sites' structures with each pair.
    pairs : int64 [P, 2], the pair of each column.
    part : bool [m], one side of the split; both sides have sites.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 2], [4, 5]])
    >>> regions_between(np.array([[1.0, 0, 1], [0, 1, 0]]), pairs, np.array([True, False]))
    2
    """
    apart = np.abs(shares[part].mean(axis=0) - shares[~part].mean(axis=0)) > MOSTLY
    return count_components(pairs[apart])
