"""How sure an edge is: exact intervals against binomial sums, and the fit of the constants."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

from fedbn.consensus.strength import SURENESS, Seen, fit_sureness, site_interval, sureness


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


def test_more_sites_make_an_edge_surer_and_a_larger_network_less_sure() -> None:
    for sites in (2, 5, 10, 40):
        said = [sureness(k, sites, 20) for k in range(1, sites + 1)]
        assert said == sorted(said)
        assert 0 < said[0] < said[-1] < 1
        assert sureness(1, sites, 200) < said[0]


def test_the_fit_finds_the_numbers_that_made_the_pairs() -> None:
    numbers = (0.5, 1.5, 0.25, -0.5)
    seen = [
        Seen(k, n, frequent, 10**7, round(10**7 * sureness(k, n, frequent, numbers)), weight)
        for n in (3, 5, 10)
        for frequent, weight in ((5, 1.0), (50, 0.25))
        for k in range(1, n + 1)
    ]
    np.testing.assert_allclose(fit_sureness(seen), numbers, atol=1e-3)
    assert len(SURENESS) == len(numbers)
