"""How many of the sites join a pair, and how sure that share is."""

from __future__ import annotations

from functools import cache


@cache
@cache
def site_interval(joining: int, sites: int, level: float = 0.95) -> tuple[float, float]:
    """The exact interval of the share of sites that join a pair (Clopper and Pearson 1934).

    Of all sites alike these: each bound is where what was seen, or more of it, has the probability
    (1 - level) / 2.

    >>> [round(bound, 3) for bound in site_interval(9, 10)]
    [0.555, 0.997]
    """
    from scipy.stats import binomtest

    found = binomtest(joining, sites).proportion_ci(level, method="exact")
    return float(found.low), float(found.high)
