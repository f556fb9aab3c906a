"""How sure an edge is: exact intervals against binomial sums."""

from __future__ import annotations

from math import comb

import pytest

from fedbn.consensus.strength import site_interval


def tail(least: int, sites: int, share: float) -> float:
    """P(at least so many of the sites)."""
    return sum(comb(sites, k) * share**k * (1 - share) ** (sites - k)
               for k in range(least, sites + 1))  # fmt: skip


@pytest.mark.parametrize("sites", [1, 2, 5, 10, 30])
def test_the_interval_by_its_definition(sites: int) -> None:
    for joining in range(sites + 1):
        low, high = site_interval(joining, sites)
        assert 0 <= low <= joining / sites <= high <= 1
        if joining:
            assert tail(joining, sites, low) == pytest.approx(0.025, abs=1e-9)
        if joining < sites:
            assert 1 - tail(joining + 1, sites, high) == pytest.approx(0.025, abs=1e-9)
