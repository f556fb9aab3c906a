"""Log-likelihoods of rows against the joint distribution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.likelihood import log_likelihood, predictive_log_likelihood
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


@pytest.mark.parametrize("seed", range(5))
def test_predictions_are_those_of_the_fitted_tables(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_bayesian_network(
        random_dag("abcdef", edges=9, rng=rng), rng=rng, states=(2, 4)
    )
    seen, rows = network.sample(30 * (seed + 1), rng), network.sample(50, rng)
    for dag in (network.dag, random_dag("fedcba", edges=15, rng=rng), DAG.empty("abcdef")):
        expected = log_likelihood(fit_parameters(dag, seen, ess=2.0), rows)
        assert predictive_log_likelihood(dag, seen, rows, ess=2.0) == pytest.approx(expected)


def test_predictions_need_no_table() -> None:
    """Twelve parents of 200 states have 200 ** 12 configurations."""
    names = [f"v{i:02d}" for i in range(13)]
    schema = Schema.categorical({name: [f"{s:03d}" for s in range(200)] for name in names})
    codes = np.random.default_rng(1).integers(0, 200, (40, 13)).astype(np.int32)
    dag = DAG.from_edges(names, [(name, "v12") for name in names[:-1]])
    seen, rows = Dataset(schema, codes), Dataset(schema, codes[:10])
    found = predictive_log_likelihood(dag, seen, rows)
    without = predictive_log_likelihood(DAG.empty(names), seen, rows)
    own = np.mean([np.log((np.sum(codes[:, 12] == c) + 1 / 200) / 41) for c in codes[:10, 12]])
    assert found - (without - own) == pytest.approx(0.0, abs=1e-9)  # a row that was seen is certain
