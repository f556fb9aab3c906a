"""How probable a network finds rows: its mean log-likelihood on a table."""

from __future__ import annotations

import math

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork, configuration_index

__all__ = ["log_likelihood"]


def log_likelihood(
    network: BayesianNetwork | LinearGaussianNetwork, rows: Dataset, source: str = "the data"
) -> float:
    """Mean natural logarithm of a row's probability, or of its density.

    Parameters
    ----------
    rows : in the network's schema.
    source : what an error calls them.

    Raises
    ------
    DataError : a row has probability 0, naming it and the variable.
    """
    total = np.zeros(rows.n_rows)
    for node, parents in enumerate(network.dag.parent_sets()):
        if isinstance(network, BayesianNetwork):
            above = list(parents)
            row = configuration_index(rows.codes[:, above], network.schema.cardinalities[above])
            shares = network.cpts[node][row, rows.codes[:, node]]
            if not shares.all():
                first = int(np.argmin(shares > 0)) + 1
                name = network.names[node]
                raise DataError(f"{source}: row {first} has probability 0, because of {name!r}")
            total += np.log(shares)
        else:
            deviation = float(network.standard_deviations[node])
            error = rows.values[:, node] - network.intercepts[node]
            for parent in parents:
                error = error - network.coefficients[parent, node] * rows.values[:, parent]
            total -= 0.5 * (error / deviation) ** 2 + math.log(deviation * math.sqrt(2 * math.pi))
    return float(total.mean())
