"""Parameters drawn at random on a given DAG, for simulations."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import numpy as np

from fedbn.data.schema import Schema
from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork, table_shape


def node_names(n: int) -> tuple[str, ...]:
    """n names whose sorted order is their number: X1 .. X9, or X01 .. X10 and so on.

    >>> node_names(3), node_names(12)[-3:]
    (('X1', 'X2', 'X3'), ('X10', 'X11', 'X12'))
    """
    width = len(str(n))
    return tuple(f"X{i:0{width}d}" for i in range(1, n + 1))


def random_bayesian_network(
    dag: DAG,
    *,
    rng: np.random.Generator,
    states: tuple[int, int] = (2, 4),
    concentration: float = 1.0,
) -> BayesianNetwork:
    """Tables whose rows are drawn from a symmetric Dirichlet distribution.

    Parameters
    ----------
    dag : in any order of names; the network has them sorted.
    rng : the source of randomness.
    states : smallest and largest number of states; each variable's is drawn uniformly. States
        are named "0", "1", ... ("00", "01", ... when there are more than ten).
    concentration : parameter of the Dirichlet distribution, above 0; small values give
        near-deterministic tables.

    Raises
    ------
    NetworkError : a range is empty, a parameter is not positive, or a table is too large.
    """
    low, high = states
    if not 1 <= low <= high:
        raise NetworkError(f"states must be a range from at least 1, not {low} to {high}")
    if not concentration > 0:
        raise NetworkError(f"concentration must be above 0, not {concentration}")
    dag = dag.reorder(sorted(dag.names))
    sizes = rng.integers(low, high, size=dag.n, endpoint=True)
    width = len(str(high - 1))
    schema = Schema.categorical(
        {
            name: [f"{state:0{width}d}" for state in range(size)]
            for name, size in zip(dag.names, sizes.tolist(), strict=True)
        }
    )
    cpts = tuple(
        rng.dirichlet(
            np.full(sizes[node], concentration),
            size=table_shape(dag.names[node], sizes[list(dag.parents(node))], sizes[node])[0],
        )
        for node in range(dag.n)
    )
    return BayesianNetwork(dag, schema, cpts)


def random_linear_gaussian_network(
    dag: DAG,
    *,
    rng: np.random.Generator,
    coefficients: tuple[float, float] = (0.5, 2.0),
    noise: tuple[float, float] = (0.7, 1.2),
    noise_is: Literal["standard deviation", "variance"] = "standard deviation",
) -> LinearGaussianNetwork:
    """Coefficients of random sign and noise of random size; intercepts are 0.

    The ranges are those of the CG-DCA paper's simulations; its text draws the variance of the
    noise, the scores that it prints fit the standard deviation.

    Parameters
    ----------
    dag, rng : as for `random_bayesian_network`.
    coefficients : smallest and largest absolute value, drawn uniformly.
    noise : smallest and largest value, drawn uniformly, of
    noise_is : the standard deviation, or the variance.

    Raises
    ------
    NetworkError : a range is empty or not positive.
    """
    for what, (low, high) in {"coefficients": coefficients, "noise": noise}.items():
        if not 0 < low <= high:
            raise NetworkError(f"{what} must be a range above 0, not {low} to {high}")
    dag = dag.reorder(sorted(dag.names))
    size = rng.uniform(*coefficients, size=(dag.n, dag.n))
    sign = rng.choice([-1.0, 1.0], size=(dag.n, dag.n))
    spread = rng.uniform(*noise, size=dag.n)
    return LinearGaussianNetwork(
        dag,
        np.where(dag.adjacency, sign * size, 0.0),
        np.zeros(dag.n),
        spread if noise_is == "standard deviation" else np.sqrt(spread),
    )


def with_parameters_around(
    network: BayesianNetwork,
    concentration: float,
    *,
    rng: np.random.Generator,
    variables: Collection[str] | None = None,
) -> BayesianNetwork:
    """The same structure with tables around those of `network`: one site of several that differ.

    Parameters
    ----------
    network : whose rows of probabilities are the means.
    concentration : c > 0; a row p becomes a draw from Dirichlet(c p). Small: far from p. A
        probability of 0 stays 0.
    rng : the source of randomness.
    variables : whose tables are drawn; all by default, the others stay as they are.

    Raises
    ------
    NetworkError : the concentration is not positive and finite.
    """
    if not 0 < concentration < np.inf:
        raise NetworkError(f"concentration must be positive and finite, not {concentration}")
    tables = []
    for name, cpt in zip(network.names, network.cpts, strict=True):
        if variables is not None and name not in variables:
            tables.append(cpt)
            continue
        draws = rng.standard_gamma(concentration * cpt)
        total = draws.sum(axis=1, keepdims=True)
        tables.append(np.where(total > 0, draws / np.where(total > 0, total, 1.0), cpt))
    return BayesianNetwork(network.dag, network.schema, tuple(tables))
