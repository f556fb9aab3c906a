"""Zero-concentrated differential privacy (zCDP): what adds up, and its (ε, δ).

Bun & Steinke 2016: mechanisms of ρ₁ and ρ₂ on one table are ρ₁ + ρ₂ together, also when the second
is chosen after the first. Canonne, Kamath & Steinke 2020 ("The discrete Gaussian for differential
privacy"), corollary 13, give the conversion used here; Dong, Durfee & Rogers 2020 ("Optimal
differential privacy composition for exponential mechanisms") the ρ of one exponential mechanism.

Everything is meant per row: two tables are neighbours when one has one row more.
"""

from __future__ import annotations

import math
from fractions import Fraction

from fedbn.errors import ConfigError

_BISECTIONS = 60
_SECTIONS = 80
_LOG_RANGE = (-60.0, 60.0)
_GOLDEN = (math.sqrt(5) - 1) / 2


def epsilon_of(rho: float, delta: float) -> float:
    """The smallest ε with (ε, δ)-DP that the corollary gives for ρ-zCDP.

    The infimum over α > 1 of ρα + ln(1/(αδ))/(α - 1) + ln(1 - 1/α), never below 0. Every α gives a
    valid ε, so an inexact minimum errs on the safe side.

    Raises
    ------
    ConfigError : ρ is negative or not finite, or δ does not lie between 0 and 1.

    Examples
    --------
    >>> round(epsilon_of(0.02436, 1e-6), 3)
    1.0
    """
    _require_delta(delta)
    if not 0 <= rho < math.inf:
        raise ConfigError(f"ρ must be at least 0 and finite, not {rho}")
    if rho == 0:
        return 0.0

    def bound(t: float) -> float:
        order = 1 + math.exp(t)
        rest = (-math.log(order) - math.log(delta)) / (order - 1)
        return rho * order + rest + t - math.log(order)

    low, high = _LOG_RANGE
    for _ in range(_SECTIONS):
        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if bound(a) < bound(b):
            high = b
        else:
            low = a
    return max(0.0, bound(low), bound(high))


def rho_of(epsilon: float, delta: float) -> float:
    """The largest ρ whose `epsilon_of` is at most ε, from below.

    Raises
    ------
    ConfigError : ε is not positive and finite, or δ does not lie between 0 and 1.

    Examples
    --------
    >>> [round(rho_of(epsilon, 1e-6), 5) for epsilon in (0.5, 1, 3, 10)]
    [0.00664, 0.02436, 0.18507, 1.53928]
    """
    _require_delta(delta)
    if not 0 < epsilon < math.inf:
        raise ConfigError(f"ε must be positive and finite, not {epsilon}")
    low, high = 0.0, epsilon
    while epsilon_of(high, delta) <= epsilon:  # where δ is large beside ε
        high *= 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def rho_of_choice(rate: Fraction, width: int) -> Fraction:
    """ρ of one draw with probability ∝ exp(rate · utility): (rate · width)² / 8, exact.

    `width` bounds how much the difference of two utilities can change from a table to a neighbour
    (the bounded range).

    >>> rho_of_choice(Fraction(1, 256), 256)
    Fraction(1, 8)
    """
    return (rate * width) ** 2 / 8


def rho_of_gaussian(variance: Fraction, squared_sensitivity: int) -> Fraction:
    """ρ of adding discrete Gaussian noise to integers: Δ₂² / (2 σ²), exact.

    >>> rho_of_gaussian(Fraction(50), 1)
    Fraction(1, 100)
    """
    return Fraction(squared_sensitivity) / (2 * variance)


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ConfigError(f"δ must lie between 0 and 1, not {delta}")
