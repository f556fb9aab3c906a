"""Averages over a credible set against sums over the listed graphs."""

import math

import numpy as np
import pytest

from fedbn.credible.averaging import (
    ancestor_posteriors,
    averaged_edges,
    posterior,
    skeleton_posteriors,
    v_structure_posteriors,
    weighted_structures,
)
from fedbn.credible.classes import markov_classes
from fedbn.credible.coverage import covered_share
from fedbn.credible.enumerate import CredibleSet, credible_set
from fedbn.credible.pruning import candidate_sets
from fedbn.errors import ConfigError, SearchError
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.scores import make_score
from tests import naive
from tests import naive_credible as slow


@pytest.fixture(scope="module")
def found() -> CredibleSet:
    data = slow.table(np.random.default_rng(23), 40, [2, 3, 2, 2, 2], copied=False)
    return credible_set(candidate_sets(data, "bic", bayes_factor=20.0))


def shares(found: CredibleSet) -> list[tuple[float, object]]:
    listed = list(found)
    total = sum(math.exp(-item.excess) for item in listed)
    return [(math.exp(-item.excess) / total, item.dag) for item in listed]


@pytest.mark.slow
def test_adjacency_and_edges(found: CredibleSet) -> None:
    expected = sum(w * naive.skeleton(dag) for w, dag in shares(found))
    assert skeleton_posteriors(found) == pytest.approx(expected, abs=1e-8)
    by_function = posterior(found, lambda dag: dag.adjacency)
    assert by_function == pytest.approx(found.edge_posteriors, abs=1e-8)
    assert posterior(found, lambda dag: 1.0) == pytest.approx(1.0)


def test_ancestors(found: CredibleSet) -> None:
    n = len(found.names)

    def reach(dag) -> np.ndarray:
        power = np.linalg.matrix_power(np.eye(n) + dag.adjacency, n) - np.eye(n)
        return power > 0.5

    expected = sum(w * reach(dag) for w, dag in shares(found))
    assert ancestor_posteriors(found) == pytest.approx(expected, abs=1e-8)


def test_v_structures(found: CredibleSet) -> None:
    expected: dict[tuple[str, str, str], float] = {}
    for weight, dag in shares(found):
        for a, c, b in naive.v_structures(dag):
            key = (dag.names[a], dag.names[c], dag.names[b])
            expected[key] = expected.get(key, 0.0) + weight
    assert v_structure_posteriors(markov_classes(found)) == pytest.approx(expected, abs=1e-8)


def test_one_structure_per_class_with_its_weight(found: CredibleSet) -> None:
    classes = markov_classes(found)
    dags, weights, dropped = weighted_structures(classes, classes.count)
    assert len(dags) == classes.count
    assert sum(weights) == pytest.approx(1.0)
    assert dropped == pytest.approx(0.0, abs=1e-12)
    expected: dict[bytes, float] = {}
    for weight, dag in shares(found):
        key = dag_to_cpdag(dag).adjacency.tobytes()
        expected[key] = expected.get(key, 0.0) + weight
    for dag, weight in zip(dags, weights, strict=True):
        assert weight == pytest.approx(expected[dag_to_cpdag(dag).adjacency.tobytes()])
    few, few_weights, lost = weighted_structures(classes, 2)
    assert len(few) == 2
    assert lost == pytest.approx(1.0 - sum(weights[:2]))
    assert few_weights[0] >= few_weights[1]
    _, once, _ = weighted_structures(classes, 3, per_class=True)
    excess = [item.excess for item in classes][:3]
    assert once == pytest.approx(np.exp([-x for x in excess]) / np.exp([-x for x in excess]).sum())


@pytest.mark.parametrize("seed", range(4))
def test_the_share_of_the_whole_posterior(seed: int) -> None:
    data = slow.table(np.random.default_rng(seed), 30, [2, 3, 2, 2], copied=seed == 0)
    for factor in (3.0, 150.0):
        found = credible_set(candidate_sets(data, "bic", bayes_factor=factor))
        share = covered_share(found, make_score("bic", data))
        costs = slow.local_costs(data, "bic", 1.0)
        assert share == pytest.approx(slow.covered_share(costs, 4, math.log(factor)), abs=1e-9)


def test_limits_and_thresholds(found: CredibleSet) -> None:
    edges = averaged_edges(found.edge_posteriors, found.names, 0.5)
    assert all(share >= 0.5 for _, _, share in edges)
    assert [e[2] for e in edges] == sorted((e[2] for e in edges), reverse=True)
    with pytest.raises(ConfigError, match="threshold"):
        averaged_edges(found.edge_posteriors, found.names, 0.0)
    with pytest.raises(ConfigError, match="at least 1"):
        weighted_structures(markov_classes(found), 0)
    with pytest.raises(SearchError, match="would list"):
        posterior(found, lambda dag: 1.0, max_listed=1)
