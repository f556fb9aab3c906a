"""Audits: broken mechanisms are caught, right ones pass."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random, SystemRandom

import numpy as np
import pytest

from fedbn.attacks.audit import epsilon_lower_bound, noise_repeats
from fedbn.errors import ConfigError
from fedbn.networks.catalog import load_network
from fedbn.privacy.climb import dp_climb
from fedbn.privacy.mechanism_runs import Budget, Mechanism, Transcript
from fedbn.privacy.zcdp import rho_of
from simulations.studies.privacy.audits import (
    LEVEL,
    MECHANISMS,
    caught_moments,
    caught_neighbours,
    one_draw_bound,
)
from simulations.studies.privacy.broken import (
    filter_candidates,
    flips_all_pairs,
    half_the_width,
    only_adds,
    seeded_noise,
    undivided_budget,
)

RHO = Fraction(rho_of(1, 1e-6))
NEIGHBOURS = 16


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_replays_of_a_right_mechanism_pass(mechanism: Mechanism) -> None:
    assert caught_neighbours(mechanism, Budget.of, 1, NEIGHBOURS) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("make", [half_the_width, undivided_budget])
def test_replays_catch_a_rate_that_is_too_large(
    mechanism: Mechanism, make: Callable[[Fraction, int], Budget]
) -> None:
    assert caught_neighbours(mechanism, make, 1, NEIGHBOURS) >= NEIGHBOURS // 4


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_replays_catch_candidates_that_depend_on_data(mechanism: Mechanism) -> None:
    found = caught_neighbours(filter_candidates(mechanism), Budget.of, 1, NEIGHBOURS)
    assert found >= NEIGHBOURS // 4


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_replays_of_releases_and_draws_pass_where_nothing_is_wrong(epsilon: float) -> None:
    assert caught_moments("none", epsilon, NEIGHBOURS) == 0


@pytest.mark.parametrize("fault", ["half the width", "budget undivided", "filtered"])
def test_replays_catch_broken_releases(fault: str) -> None:
    assert caught_moments(fault, 1, NEIGHBOURS) >= NEIGHBOURS // 4


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_one_draw_at_its_worst_pair_keeps_what_it_claims(epsilon: float) -> None:
    assert all(one_draw_bound(epsilon, 1, seed, 2000) <= epsilon for seed in range(5))


def test_one_draw_with_half_the_width_is_caught() -> None:
    assert all(one_draw_bound(1.0, 2, seed, 20_000) > 1.0 for seed in range(2))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response(epsilon: float) -> None:
    """The one that only adds is caught at once; the one that flips all pairs passes 100 audits.

    The level is divided by the number of audits: at 5 % each, some of 100 would err.
    """
    rng, level = np.random.default_rng(1), LEVEL / 100

    def bound(mechanism: Callable[..., np.ndarray]) -> float:
        with_edge, without = (mechanism(side, epsilon, rng, 4000) for side in (True, False))
        return epsilon_lower_bound(with_edge, without, 0.0, level)

    assert bound(only_adds) > max(4.0, epsilon)
    bounds = [bound(flips_all_pairs) for _ in range(100)]
    assert max(bounds) <= epsilon
    assert np.median(bounds) > 0.7 * epsilon or epsilon == 0.1


def test_noise_from_a_seed_that_the_server_knows_is_caught() -> None:
    table = load_network("asia").sample(60, np.random.default_rng(3))

    def runs(source: Callable[[], Random]) -> Callable[[], Transcript]:
        return lambda: dp_climb(table, rho=RHO, source=source())[1]

    assert noise_repeats(runs(lambda: seeded_noise(7)))
    assert not noise_repeats(runs(SystemRandom))


def test_arguments() -> None:
    with pytest.raises(ConfigError, match="two runs each"):
        epsilon_lower_bound([1], [1, 2], 0)
