"""A slow twin of ln, exp and ln Γ: the operations of `core/elementary.hpp` one by one in Python.

Python's floats add, multiply and divide as IEEE 754 says, so that the core has the same bytes where
its compiler keeps to that, too.
"""

from __future__ import annotations

import math
from fractions import Fraction

HIGH = Fraction(1, 2**40)
LOW = Fraction(1, 2**100)


def parts_of_logarithm(p: int, q: int) -> tuple[float, float]:
    """ln(p / q) as a multiple of 2^-40 and a rest in multiples of 2^-100, both cut off."""
    z = Fraction(p - q, p + q)
    exact = 2 * sum((z**k / k for k in range(1, 90, 2)), Fraction(0))
    high = math.trunc(exact / HIGH)
    return float(high * HIGH), float(math.floor((exact - high * HIGH) / LOW) * LOW)


LOG_2 = parts_of_logarithm(2, 1)


def logarithm(x: float) -> float:
    m, exponent = math.frexp(x)  # from 1/2 to 1
    if m < math.sqrt(0.5):
        m, exponent = 2 * m, exponent - 1
    i = int(m * 128 + 0.5)
    high, low = parts_of_logarithm(i, 128)
    c = i / 128
    u = (m - c) / c
    s = u / (2 + u)
    square, half = s * s, 0.5 * u * u
    curve = s * (half + square * (2 / 3 + square * (2 / 5 + square * (2 / 7)))) - half
    base = exponent * LOG_2[0] + high
    total = base + u
    return total + ((base - total) + u + (curve + (exponent * LOG_2[1] + low)))


def exponential(x: float) -> float:
    k = math.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * LOG_2[0]) - k * LOG_2[1]
    series = 0.0
    for n in range(14, 1, -1):
        series = series * r + 1 / math.factorial(n)
    return math.ldexp(1 + (r + r * r * series), k)


def log_gamma(x: float) -> float:
    product = 1.0
    while x < 16:
        product *= x
        x += 1
    inverse = 1 / x
    square = inverse * inverse
    series = 1 / 1680 - square * (1 / 1188)
    for coefficient in (1 / 1260, 1 / 360, 1 / 12):
        series = coefficient - square * series
    above = (x - 0.5) * logarithm(x) - x + 0.91893853320467274178 + inverse * series
    return above if product == 1 else above - logarithm(product)
