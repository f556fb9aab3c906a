"""Log-likelihoods of rows against the joint distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.random import random_dag
from fedbn.networks.likelihood import log_likelihood
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)
from tests.naive_inference import conditional_normal, joint


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_mean_over_the_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    dag = random_dag(node_names(4), rng=rng, edge_probability=0.5)
    network = random_bayesian_network(dag, rng=rng)
    rows = network.sample(20, rng)
    found = {tuple(case.values()): p for case, p in joint(network)}
    cells = [
        tuple(states[c] for states, c in zip(network.schema.states, row, strict=True))
        for row in rows.codes
    ]
    expected = np.mean([np.log(found[each]) for each in cells])
    assert log_likelihood(network, rows) == pytest.approx(expected, abs=1e-12)
    numbers = random_linear_gaussian_network(dag, rng=rng)
    table = numbers.sample(20, rng)
    mean, covariance, _ = conditional_normal(numbers, {})
    expected = np.mean(multivariate_normal(mean, covariance).logpdf(table.values))
    assert log_likelihood(numbers, table) == pytest.approx(expected, rel=1e-9)


def test_an_impossible_row_is_named() -> None:
    rng = np.random.default_rng(0)
    drawn = random_bayesian_network(random_dag(("a",), rng=rng, edges=0), rng=rng, states=(2, 2))
    never = BayesianNetwork(drawn.dag, drawn.schema, (np.array([[1.0, 0.0]]),))
    with pytest.raises(DataError, match="t.csv: row 3 has probability 0, because of 'a'"):
        log_likelihood(never, Dataset(drawn.schema, np.array([[0], [0], [1]])), "t.csv")
