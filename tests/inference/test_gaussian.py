"""Means and variances of linear-Gaussian networks against the joint covariance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from fedbn.errors import QueryError
from fedbn.inference import average_gaussian, query_gaussian
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from tests.naive_inference import conditional_normal


def drawn(seed: int, n: int) -> tuple[LinearGaussianNetwork, dict[str, float]]:
    """A network with some parents for each variable, and some observed numbers."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in rng.permutation(n)]
    equations = {
        name: LinearEquation(
            {parent: float(rng.normal(0, 2)) for parent in names[:i] if rng.random() < 0.5},
            float(rng.normal()),
            float(rng.uniform(0.2, 2)),
        )
        for i, name in enumerate(names)
    }
    seen = rng.choice(names, size=rng.integers(0, n), replace=False)
    network = LinearGaussianNetwork.from_equations(equations)
    return network, {str(name): float(rng.normal(0, 3)) for name in seen}


@given(st.integers(0, 10**6), st.integers(1, 7))
def test_answers_are_those_of_the_joint_covariance(seed: int, n: int) -> None:
    network, seen = drawn(seed, n)
    mean, covariance, density = conditional_normal(network, seen)
    answer = query_gaussian(network, None, seen)
    assert set(answer.posteriors) == set(network.names) - set(seen)
    for name, found in answer.posteriors.items():
        i = network.names.index(name)
        assert found["mean"] == pytest.approx(mean[i], rel=1e-8, abs=1e-8)
        assert found["variance"] == pytest.approx(covariance[i, i], rel=1e-7, abs=1e-10)
    assert answer.log_evidence == pytest.approx(density, rel=1e-8, abs=1e-8)
    one = network.names[0]
    same = query_gaussian(network, [one], seen).posteriors[one]
    assert same["mean"] == pytest.approx(seen.get(one, mean[0]), rel=1e-8, abs=1e-8)


def test_a_regression_by_hand_and_an_observed_variable() -> None:
    chain = LinearGaussianNetwork.from_equations(
        {"a": LinearEquation({}, 1.0, 1.0), "b": LinearEquation({"a": 2.0}, 0.0, 1.0)}
    )
    answer = query_gaussian(chain, ["a", "b"], {"b": 7.0})
    assert answer.posteriors["a"] == pytest.approx({"mean": 3.0, "variance": 0.2})
    assert answer.posteriors["b"] == {"mean": 7.0, "variance": 0.0}
    assert answer.log_evidence == pytest.approx(multivariate_normal(2.0, 5.0).logpdf(7.0))


def test_the_mixture_of_two_networks() -> None:
    one, other = (
        LinearGaussianNetwork.from_equations(
            {"a": LinearEquation({}, m, 1.0), "b": LinearEquation({}, m, s)}
        )
        for m, s in ((0.0, 1.0), (4.0, 2.0))
    )
    seen = {"b": 1.0}
    shares = np.array([3 * multivariate_normal(0, 1).pdf(1), multivariate_normal(4, 4).pdf(1)])
    weight = shares / shares.sum()
    answer = average_gaussian([one, other], [3, 1], ["a"], seen)
    mean = 4 * weight[1]
    assert answer.posteriors["a"]["mean"] == pytest.approx(mean)
    assert answer.posteriors["a"]["variance"] == pytest.approx(1 + 16 * weight[1] - mean**2)
    assert answer.log_evidence == pytest.approx(math.log(shares.sum() / 4))


def test_wrong_questions_are_refused() -> None:
    network, _ = drawn(1, 3)
    for value in (math.nan, math.inf, "high"):
        with pytest.raises(QueryError, match="'x0' must be a finite number"):
            query_gaussian(network, ["x1"], {"x0": value})  # type: ignore[dict-item]
    with pytest.raises(QueryError, match="no variable 'y'"):
        query_gaussian(network, ["y"])
    with pytest.raises(QueryError, match="the limit is 2"):
        query_gaussian(network, max_cells=2)
    near = LinearGaussianNetwork.from_equations(
        {"a": LinearEquation({}, 0.0, 1.0), "b": LinearEquation({"a": 1.0}, 0.0, 1e-9)}
    )
    with pytest.raises(QueryError, match="'b' is determined by the other ones"):
        query_gaussian(near, None, {"a": 1.0, "b": 1.0})
