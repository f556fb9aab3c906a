"""ln, exp and ln Γ of the core against exact arithmetic and Python's own."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn._core.scores import exponential, log_gamma, logarithm, logarithms
from fedbn.errors import ArgumentError
from tests import naive_elementary as naive


def exactly(function: str, x: float) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        return Decimal(x).ln() if function == "ln" else Decimal(x).exp()


def off_by(value: float, exact: Decimal) -> float:
    """The error in units of the last place."""
    return float(abs(Decimal(value) - exact) / Decimal(math.ulp(float(exact))))


@given(st.floats(5e-324, 1.7e308) | st.floats(0.5, 2.0) | st.integers(1, 10**6).map(float))
def test_logarithm(x: float) -> None:
    assert off_by(logarithm(x), exactly("ln", x)) < 1.0


@given(st.floats(-700.0, 700.0) | st.floats(-1.0, 1.0))
def test_exponential(x: float) -> None:
    assert off_by(exponential(x), exactly("exp", x)) < 1.0


@given(st.floats(1e-300, 1e15) | st.floats(1e-3, 50.0))
def test_log_gamma(x: float) -> None:
    assert abs(log_gamma(x) - math.lgamma(x)) < 3e-14 * (1.0 + abs(math.lgamma(x)))


def test_log_gamma_of_whole_numbers() -> None:
    for n in range(1, 171):
        assert log_gamma(n) == pytest.approx(math.log(math.factorial(n - 1)), rel=3e-14, abs=3e-14)


def test_the_ends() -> None:
    assert [logarithm(x) for x in (0.0, 1.0, math.inf)] == [-math.inf, 0.0, math.inf]
    assert all(map(math.isnan, (logarithm(-1.0), logarithm(math.nan), exponential(math.nan))))
    ends = (-math.inf, -750.0, -745.0, 0.0, 710.0, math.inf)
    assert [exponential(x) for x in ends] == [0.0, 0.0, 5e-324, 1.0, math.inf, math.inf]
    for x in (0.0, -1.0, math.nan):
        with pytest.raises(ArgumentError, match="above 0"):
            log_gamma(x)
    assert logarithms(np.array([1.0, 4.0])).tolist() == [0.0, logarithm(4.0)]


@given(st.floats(2.3e-308, 1.7e308) | st.floats(0.5, 2.0) | st.integers(1, 10**6).map(float))
def test_the_same_bytes_as_operations_one_by_one(x: float) -> None:
    assert logarithm(x) == naive.logarithm(x)
    assert exponential(math.fmod(x, 700.0)) == naive.exponential(math.fmod(x, 700.0))
    assert log_gamma(math.fmod(x, 1e6) + 1e-9) == naive.log_gamma(math.fmod(x, 1e6) + 1e-9)
