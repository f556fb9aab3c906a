"""Moments of several sites give the regressions of all rows together."""

from itertools import pairwise

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.moments import (
    Moments,
    family_pairs,
    linear_gaussian_of,
    moments_of,
    pooled_moments,
)
from fedbn.networks.random import node_names, random_linear_gaussian_network
from tests.naive_regression import fit_linear_gaussian


@pytest.mark.parametrize("seed", range(8))
def test_pooled_moments_give_the_pooled_fit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_linear_gaussian_network(
        random_dag(node_names(6), rng=rng, edge_probability=0.5), rng=rng
    )
    sampled = network.sample(300, rng)
    data = Dataset(sampled.schema, sampled.values * [1, 1e3, 1, 1e-3, 1, 1] + [0, 1e6, 0, 5, 0, 0])
    dag = random_dag(node_names(6), rng=rng, edge_probability=0.5).reorder(data.names)
    expected = fit_linear_gaussian(dag, data)
    pairs = family_pairs(dag)
    bounds = [0, 1, 40, 140, 300]
    parts = {
        f"site {i}": moments_of(data.take(range(low, high)), pairs)
        for i, (low, high) in enumerate(pairwise(bounds))
    }
    found = linear_gaussian_of(dag, pooled_moments(parts, pairs))
    for field in ("coefficients", "intercepts", "standard_deviations"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9)
    backwards = linear_gaussian_of(dag, pooled_moments(dict(reversed(parts.items())), pairs))
    assert backwards == found


def test_no_noise_is_an_error_as_with_the_rows() -> None:
    dag = DAG.from_edges("ab", [("a", "b")])
    pairs = family_pairs(dag)
    with pytest.raises(DataError, match="'b' has no noise"):
        linear_gaussian_of(dag, Moments(9, np.zeros(2), np.array([2.0, 4.0, 8.0])))
    with pytest.raises(DataError, match="'a' has no noise"):
        linear_gaussian_of(dag, Moments(9, np.zeros(2), np.array([0.0, 0.0, 8.0])))
    with pytest.raises(DataError, match="finite"):
        Moments(9, np.zeros(2), np.array([np.inf] * len(pairs)))
