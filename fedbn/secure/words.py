"""How wide the masked integers of a request are: as narrow as the sum over all sites allows.

A mask modulo 2^w hides a value as well for every w; what w must do is hold the sum. Of one input of
n nodes and weight 1,

    a cost of the order heuristic lies between -1 and n²/4 + 2n,
    a minimum cut is at most the number of arcs, n (n - 1) / 2,
    a vote is at most 1,

so every sum over the sites lies within ± sites · units · (n² + n). Presence of arcs needs all 64
bits, for the sum must be 0 only if nobody has the arc; what is summed of tables (counts, sums of
products, scores) has no such bound.
"""

from __future__ import annotations

import numpy as np

from fedbn.secure.requests import SumRequest, TableRequest, UnionRequest


def largest_sum(n: int, sites: int, units: int) -> int:
    """What no sum of costs, cuts or votes is beyond, in either direction.

    >>> largest_sum(37, 10, 1)
    14060
    """
    return sites * units * (n * n + n)


def word_of(request: SumRequest, n: int, sites: int, units: int) -> type[np.unsignedinteger]:
    """The type of the masked vectors that answer a request; both sides find it by themselves."""
    if isinstance(request, UnionRequest | TableRequest):
        return np.uint64
    bound = largest_sum(n, sites, units)
    return np.uint16 if bound < 2**15 else np.uint32 if bound < 2**31 else np.uint64
