"""The prior odds of an edge, from the structures, against the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbn.choice.prior import edge_cost
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.random import node_names


def mean_rate(joined: int, pairs: int) -> Fraction:
    """Slow twin: the mean of a rate x after `joined` of `pairs`, its prior being uniform: the
    integral of x x^m (1 - x)^(N - m) over that of x^m (1 - x)^(N - m), with powers written out."""
    m, rest = joined, pairs - joined

    def integral(power: int) -> Fraction:
        terms = ((-1) ** k * math.comb(rest, k) for k in range(rest + 1))
        return sum((Fraction(t, power + k + 1) for k, t in enumerate(terms)), Fraction(0))

    return integral(m + 1) / integral(m)


@given(st.integers(1, 8), st.data())
def test_an_edge_costs_what_the_rate_of_the_structures_says(n: int, data: st.DataObject) -> None:
    pairs = n * (n - 1) // 2
    edges = data.draw(st.integers(0, pairs))
    dag = random_dag(node_names(n), edges=edges, rng=np.random.default_rng(0))
    rate = mean_rate(edges, pairs)
    expected = max(0.0, -math.log(rate / (1 - rate)))
    assert math.isclose(edge_cost(dag), expected, rel_tol=1e-12, abs_tol=1e-12)


def test_more_variables_to_choose_from_cost_more() -> None:
    costs = [edge_cost(DAG.empty(node_names(n))) for n in range(1, 50)]
    assert costs == sorted(costs)
    assert costs[0] == 0.0
