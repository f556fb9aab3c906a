"""Audits: broken mechanisms are caught, right ones pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from random import Random, SystemRandom

import numpy as np
import pytest

from fedbn.attacks.audit import epsilon_lower_bound, noise_repeats, replay
from fedbn.attacks.flips import canary
from fedbn.attacks.samples import with_row, without_row
from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.networks.catalog import load_network
from fedbn.privacy.class_climb import class_climbing
from fedbn.privacy.climb import climbing, dp_climb
from fedbn.privacy.dependence import WIDTH
from fedbn.privacy.draws import Budget, Mechanism, PrivateChooser, Transcript
from fedbn.privacy.exact import choose
from fedbn.privacy.zcdp import rho_of
from simulations.privacy.broken import (
    filtered,
    flips_all_pairs,
    half_the_width,
    one_draw_tables,
    only_adds,
    seeded,
    undivided,
)

RHO = Fraction(rho_of(1, 1e-6))
DRAWS = 12
NEIGHBOURS = 16


def run(mechanism: Mechanism, table: Dataset, budget: Budget, seed: int) -> Transcript:
    chooser = PrivateChooser(budget, Random(seed))
    mechanism(table, table.n_rows, chooser)
    return Transcript(budget, table.n_rows, tuple(chooser.draws))


def caught(mechanism: Mechanism, make: Callable[[Fraction, int], Budget]) -> int:
    """How many of the neighbours, half of them with a canary, refute the mechanism's claim."""
    table = load_network("asia").sample(60, np.random.default_rng(3))
    found = 0
    for number in range(NEIGHBOURS):
        transcript = run(mechanism, table, make(RHO, DRAWS), number)
        odd = number % 2
        neighbour = with_row(table, canary(table)) if odd else without_row(table, number)
        found += replay(mechanism, transcript, neighbour, Budget.of(RHO, DRAWS)).caught
    return found


MECHANISMS = {"dp-climb": climbing(2), "dp-ges": class_climbing(4, 2)}


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_replays_of_a_right_mechanism_pass(mechanism: Mechanism) -> None:
    assert caught(mechanism, Budget.of) == 0


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
@pytest.mark.parametrize("make", [half_the_width, undivided])
def test_replays_catch_a_rate_that_is_too_large(
    mechanism: Mechanism, make: Callable[[Fraction, int], Budget]
) -> None:
    assert caught(mechanism, make) >= NEIGHBOURS // 4


@pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)
def test_replays_catch_candidates_that_depend_on_data(mechanism: Mechanism) -> None:
    assert caught(filtered(mechanism), Budget.of) >= NEIGHBOURS // 4


def one_draw_bound(epsilon: float, rate_factor: int, seed: int, runs: int = 2000) -> float:
    """The bound for one draw of three candidates, the tables' utilities at their worst."""
    rate, source = Fraction(epsilon) / WIDTH * rate_factor, Random(seed)
    outputs = []
    for extra in (False, True):
        a, b = (_dependence(counts) for counts in one_draw_tables(extra))
        offset = math.ceil(math.log(12) / rate)
        start = [_dependence(counts) for counts in one_draw_tables(False)]
        utilities = [a - start[0], b - start[1] + offset]
        outputs.append([choose(utilities, rate, source) for _ in range(runs)])
    return epsilon_lower_bound(outputs[0], outputs[1], 0.0)


def _dependence(counts: np.ndarray) -> int:
    n = int(counts.sum())
    part = np.abs(n * counts - np.outer(counts.sum(axis=1), counts.sum(axis=0))).sum()
    return 32 * int(part) // n


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_one_draw_at_its_worst_pair_keeps_what_it_claims(epsilon: float) -> None:
    assert all(one_draw_bound(epsilon, 1, seed) <= epsilon for seed in range(5))


def test_one_draw_with_half_the_width_is_caught() -> None:
    assert all(one_draw_bound(1.0, 2, seed, runs=20_000) > 1.0 for seed in range(2))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_randomised_response(epsilon: float) -> None:
    """The one that only adds is caught at once; the one that flips all pairs passes 100 audits.

    The level is divided by the number of audits: at 5 % each, some of 100 would err.
    """
    rng, level = np.random.default_rng(1), 0.05 / 100

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

    assert noise_repeats(runs(lambda: seeded(7)))
    assert not noise_repeats(runs(SystemRandom))


def test_arguments() -> None:
    with pytest.raises(ConfigError, match="two runs each"):
        epsilon_lower_bound([1], [1, 2], 0)
