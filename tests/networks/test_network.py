"""Networks: canonical order, checks, exact sampling, random networks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from fedbn.errors import NetworkError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)


def joint_probability(network, row):
    """Product of the tables, cell by cell."""
    probability = 1.0
    for node in range(network.dag.n):
        parents = network.dag.parents(node)
        settings = product(*(range(network.schema.cardinalities[p]) for p in parents))
        line = list(settings).index(tuple(row[p] for p in parents))
        probability *= network.cpts[node][line, row[node]]
    return probability


@pytest.mark.parametrize("seed", range(5))
def test_sample_frequencies_are_the_joint_distribution(seed):
    rng = np.random.default_rng(seed)
    network = random_bayesian_network(random_dag("abcd", edges=4, rng=rng), rng=rng, states=(2, 3))
    data = network.sample(50_000, rng)
    cells = list(product(*(range(size) for size in network.schema.cardinalities)))
    expected = np.array([joint_probability(network, cell) for cell in cells])
    assert expected.sum() == pytest.approx(1)
    found = dict.fromkeys(cells, 0)
    for row, count in zip(*np.unique(data.codes, axis=0, return_counts=True), strict=True):
        found[tuple(row.tolist())] = count
    # Rare cells together, as the chi-square test needs expected counts of a few.
    often = expected * data.n_rows >= 5
    counts = np.array(list(found.values()))
    observed = [*counts[often], counts[~often].sum()]
    wanted = [*expected[often], expected[~often].sum()]
    if wanted[-1] == 0:
        observed, wanted = observed[:-1], wanted[:-1]
    assert chisquare(observed, np.array(wanted) * data.n_rows).pvalue > 1e-4


def test_a_state_of_probability_zero_is_never_drawn():
    class Ones:
        """The largest number below 1, again and again."""

        def random(self, size):
            return np.full(size, np.nextafter(1, 0))

    row = np.array([[0.1] * 3 + [0.7] + [0.0]])  # the cumulated sum is below 1
    table = ConditionalTable(tuple("abcde"), (), row)
    network = BayesianNetwork.from_tables({"x": table})
    assert network.sample(3, Ones()).codes.tolist() == [[3]] * 3


def test_the_same_seed_gives_the_same_rows():
    network = random_bayesian_network(
        random_dag(node_names(20), edges=30, rng=np.random.default_rng(0)),
        rng=np.random.default_rng(1),
    )
    first, second = (network.sample(100, np.random.default_rng(7)) for _ in range(2))
    assert first == second


@given(st.integers(0, 10_000))
def test_order_of_variables_parents_and_states_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    network = random_bayesian_network(random_dag("abcd", edges=4, rng=rng), rng=rng, states=(1, 3))
    states = {
        name: [
            network.schema.states[i][k] for k in rng.permutation(network.schema.cardinalities[i])
        ]
        for i, name in enumerate(network.names)
    }
    tables = {}
    for node in rng.permutation(4):
        parents = [network.names[p] for p in rng.permutation(network.dag.parents(node)).astype(int)]
        rows = [
            [
                _cell(network, int(node), dict(zip(parents, setting, strict=True)), state)
                for state in states[network.names[node]]
            ]
            for setting in product(*(states[parent] for parent in parents))
        ]
        name = network.names[node]
        tables[name] = ConditionalTable(tuple(states[name]), tuple(parents), np.array(rows))
    assert BayesianNetwork.from_tables(tables) == network


def _cell(network, node, setting, state):
    line = 0
    for parent in network.dag.parents(node):
        texts = network.schema.states[parent]
        line = line * len(texts) + texts.index(setting[network.names[parent]])
    return network.cpts[node][line, network.schema.states[node].index(state)]


def one_table(rows, states=("n", "y"), parents=()):
    return {"x": ConditionalTable(states, parents, np.array(rows))}


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        (one_table([[0.5, 0.4]]), ["row 1", "'x'", "0.9"]),
        (one_table([[1.5, -0.5]]), ["'x'", "probabilities", "1.5"]),
        (one_table([[np.nan, 1.0]]), ["'x'", "nan"]),
        (one_table([[0.5, 0.25, 0.25]]), ["'x'", "(1, 2)", "(1, 3)"]),
        (one_table([[0.5, 0.5]] * 2), ["'x'", "(1, 2)", "(2, 2)"]),
    ],
)
def test_bad_tables_are_refused(tables, words):
    with pytest.raises(NetworkError) as error:
        BayesianNetwork.from_tables(tables)
    assert all(word in str(error.value) for word in words)


def test_bad_graphs_are_refused():
    half = np.array([[0.5, 0.5]] * 2)
    tables = {
        "x": ConditionalTable(("n", "y"), ("z",), half),
        "z": ConditionalTable(("n", "y"), ("x",), half),
    }
    with pytest.raises(NetworkError, match="cycle"):
        BayesianNetwork.from_tables(tables)
    del tables["z"]
    with pytest.raises(NetworkError, match="'z'"):
        BayesianNetwork.from_tables(tables)


def test_rows_are_renormalised_within_the_tolerance_only_when_rounded():
    exact = BayesianNetwork.from_tables(one_table([[0.1, 0.9]]))
    assert exact.cpts[0].tolist() == [[0.1, 0.9]]
    rounded = BayesianNetwork.from_tables(one_table([[0.3333, 0.6666]]))
    assert rounded.cpts[0].sum() == pytest.approx(1, abs=1e-15)
    again = BayesianNetwork(rounded.dag, rounded.schema, rounded.cpts)
    assert again == rounded


@pytest.mark.parametrize("rows", [0, -1])
def test_at_least_one_row_is_sampled(rows):
    network = BayesianNetwork.from_tables(one_table([[0.1, 0.9]]))
    with pytest.raises(NetworkError, match=f"at least 1, not {rows}"):
        network.sample(rows, np.random.default_rng(0))


def test_linear_gaussian_samples_have_the_implied_moments():
    rng = np.random.default_rng(4)
    network = random_linear_gaussian_network(random_dag("abcde", edges=7, rng=rng), rng=rng)
    data = network.sample(400_000, rng)
    inverse = np.linalg.inv(np.eye(5) - network.coefficients)
    covariance = inverse.T @ np.diag(network.standard_deviations**2) @ inverse
    assert np.allclose(np.cov(data.values.T), covariance, rtol=0.03, atol=0.03)
    root = network.dag.topological_order()[0]
    scaled = data.values[:, root] / network.standard_deviations[root]
    assert kstest(scaled, "norm").pvalue > 1e-4


def test_linear_equations_in_any_order():
    equations = {
        "y": LinearEquation({"x": 2.0}, 1.0, 0.5),
        "x": LinearEquation({}, -1.0, 1.5),
    }
    network = LinearGaussianNetwork.from_equations(equations)
    assert network.dag.edges == (("x", "y"),)
    assert network.coefficients.tolist() == [[0.0, 2.0], [0.0, 0.0]]
    assert network == LinearGaussianNetwork.from_equations(dict(reversed(equations.items())))
    data = network.sample(100_000, np.random.default_rng(0))
    assert data.values.mean(axis=0) == pytest.approx([-1.0, -1.0], abs=0.05)


@pytest.mark.parametrize(
    ("coefficients", "deviations", "words"),
    [
        ([[0, 1], [0, 0]], [1, 0], "'b' must be above 0"),
        ([[0, 1], [0, 0]], [1, np.inf], "standard_deviations must be finite"),
        ([[0, 1], [2, 0]], [1, 1], "'b' has a coefficient in the equation of 'a'"),
        ([[0, 1]], [1, 1], "coefficients must have shape"),
    ],
)
def test_bad_linear_networks_are_refused(coefficients, deviations, words):
    dag = DAG.from_edges("ab", [("a", "b")])
    with pytest.raises(NetworkError, match=words):
        LinearGaussianNetwork(dag, np.array(coefficients), np.zeros(2), np.array(deviations))


def test_random_networks_follow_their_settings():
    rng = np.random.default_rng(0)
    dag = random_dag(node_names(30), edges=40, rng=rng)
    network = random_bayesian_network(dag, rng=rng, states=(2, 5))
    assert network.dag == dag
    assert set(network.schema.cardinalities.tolist()) == {2, 3, 4, 5}
    linear = random_linear_gaussian_network(dag, rng=rng, noise_is="variance")
    weights = np.abs(linear.coefficients[dag.adjacency])
    assert weights.size == 40
    assert weights.min() >= 0.5
    assert weights.max() <= 2
    assert ((linear.standard_deviations**2 >= 0.7) & (linear.standard_deviations**2 <= 1.2)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda dag, rng: random_bayesian_network(dag, rng=rng, states=(3, 2)), "3 to 2"),
        (lambda dag, rng: random_bayesian_network(dag, rng=rng, concentration=0), "above 0, not 0"),
        (lambda dag, rng: random_linear_gaussian_network(dag, rng=rng, noise=(0, 1)), "noise"),
    ],
)
def test_random_networks_refuse_empty_ranges(call, words):
    with pytest.raises(NetworkError, match=words):
        call(DAG.empty("ab"), np.random.default_rng(0))


def test_more_than_ten_states_sort_by_number():
    network = random_bayesian_network(DAG.empty("a"), rng=np.random.default_rng(0), states=(12, 12))
    assert network.schema.states[0][-2:] == ("10", "11")
