"""The slow twin of linear-Gaussian networks from moments: least squares on the rows themselves."""

from __future__ import annotations

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.graphs.dag import DAG
from fedbn.networks.linear_gaussian import LinearGaussianNetwork


def fit_linear_gaussian(dag: DAG, dataset: Dataset) -> LinearGaussianNetwork:
    """The regression of every variable on its parents, with deviations over N."""
    mean = dataset.values.mean(axis=0)
    centred = dataset.values - mean
    coefficients, deviations = np.zeros((dag.n, dag.n)), np.zeros(dag.n)
    for node in range(dag.n):
        parents = list(dag.parents(node))
        weights = np.linalg.lstsq(centred[:, parents], centred[:, node], rcond=None)[0]
        residual = centred[:, node] - centred[:, parents] @ weights
        coefficients[parents, node] = weights
        deviations[node] = np.sqrt(np.mean(residual**2))
    return LinearGaussianNetwork(dag, coefficients, mean - mean @ coefficients, deviations)
