"""Instances of the paper's experiments (section 5)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.networks.random import node_names, random_linear_gaussian_network


def gaussian_instance(
    variables: int,
    density: float,
    rows: int,
    instance: int,
    noise: Literal["standard deviation", "variance"] = "standard deviation",
) -> tuple[DAG, Dataset]:
    """A random linear-Gaussian network and its rows.

    Each pair of a random order is an edge with probability 2d / (n - 1); coefficients are
    ±U[0.5, 2]; `noise` is U[0.7, 1.2] as a standard deviation (which the paper's totals fit) or as
    a variance (which its text says).

    Parameters
    ----------
    variables, density, rows : n, d and N.
    instance : its number; together with n, d and N it is the seed.

    Raises
    ------
    ConfigError : fewer than two variables or rows, or a negative density.
    """
    if variables < 2 or rows < 2 or not density >= 0.0:
        raise ConfigError(
            "an instance must have at least 2 variables, 2 rows and a density of at least 0, not "
            f"{variables}, {rows} and {density}"
        )
    rng = np.random.default_rng([variables, round(100 * density), rows, instance])
    probability = min(1.0, 2.0 * density / (variables - 1))
    dag = random_dag(node_names(variables), rng=rng, edge_probability=probability)
    network = random_linear_gaussian_network(dag, rng=rng, noise_is=noise)
    return dag, network.sample(rows, rng)


def gaussian_test_network() -> LinearGaussianNetwork:
    """The network of section 5.1, bnlearn's gaussian.test: 7 variables, 7 edges."""
    return LinearGaussianNetwork.from_equations(
        {
            "A": LinearEquation({}, 1.0, 1.0),
            "B": LinearEquation({}, 2.0, 3.0),
            "C": LinearEquation({"A": 2.0, "B": 2.0}, 2.0, 0.5),
            "D": LinearEquation({"B": 1.5}, 6.0, 0.33),
            "E": LinearEquation({}, 3.5, 2.0),
            "F": LinearEquation({"A": 2.0, "D": 1.0, "E": 1.0, "G": 1.5}, 0.0, 1.0),
            "G": LinearEquation({}, 5.0, 2.0),
        }
    )
