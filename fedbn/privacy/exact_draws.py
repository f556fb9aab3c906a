"""Exact random choices: integers and fractions only, so no float can give a row away.

Canonne, Kamath & Steinke 2020 ("The discrete Gaussian for differential privacy"): algorithm 1
(Bernoulli of exp(-γ)), algorithm 2 (discrete Laplace), algorithm 3 (discrete Gaussian). The
exponential mechanism is rejection from the uniform distribution with algorithm 1.

How long a draw takes depends on the utilities: run time is outside every guarantee given here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

from fedbn.errors import ConfigError


def bernoulli_exp(gamma: Fraction, source: Random) -> bool:
    """True with probability exp(-γ), exactly, for γ ≥ 0.

    Parameters
    ----------
    gamma : at least 0.
    source : of random bits; `random.SystemRandom()` wherever it protects anybody.

    Raises
    ------
    ConfigError : γ is negative.
    """
    if gamma < 0:
        raise ConfigError(f"γ must be at least 0, not {gamma}")
    return _exp_of(gamma.numerator, gamma.denominator, source)


def choose(utilities: Sequence[int], rate: Fraction, source: Random) -> int:
    """The index i with probability ∝ exp(rate · utilities[i]), exactly.

    Parameters
    ----------
    utilities : integers, at least one.
    rate : λ, at least 0.
    source : of random bits.

    Raises
    ------
    ConfigError : there is nothing to choose from, or the rate is negative.
    """
    if not utilities or rate < 0:
        raise ConfigError(f"a choice needs candidates and a rate of at least 0, not {rate}")
    best, draw = max(utilities), source.randrange
    while True:
        i = draw(len(utilities))
        gamma = (best - utilities[i]) * rate.numerator
        if gamma == 0 or _exp_of(gamma, rate.denominator, source):
            return i


def discrete_gaussian(variance: Fraction, source: Random) -> int:
    """An integer z with probability ∝ exp(-z² / (2 σ²)), exactly, for variance σ² > 0.

    Raises
    ------
    ConfigError : the variance is not positive.
    """
    if variance <= 0:
        raise ConfigError(f"a variance must be positive, not {variance}")
    scale = math.isqrt(math.floor(variance)) + 1
    while True:
        z = discrete_laplace(scale, source)
        excess = abs(z) - variance / scale
        if bernoulli_exp(excess * excess / (2 * variance), source):
            return z


def discrete_laplace(scale: int, source: Random) -> int:
    """An integer z with probability ∝ exp(-|z| / scale), exactly, for a whole scale ≥ 1.

    Raises
    ------
    ConfigError : the scale is not positive.
    """
    if scale < 1:
        raise ConfigError(f"a scale must be at least 1, not {scale}")
    while True:
        remainder = source.randrange(scale)
        if not _exp_of(remainder, scale, source):
            continue
        quotient = 0
        while _exp_of(1, 1, source):
            quotient += 1
        size, negative = remainder + scale * quotient, source.randrange(2)
        if size or not negative:
            return -size if negative else size


def _exp_of(numerator: int, denominator: int, source: Random) -> bool:
    """True with probability exp(-numerator / denominator)."""
    while numerator > denominator:
        if not _small_exp_of(1, 1, source):
            return False
        numerator -= denominator
    return _small_exp_of(numerator, denominator, source)


def _small_exp_of(numerator: int, denominator: int, source: Random) -> bool:
    """The same for a fraction of at most 1: the first k with a failure of γ / k is odd."""
    k = 1
    while source.randrange(denominator * k) < numerator:
        k += 1
    return k % 2 == 1
