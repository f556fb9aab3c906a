"""Parameters on a given DAG, against plain counting and the generating network."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, NetworkError, StructureError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.catalog import load_network
from fedbn.networks.family_counts import count_families, families_of
from fedbn.networks.fitting import fit_parameters, parameters_of_sites
from fedbn.networks.moments import family_pairs, linear_gaussian_of, moments_of
from fedbn.networks.random import random_bayesian_network, random_linear_gaussian_network


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 1.0, 10.0]))
def test_posterior_means_are_those_of_plain_counting(seed, ess):
    rng = np.random.default_rng(seed)
    dag = random_dag("abcd", edge_probability=0.5, rng=rng)
    data = random_bayesian_network(dag, rng=rng).sample(int(rng.integers(1, 40)), rng)
    network = fit_parameters(dag, data, ess)
    rows = data.codes.tolist()
    for node in range(4):
        parents = dag.parents(node)
        states = range(data.cardinalities[node])
        settings = list(product(*(range(data.cardinalities[parent]) for parent in parents)))
        q, r = len(settings), len(states)
        count = Counter((tuple(row[p] for p in parents), row[node]) for row in rows)
        for line, setting in enumerate(settings):
            total = sum(count[setting, state] for state in states)
            for state in states:
                if total + ess == 0:
                    expected = 1 / r
                else:
                    expected = (count[setting, state] + ess / (r * q)) / (total + ess / q)
                assert network.cpts[node][line, state] == pytest.approx(expected, rel=1e-12)


@given(st.integers(0, 10_000), st.integers(1, 4))
def test_every_table_is_of_the_rows_of_the_sites_that_gave_it(seed, n_sites):
    rng = np.random.default_rng(seed)
    dag = random_dag("abcd", edge_probability=0.5, rng=rng)
    drawn = random_bayesian_network(dag, rng=rng)
    families = families_of([dag])
    sites = [drawn.sample(int(rng.integers(1, 9)), rng) for _ in range(n_sites)]
    gives = rng.random((n_sites, len(families))) < 0.7
    gives[0] |= ~gives.any(axis=0)
    gives[~gives.any(axis=1)] = True
    given_by = [
        count_families(site, [f for f, kept in zip(families, row, strict=True) if kept])
        for site, row in zip(sites, gives, strict=True)
    ]
    found = parameters_of_sites(dag, given_by)
    for node in range(4):
        rows = [site.table for site, row in zip(sites, gives, strict=True) if row[node]]
        there = Dataset(drawn.schema, np.concatenate(rows))
        assert np.array_equal(found.cpts[node], fit_parameters(dag, there).cpts[node])
    order = rng.permutation(n_sites)
    assert parameters_of_sites(dag, [given_by[i] for i in order]) == found
    if n_sites > 1 and not gives[1:, 0].any():
        with pytest.raises(NetworkError, match="nobody counted the famil(y|ies) of 'a'"):
            parameters_of_sites(dag, given_by[1:])


def test_states_never_seen_keep_their_place():
    schema = Schema.categorical({"x": ["a", "b", "c"]})
    network = fit_parameters(DAG.empty("x"), Dataset(schema, np.array([[0], [2]])), ess=3.0)
    assert network.schema == schema
    assert network.cpts[0].tolist() == [pytest.approx([0.4, 0.2, 0.4])]


def test_many_rows_give_back_the_network():
    asia = load_network("asia")
    fitted = fit_parameters(asia.dag, asia.sample(200_000, np.random.default_rng(0)))
    smoke, lung = asia.names.index("smoke"), asia.names.index("lung")
    assert np.allclose(fitted.cpts[smoke], asia.cpts[smoke], atol=0.01)
    assert np.allclose(fitted.cpts[lung], asia.cpts[lung], atol=0.01)


def test_order_of_the_dag_does_not_matter():
    asia = load_network("asia")
    data = asia.sample(300, np.random.default_rng(0))
    turned = asia.dag.reorder(asia.names[::-1])
    assert fit_parameters(turned, data) == fit_parameters(asia.dag, data)


def test_gaussian_regression_recovers_the_network():
    rng = np.random.default_rng(2)
    truth = random_linear_gaussian_network(random_dag("abcdef", edges=9, rng=rng), rng=rng)
    moments = moments_of(truth.sample(200_000, rng), family_pairs(truth.dag))
    fitted = linear_gaussian_of(truth.dag, moments)
    assert fitted.dag == truth.dag
    assert np.allclose(fitted.coefficients, truth.coefficients, atol=0.03)
    assert np.allclose(fitted.intercepts, 0, atol=0.03)
    assert np.allclose(fitted.standard_deviations, truth.standard_deviations, atol=0.01)


def test_intercepts():
    values = np.array([[0.0, 5.0], [1.0, 7.1], [2.0, 8.9]])
    dag = DAG.from_edges("ab", [("a", "b")])
    table = Dataset(Schema.gaussian("ab"), values)
    fitted = linear_gaussian_of(dag, moments_of(table, family_pairs(dag)))
    slope, intercept = np.polyfit(values[:, 0], values[:, 1], 1)
    assert fitted.coefficients[0, 1] == pytest.approx(slope)
    assert fitted.intercepts.tolist() == pytest.approx([1.0, intercept])


def test_bad_requests_are_refused():
    data = Dataset(Schema.categorical({"a": "xy", "b": "xy"}), np.array([[0, 0], [1, 1]]))
    dag = DAG.empty("ab")
    with pytest.raises(NetworkError, match="at least 0, not -1"):
        fit_parameters(dag, data, ess=-1)
    with pytest.raises(StructureError, match="'c'"):
        fit_parameters(DAG.empty("abc"), data)
    with pytest.raises(DataError, match="codes, not values"):
        moments_of(data, ())
    numbers = Dataset(Schema.gaussian("ab"), np.array([[0.5, 1.5], [1.5, 3.5], [2.5, 5.5]]))
    fit = DAG.from_edges("ab", [("a", "b")])
    with pytest.raises(DataError, match="'b' has no noise"):
        linear_gaussian_of(fit, moments_of(numbers, family_pairs(fit)))
    with pytest.raises(DataError, match="values, not codes"):
        fit_parameters(dag, numbers)


def test_a_table_that_is_too_large_is_refused():
    names = [f"x{i:02d}" for i in range(30)]
    schema = Schema.categorical({name: ["0", "1"] for name in names})
    dag = DAG.from_edges(names, [(name, "x29") for name in names[:29]])
    with pytest.raises(NetworkError, match="'x29'.*29 parents have 536870912 configurations"):
        fit_parameters(dag, Dataset(schema, np.zeros((2, 30), dtype=int)))
