"""How probable a network finds rows: its mean log-likelihood on a table.

`predictive_log_likelihood` is that of `fit_parameters` on other rows, without its tables: where a
variable has so many parents that a table would not fit into memory, most of it is empty.
"""

from __future__ import annotations

import math

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import (
    ConditionalGaussianNetwork,
    Network,
    Regressions,
)
from fedbn.networks.network import BayesianNetwork, configuration_index, configurations


def log_likelihood(network: Network, rows: Dataset, source: str = "the data") -> float:
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
        if isinstance(network, ConditionalGaussianNetwork):
            total += _conditional(network, node, rows, source)
        elif isinstance(network, BayesianNetwork):
            above = list(parents)
            row = configuration_index(rows.codes[:, above], network.schema.cardinalities[above])
            shares = network.cpts[node][row, rows.codes[:, node]]
            total += _logarithms(shares, network.names[node], source)
        else:
            deviation = float(network.standard_deviations[node])
            error = rows.values[:, node] - network.intercepts[node]
            for parent in parents:
                error = error - network.coefficients[parent, node] * rows.values[:, parent]
            total -= 0.5 * (error / deviation) ** 2 + math.log(deviation * math.sqrt(2 * math.pi))
    return float(total.mean())


def _conditional(
    network: ConditionalGaussianNetwork, node: int, rows: Dataset, source: str
) -> Floats:
    """Of one variable of a network of categories and numbers, in every row."""
    own = network.parameters[node]
    if not isinstance(own, Regressions):
        parents = network.dag.parents(node)
        sizes = np.array([len(network.schema.variables[i].states or ()) for i in parents], np.int32)
        codes = np.zeros((rows.n_rows, len(parents)), np.int32)
        for place, parent in enumerate(parents):
            codes[:, place] = rows.column(parent)
        row = configuration_index(codes, sizes)
        return _logarithms(own[row, rows.column(node)], network.names[node], source)
    family = network.family(node)
    row = family.configuration(rows)
    error = rows.column(node) - own.intercepts[row]
    for place, parent in enumerate(family.numbers):
        error = error - own.coefficients[row, place] * rows.column(parent)
    deviation = own.standard_deviations[row]
    found: Floats = -0.5 * (error / deviation) ** 2 - np.log(deviation * math.sqrt(2 * math.pi))
    return found


def _logarithms(shares: Floats, name: str, source: str) -> Floats:
    if not shares.all():
        first = int(np.argmin(shares > 0)) + 1
        raise DataError(f"{source}: row {first} has probability 0, because of {name!r}")
    found: Floats = np.log(shares)
    return found


def predictive_log_likelihood(dag: DAG, seen: Dataset, rows: Dataset, ess: float = 1.0) -> float:
    """`log_likelihood` of rows under `fit_parameters(dag, seen, ess)`, from the filled cells alone.

    Parameters
    ----------
    dag : over the names of both tables, in any order.
    seen, rows : categorical, in one schema.
    ess : equivalent sample size, above 0.

    Examples
    --------
    >>> from fedbn.data.dataset import Schema
    >>> coin = Dataset(Schema.categorical({"x": ["h", "t"]}), np.array([[0], [0], [0], [1]]))
    >>> round(predictive_log_likelihood(DAG.empty(["x"]), coin, coin.take([0]), ess=2.0), 3)
    -0.405
    """
    sizes = seen.cardinalities
    total = np.zeros(rows.n_rows)
    both = np.concatenate([seen.codes, rows.codes])
    for node, parents in enumerate(dag.reorder(seen.names).parent_sets()):
        own, q = int(sizes[node]), configurations(sizes[list(parents)])
        above = np.zeros(len(both), dtype=np.int64)
        for parent in parents:
            above = _number_distinct(above * int(sizes[parent]) + both[:, parent])
        cell = _number_distinct(above * own + both[:, node])
        in_row, in_cell = (
            np.bincount(of[: seen.n_rows], minlength=of.max(initial=0) + 1)[of[seen.n_rows :]]
            for of in (above, cell)
        )
        total += np.log((in_cell + ess / (own * q)) / (in_row + ess / q))
    return float(total.mean())


def _number_distinct(values: Ints) -> Ints:
    """The distinct values numbered from 0, so that products of numbers stay small."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)
