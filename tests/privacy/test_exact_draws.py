"""Exact samplers against the distributions that they claim."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy.stats import chisquare

from fedbn.errors import ConfigError
from fedbn.privacy.exact_draws import bernoulli_exp, choose, discrete_gaussian, discrete_laplace

DRAWS = 100_000
MIN_P = 1e-4
"""Seeds are fixed: a right sampler fails one seed in 10,000, a wrong one every seed."""


def p_value(counts: list[int], chances: np.ndarray) -> float:
    return float(chisquare(counts, chances / chances.sum() * sum(counts)).pvalue)


def test_choice_has_the_probabilities_of_the_exponential_mechanism() -> None:
    utilities, rate = [0, -3, 17, 17, 5, -40, 12], Fraction(3, 37)
    source = Random(1)
    counts = Counter(choose(utilities, rate, source) for _ in range(DRAWS))
    chances = np.exp(float(rate) * np.array(utilities))
    assert p_value([counts[i] for i in range(len(utilities))], chances) > MIN_P


def test_choice_can_tell_a_wrong_rate() -> None:
    """The test above fails when the rate is 3 % off."""
    utilities, source = [0, -3, 17, 17, 5, -40, 12], Random(1)
    counts = Counter(choose(utilities, Fraction(309, 3700), source) for _ in range(DRAWS))
    chances = np.exp(3 / 37 * np.array(utilities))
    assert p_value([counts[i] for i in range(len(utilities))], chances) < MIN_P


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(17, 5)])
def test_bernoulli_of_an_exponential(gamma: Fraction) -> None:
    source = Random(2)
    hits = sum(bernoulli_exp(gamma, source) for _ in range(DRAWS // 4))
    chance = math.exp(-gamma)
    spread = math.sqrt(DRAWS / 4 * chance * (1 - chance))
    assert abs(hits - DRAWS / 4 * chance) <= 4 * spread


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(9), Fraction(201, 7)])
def test_discrete_gaussian(variance: Fraction) -> None:
    source = Random(3)
    counts = Counter(discrete_gaussian(variance, source) for _ in range(DRAWS // 4))
    reach = math.floor(3 * math.sqrt(variance))
    inside = np.arange(-reach, reach + 1)
    assert p_value([counts[z] for z in inside], np.exp(-(inside**2) / (2 * float(variance)))) > (
        MIN_P
    )
    assert sum(counts[z] for z in inside) < DRAWS // 4 or variance < 1


def test_discrete_laplace() -> None:
    source = Random(4)
    counts = Counter(discrete_laplace(4, source) for _ in range(DRAWS // 4))
    inside = np.arange(-20, 21)
    assert p_value([counts[z] for z in inside], np.exp(-np.abs(inside) / 4)) > MIN_P


def test_arguments() -> None:
    source = Random(0)
    with pytest.raises(ConfigError, match="candidates"):
        choose([], Fraction(1), source)
    with pytest.raises(ConfigError, match="variance must be positive"):
        discrete_gaussian(Fraction(0), source)
    with pytest.raises(ConfigError, match="scale must be at least 1"):
        discrete_laplace(0, source)
    with pytest.raises(ConfigError, match="γ must be at least 0"):
        bernoulli_exp(Fraction(-1, 2), source)
