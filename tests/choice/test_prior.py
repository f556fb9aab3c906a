"""What edges cost, against the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.choice.prior import FREE, EdgePrior


def mean_rate(joined: int, pairs: int) -> Fraction:
    """Slow twin: the mean of a rate x after `joined` of `pairs`, its prior being uniform: the
    integral of x x^m (1 - x)^(N - m) over that of x^m (1 - x)^(N - m), with powers written out."""
    m, rest = joined, pairs - joined

    def integral(power: int) -> Fraction:
        terms = ((-1) ** k * math.comb(rest, k) for k in range(rest + 1))
        return sum((Fraction(t, power + k + 1) for k, t in enumerate(terms)), Fraction(0))

    return integral(m + 1) / integral(m)


@given(st.integers(1, 8), st.data())
def test_an_edge_costs_what_the_rate_of_a_structure_says(n: int, data: st.DataObject) -> None:
    prior = EdgePrior.over(n)
    edges = data.draw(st.integers(0, prior.pairs))
    rate = mean_rate(edges, prior.pairs)
    expected = max(0.0, -math.log(rate / (1 - rate)))
    assert math.isclose(prior.an_edge(edges), expected, rel_tol=1e-12, abs_tol=1e-12)


@given(st.integers(0, 80), st.data())
def test_a_structure_costs_the_logarithm_of_all_sets_of_as_many_pairs(
    pairs: int, data: st.DataObject
) -> None:
    edges = data.draw(st.integers(0, pairs))
    most = max(math.comb(pairs, m) for m in range(edges + 1))
    assert EdgePrior(pairs).of(edges) == pytest.approx(math.log(most), abs=1e-9)


@given(st.integers(0, 80), st.data())
def test_no_structure_costs_more_than_the_price_at_another_says(
    pairs: int, data: st.DataObject
) -> None:
    """The tangent is nowhere below: what is better at this price is better at the true cost."""
    prior = EdgePrior(pairs)
    here, there = (data.draw(st.integers(0, pairs)) for _ in range(2))
    tangent = prior.of(here) + prior.an_edge(here) * (there - here)
    assert prior.of(there) <= tangent + 1e-9


def test_more_variables_to_choose_from_cost_more() -> None:
    costs = [EdgePrior.over(n).an_edge(0) for n in range(1, 50)]
    assert costs == sorted(costs)
    assert costs[0] == 0.0
    assert FREE.of(10) == FREE.an_edge(0) == 0.0
