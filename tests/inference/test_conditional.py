"""Answers of conditional-Gaussian networks: those of all configurations, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from scipy.stats import norm

from fedbn.data.schema import Schema, Variable
from fedbn.errors import ImpossibleEvidenceError, QueryError
from fedbn.graphs.dag import DAG
from fedbn.inference import (
    effect_between,
    query,
    query_conditional,
    query_do,
    query_gaussian,
    range_over_class,
)
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork, Regressions
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from tests.naive_conditional import mixture_given, random_conditional, random_parameters


def evidence_in(
    network: ConditionalGaussianNetwork, rng: np.random.Generator, share: float
) -> dict[str, str | float]:
    """Some observed variables, as one row of the network has them."""
    row = network.sample(1, rng)
    found: dict[str, str | float] = {}
    for place, variable in enumerate(network.schema.variables):
        if rng.random() < share:
            value = row.column(place)[0]
            found[variable.name] = (
                float(value) if variable.states is None else variable.states[int(value)]
            )
    return found


@drawn(st.integers(0, 2**32 - 1), st.text("cn", min_size=1, max_size=6), st.sampled_from([0, 0.4]))
def test_answers_are_those_of_all_configurations(seed: int, kinds: str, share: float) -> None:
    rng = np.random.default_rng(seed)
    network = random_conditional(rng, kinds)
    observed = evidence_in(network, rng, share)
    answer = query_conditional(network, None, observed)
    parts = mixture_given(network, observed)
    total = math.fsum(weight for _, weight, _ in parts)
    assert answer.log_evidence == pytest.approx(math.log(total), rel=1e-9, abs=1e-9)
    assert set(answer.posteriors) == set(network.names) - set(observed)
    for name, told in answer.posteriors.items():
        if name not in network.schema.numbers:
            for state, probability in told.items():
                expected = sum(weight for case, weight, _ in parts if case[name] == state) / total
                assert probability == pytest.approx(expected, abs=1e-9)
            continue
        weights = np.array([weight / total for _, weight, _ in parts])
        means = np.array([spreads[name][0] for _, _, spreads in parts])
        variances = np.array([spreads[name][1] for _, _, spreads in parts])
        mean = weights @ means
        assert told["mean"] == pytest.approx(mean, abs=1e-8)
        spread = weights @ (variances + (means - mean) ** 2)
        assert told["variance"] == pytest.approx(spread, rel=1e-7, abs=1e-8)
        for share_below in (0.05, 0.5, 0.95):
            place = told[f"quantile {share_below:g}"]
            below = weights @ norm.cdf(place, means, np.sqrt(np.maximum(variances, 1e-30)))
            assert below == pytest.approx(share_below, abs=1e-6)


def test_of_categories_alone_it_is_elimination_and_of_numbers_the_normal() -> None:
    rng = np.random.default_rng(1)
    whole = random_conditional(rng, "ccccc")
    tables = BayesianNetwork(whole.dag, whole.schema, tuple(whole.table(v) for v in range(5)))
    found = query_conditional(whole).posteriors
    for name, told in query(tables).posteriors.items():
        assert found[name] == pytest.approx(told)
    whole = random_conditional(rng, "nnnnn")
    coefficients = np.zeros((5, 5))
    for v in range(5):
        coefficients[list(whole.dag.parents(v)), v] = whole.regressions(v).coefficients[0]
    equations = LinearGaussianNetwork(
        whole.dag,
        coefficients,
        np.array([whole.regressions(v).intercepts[0] for v in range(5)]),
        np.array([whole.regressions(v).standard_deviations[0] for v in range(5)]),
    )
    observed = {whole.names[2]: 0.5}
    alone = query_gaussian(equations, None, observed).posteriors
    for name, told in query_conditional(whole, None, dict(observed)).posteriors.items():
        assert {key: told[key] for key in ("mean", "variance")} == pytest.approx(alone[name])


@pytest.mark.slow
def test_pgmpy_says_the_same_of_numbers() -> None:
    """pgmpy's joint normal of a linear-Gaussian network, which it rounds to two digits."""
    import networkx as nx
    from pgmpy.factors.continuous import LinearGaussianCPD
    from pgmpy.models import LinearGaussianBayesianNetwork

    network = random_conditional(np.random.default_rng(3), "nnnn")
    model = LinearGaussianBayesianNetwork(network.dag.edges)
    model.add_nodes_from(network.names)
    for v, name in enumerate(network.names):
        own, above = network.regressions(v), [network.names[i] for i in network.dag.parents(v)]
        weights = [float(own.intercepts[0]), *own.coefficients[0].tolist()]
        model.add_cpds(LinearGaussianCPD(name, weights, float(own.standard_deviations[0]), above))
    mean, covariance = model.to_joint_gaussian()
    found = query_conditional(network).posteriors
    for place, name in enumerate(nx.topological_sort(model)):
        assert found[name]["mean"] == pytest.approx(float(np.ravel(mean)[place]), abs=1e-2)
        assert found[name]["variance"] == pytest.approx(float(covariance[place, place]), abs=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_setting_is_a_network_without_the_arrows_in(seed: int) -> None:
    rng = np.random.default_rng(seed)
    network = random_conditional(rng, "ccnnn")
    for name in network.names:
        node = network.names.index(name)
        states = network.schema.variables[node].states
        value: str | float = 1.5 if states is None else states[0]
        adjacency = network.dag.adjacency.copy()
        adjacency[:, node] = False
        cut = list(network.parameters)
        if states is None:
            cut[node] = Regressions(np.zeros((1, 0)), np.array([1.5]), np.array([1e-9]))
        else:
            cut[node] = np.eye(len(states))[[0]]
        after = ConditionalGaussianNetwork(
            DAG(network.names, adjacency), network.schema, tuple(cut)
        )
        found = query_do(network, None, {name: value})  # type: ignore[dict-item]
        expected = query_conditional(after).posteriors
        for other in network.names:
            if other != name:
                assert found[other] == pytest.approx(dict(expected[other]), abs=1e-6)


def two_groups() -> ConditionalGaussianNetwork:
    """ill → marker: 0 or 2, standard deviation 1; half of the rows are ill."""
    schema = Schema((Variable("ill", ("no", "yes")), Variable("marker")))
    dag = DAG.from_edges(schema.names, [("ill", "marker")])
    equations = Regressions(np.zeros((2, 0)), np.array([0.0, 2.0]), np.ones(2))
    return ConditionalGaussianNetwork(dag, schema, (np.array([[0.5, 0.5]]), equations))


def test_an_average_effect_on_a_number() -> None:
    network = two_groups()
    found, other = (query_do(network, ["marker"], {"ill": s}) for s in ("yes", "no"))
    assert effect_between(found, other) == {"marker": {"effect": pytest.approx(2.0)}}
    with pytest.raises(QueryError, match="categories alone or of numbers alone"):
        range_over_class(network, ["marker"], {"ill": "yes"})


@pytest.mark.parametrize(
    ("ask", "observed", "words"),
    [
        (["marker"], {"ill": "maybe"}, "no state 'maybe'"),
        (["marker"], {"sick": "no"}, "no variable 'sick'"),
        (["ill"], {"marker": "high"}, "must be a finite number, not 'high'"),
        (["ill"], {"marker": math.inf}, "must be a finite number, not inf"),
    ],
)
def test_what_is_no_evidence(ask: list[str], observed: dict[str, str | float], words: str) -> None:
    with pytest.raises(QueryError, match=words):
        query_conditional(two_groups(), ask, observed)


def test_too_many_configurations_and_impossible_states() -> None:
    network = two_groups()
    with pytest.raises(QueryError, match="looks at 2 covariances"):
        query_conditional(network, max_cells=1)
    never = (np.array([[1.0, 0.0]]), network.regressions(1))
    sure = ConditionalGaussianNetwork(network.dag, network.schema, never)
    with pytest.raises(ImpossibleEvidenceError):
        query_conditional(sure, None, {"ill": "yes"})


def test_rows_drawn_from_a_network_have_its_moments() -> None:
    rng = np.random.default_rng(5)
    schema = Schema((Variable("c", ("a", "b")), Variable("x"), Variable("y")))
    dag = DAG.from_edges(schema.names, [("c", "x"), ("c", "y"), ("x", "y")])
    network = random_parameters(rng, dag, schema)
    rows = network.sample(200_000, rng)
    found = query_conditional(network).posteriors
    for place, name in ((1, "x"), (2, "y")):
        told = found[name]
        error = 5 * math.sqrt(told["variance"] / rows.n_rows)
        assert rows.column(place).mean() == pytest.approx(told["mean"], abs=error)
        assert rows.column(place).var() == pytest.approx(told["variance"], rel=0.03)
        assert np.quantile(rows.column(place), 0.95) == pytest.approx(
            told["quantile 0.95"], abs=0.05 * math.sqrt(told["variance"])
        )
