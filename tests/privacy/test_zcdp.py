"""Conversions between ρ and (ε, δ)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError
from fedbn.privacy.zcdp import epsilon_of, rho_of, rho_of_choice

# dp-accounting 0.6.0, RdpAccountant().compose(ZCDpEvent(rho)).get_epsilon(delta): with its own
# grid of orders, and with 1 + exp(linspace(-6, 9, 6000)). Each order gives a valid ε, so ours, the
# infimum over all orders, must lie below both and very near to the second.
DP_ACCOUNTING = [
    (0.001, 1e-05, 0.16586725121127976, 0.15733539320731757),
    (0.00664, 1e-05, 0.43742359521942137, 0.43738864333820077),
    (0.0208, 1e-05, 0.8114299871929083, 0.8113989470007958),
    (0.1, 1e-05, 1.9142498748403742, 1.914239017470332),
    (0.5, 1e-05, 4.728507067217623, 4.728386995901368),
    (1.6, 1e-05, 9.367592761968732, 9.366947190158902),
    (5.0, 1e-05, 19.05359753163139, 19.047260248510057),
    (0.001, 1e-06, 0.19073540753145174, 0.18289550823813383),
    (0.00664, 1e-06, 0.4999393998067444, 0.4999390989461281),
    (0.0208, 1e-06, 0.9191385041732183, 0.9190099193387087),
    (0.1, 1e-06, 2.143043523753668, 2.1419389344964603),
    (0.5, 1e-06, 5.2215396311544175, 5.2215353598618535),
    (1.6, 1e-06, 10.23194316874594, 10.231919682169371),
    (5.0, 1e-06, 20.551991629803823, 20.551960808973),
    (0.001, 1e-09, 0.24512718138170478, 0.24511927792285707),
    (0.1, 1e-09, 2.716984989948674, 2.715483184439388),
    (1.6, 1e-09, 12.439882268910562, 12.439360900051883),
]


@pytest.mark.parametrize(("rho", "delta", "coarse", "fine"), DP_ACCOUNTING)
def test_epsilon_agrees_with_dp_accounting_from_above(
    rho: float, delta: float, coarse: float, fine: float
) -> None:
    ours = epsilon_of(rho, delta)
    assert ours <= coarse
    assert fine - 1e-5 * fine <= ours <= fine


@given(
    rho=st.floats(1e-6, 50, allow_nan=False),
    delta=st.floats(1e-12, 0.5, allow_nan=False),
)
@settings(max_examples=40, deadline=None)
def test_epsilon_is_the_least_over_a_grid_of_orders(rho: float, delta: float) -> None:
    alpha = 1 + np.exp(np.linspace(-12, 14, 200_001))
    grid = rho * alpha - np.log(alpha * delta) / (alpha - 1) + np.log1p(-1 / alpha)
    least = max(0.0, float(grid.min()))
    assert epsilon_of(rho, delta) <= least + 1e-9
    assert epsilon_of(rho, delta) == pytest.approx(least, rel=1e-4, abs=1e-6)


@example(epsilon=0.01171875, delta=0.09375)
@given(epsilon=st.floats(0.01, 30), delta=st.floats(1e-12, 0.1))
@settings(max_examples=25, deadline=None)
def test_rho_is_the_largest_that_epsilon_allows(epsilon: float, delta: float) -> None:
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * (1 + 1e-6), delta) > epsilon


def test_rho_of_the_issue() -> None:
    found = [round(rho_of(epsilon, 1e-6), 5) for epsilon in (0.5, 1, 3, 10)]
    assert found == [0.00664, 0.02436, 0.18507, 1.53928]


def test_one_draw_is_within_its_own_zcdp_bound() -> None:
    """Rényi divergences of the worst pair of a bounded-range choice stay below ρα."""
    for eta in (0.05, 0.3, 1.0, 2.5):
        rho = float(rho_of_choice(Fraction(eta), 1))
        for share in np.linspace(0.01, 0.99, 99):
            first = np.array([share, 1 - share])
            second = first * np.array([math.exp(eta), 1])
            second /= second.sum()
            for alpha in (1.01, 1.5, 2, 4, 16, 64):
                for p, q in ((first, second), (second, first)):
                    divergence = math.log(float(np.sum(p**alpha * q ** (1 - alpha)))) / (alpha - 1)
                    assert divergence <= rho * alpha * (1 + 1e-12)


@pytest.mark.parametrize("delta", [0, 1, -1, math.nan])
def test_delta_out_of_range(delta: float) -> None:
    with pytest.raises(ConfigError, match="δ must lie between 0 and 1"):
        epsilon_of(1, delta)


@pytest.mark.parametrize("value", [-1, math.inf, math.nan])
def test_budgets_out_of_range(value: float) -> None:
    with pytest.raises(ConfigError, match="ρ must be at least 0"):
        epsilon_of(value, 1e-6)
    with pytest.raises(ConfigError, match="ε must be positive"):
        rho_of(value, 1e-6)
