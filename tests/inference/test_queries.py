"""Answers against pgmpy's variable elimination, and against the joint distribution."""

import math

import numpy as np
import pytest

from fedbn.data.cuts import interval_names, interval_of
from fedbn.data.schema import Schema, Variable
from fedbn.errors import ImpossibleEvidenceError, QueryError
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.inference import average_query, most_probable, query
from fedbn.inference.queries import interval_meant
from fedbn.networks.bif import to_pgmpy
from fedbn.networks.catalog import load_network
from fedbn.networks.json_file import network_from_json, network_to_json
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import node_names, random_bayesian_network
from tests.naive_inference import evidence_probability, joint, joint_with


def network_with_zeros(seed: int, n: int) -> BayesianNetwork:
    """A random network in which some probabilities are 0."""
    rng = np.random.default_rng(seed)
    dag = random_dag(node_names(n), rng=rng, edge_probability=float(rng.random()))
    drawn = random_bayesian_network(dag, rng=rng, states=(1, 3))
    cpts = []
    for cpt in drawn.cpts:
        kept = np.where(rng.random(cpt.shape) < 0.3, 0.0, cpt)
        kept[kept.sum(axis=1) == 0, 0] = 1.0
        cpts.append(kept / kept.sum(axis=1, keepdims=True))
    return BayesianNetwork(drawn.dag, drawn.schema, tuple(cpts))


def sampled_evidence(network: BayesianNetwork, count: int, seed: int) -> dict[str, str]:
    """Some variables of one sampled row, so that the evidence is possible."""
    rng = np.random.default_rng(seed)
    row = network.sample(1, rng).codes[0]
    nodes = rng.choice(network.dag.n, count, replace=False).tolist()
    return {network.names[i]: network.schema.states[i][row[i]] for i in nodes}


def require_as_pgmpy(network: BayesianNetwork, given: dict[str, str], asked: list[str]) -> None:
    from pgmpy.inference import VariableElimination

    theirs = VariableElimination(to_pgmpy(network))
    ours = query(network, asked, given).posteriors
    for name in asked:
        found = theirs.query([name], given, show_progress=False)
        for state, probability in zip(found.state_names[name], found.values, strict=True):
            assert ours[name][state] == pytest.approx(probability, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asia", "child", "alarm", "insurance"])
def test_published_networks_answer_as_with_pgmpy(name: str) -> None:
    network = load_network(name)
    for seed, observed in enumerate([0, 1, 2, 5]):
        given = sampled_evidence(network, observed, seed)
        asked = [variable for variable in network.names if variable not in given]
        require_as_pgmpy(network, given, asked if name == "asia" else asked[seed::9])


def test_random_networks_with_zeros_answer_as_with_pgmpy() -> None:
    for seed in range(200):
        network = network_with_zeros(seed, 2 + seed % 7)
        given = sampled_evidence(network, seed % min(4, network.dag.n), seed)
        asked = [name for name in network.names if name not in given]
        require_as_pgmpy(network, given, asked[:2])


@pytest.mark.parametrize("seed", range(12))
def test_answers_are_those_of_the_joint_distribution(seed: int) -> None:
    network = network_with_zeros(seed, 1 + seed % 6)
    given = sampled_evidence(network, seed % 3 if network.dag.n > 2 else 0, seed)
    answer = query(network, None, given)
    likelihood = evidence_probability(network, given)
    assert math.exp(answer.log_evidence) == pytest.approx(likelihood, rel=1e-12)
    assert set(answer.posteriors) == set(network.names) - set(given)
    for name, found in answer.posteriors.items():
        for state, p in joint_with(network, name, given).items():
            assert found[state] == pytest.approx(p / likelihood, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_no_configuration_is_more_probable_than_the_explanation(seed: int) -> None:
    network = network_with_zeros(seed, 1 + seed % 6)
    given = sampled_evidence(network, seed % 3 if network.dag.n > 2 else 0, seed)
    found = most_probable(network, given)
    whole = dict(found.states) | given
    cases = [(case, p) for case, p in joint(network) if given.items() <= case.items()]
    best = max(p for _, p in cases)
    assert next(p for case, p in cases if case == whole) == pytest.approx(best, rel=1e-12)
    posterior = best / evidence_probability(network, given)
    assert math.exp(found.log_probability) == pytest.approx(posterior, rel=1e-12)


def test_what_was_observed_is_certain() -> None:
    asia = load_network("asia")
    answer = query(asia, ["smoke"], {"smoke": "yes"})
    assert answer.posteriors == {"smoke": {"no": 0.0, "yes": 1.0}}
    assert answer.log_evidence == pytest.approx(math.log(0.5))


def test_a_thousand_observations_do_not_underflow() -> None:
    names = [f"x{i:04}" for i in range(1500)]
    pairs = random_bayesian_network(
        DAG.from_edges(names, [("x0000", name) for name in names[1:]]),
        rng=np.random.default_rng(3),
        states=(4, 4),
    )
    given = dict.fromkeys(names[1:], "0")
    answer = query(pairs, ["x0000"], given)
    logs = np.log(pairs.cpts[0][0]) + sum(np.log(cpt[:, 0]) for cpt in pairs.cpts[1:])
    expected = np.exp(logs - logs.max())
    assert answer.log_evidence == pytest.approx(np.logaddexp.reduce(logs), rel=1e-12)
    assert list(answer.posteriors["x0000"].values()) == pytest.approx(expected / expected.sum())


@pytest.mark.parametrize("seed", range(6))
def test_the_average_is_the_posterior_of_the_mixture(seed: int) -> None:
    rng = np.random.default_rng(seed)
    schema_of = random_bayesian_network(DAG.empty(["a", "b", "c"]), rng=rng, states=(2, 3))
    networks = []
    for edges in ([("a", "b"), ("b", "c")], [("c", "a")], []):
        dag = DAG.from_edges(["a", "b", "c"], edges)
        sizes = schema_of.schema.cardinalities
        cpts = tuple(
            rng.dirichlet(np.ones(sizes[i]), int(np.prod(sizes[list(dag.parents(i))])))
            for i in range(3)
        )
        networks.append(BayesianNetwork(dag, schema_of.schema, cpts))
    weights = [3.0, 1.0, 0.5]
    given = {"c": "1"}
    answer = average_query(networks, weights, ["a"], given)
    mixture = sum(
        w * evidence_probability(net, given) for w, net in zip(weights, networks, strict=True)
    )
    for state, found in answer.posteriors["a"].items():
        both = sum(
            w * joint_with(net, "a", given)[state] for w, net in zip(weights, networks, strict=True)
        )
        assert found == pytest.approx(both / mixture, rel=1e-12)
    assert math.exp(answer.log_evidence) == pytest.approx(mixture / sum(weights), rel=1e-12)


def test_a_network_that_excludes_the_evidence_has_no_say() -> None:
    dag = DAG.from_edges(["a", "b"], [("a", "b")])
    schema = Schema.categorical({"a": ["0", "1"], "b": ["0", "1"]})
    likely = BayesianNetwork(dag, schema, (np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]] * 2)))
    never = BayesianNetwork(dag, schema, (np.array([[0.9, 0.1]]), np.array([[1.0, 0.0]] * 2)))
    given = {"b": "1"}
    assert average_query([likely, never], [1, 9], ["a"], given).posteriors["a"]["0"] == 0.5
    with pytest.raises(ImpossibleEvidenceError, match="b=1 has probability 0"):
        average_query([never], [1.0], ["a"], given)


def test_wrong_questions_are_refused_with_what_is_there() -> None:
    asia = load_network("asia")
    with pytest.raises(QueryError, match=r"no variable 'Smoke'; .*; did you mean 'smoke'\?"):
        query(asia, ["Smoke"])
    with pytest.raises(QueryError, match=r"'smoke' has no state 'Yes'; .*; did you mean 'yes'\?"):
        query(asia, ["lung"], {"smoke": "Yes"})
    with pytest.raises(ImpossibleEvidenceError, match="either=no, lung=yes has probability 0"):
        query(asia, ["smoke"], {"lung": "yes", "either": "no"})
    with pytest.raises(QueryError, match="weight of a network must be a positive number, not 0"):
        average_query([asia], [0], ["lung"])


DRAWS = [(1, 0), (2, 3), (3, 1), (4, 5), (5, 2), (6, 4)]


def test_too_large_tables_are_refused_before_any_work() -> None:
    names = node_names(60)
    edges = [(names[(7 * k + j * j) % b], names[b]) for b in range(8, 60) for j, k in DRAWS[:6]]
    network = random_bayesian_network(
        DAG.from_edges(names, sorted(set(edges))), rng=np.random.default_rng(0), states=(3, 3)
    )
    with pytest.raises(QueryError, match=r"tables of [0-9]+ cells \(width [0-9]+\), the limit is"):
        query(network)
    assert query(network, [names[0]], max_cells=100).posteriors


def test_the_order_of_questions_and_evidence_changes_no_bit() -> None:
    alarm = load_network("alarm")
    given = sampled_evidence(alarm, 4, 7)
    asked = [name for name in alarm.names if name not in given]
    one = query(alarm, asked, given)
    other = query(alarm, asked[::-1], dict(reversed(given.items())))
    assert one == other


def test_a_number_stands_for_its_interval() -> None:
    age = Variable.cut("age", [40, 60.5], missing=True)
    schema = Schema((age, Variable("ill", ("no", "yes"))))
    dag = DAG.from_edges(["age", "ill"], [("age", "ill")])
    ill = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.5, 0.5]])
    network = BayesianNetwork(dag, schema, (np.array([[0.2, 0.3, 0.4, 0.1]]), ill))
    by_file = network_from_json(network_to_json(network), "a file")  # keeps names alone
    for given, place in (("40", 0), ("40.01", 1), ("60.5", 1), ("61", 2), ("-1e9", 0), (70, 2)):
        for each in (network, by_file):
            found = query(each, ["ill"], {"age": given}).posteriors
            assert found == query(network, ["ill"], {"age": age.states[place]}).posteriors
    assert interval_meant(network, "age", "missing") is None
    assert interval_meant(network, "ill", "70") is None
    for given in ("nan", "inf", "seventy"):
        with pytest.raises(QueryError, match=f"has no state '{given}'"):
            query(network, ["ill"], {"age": given})
    with pytest.raises(QueryError, match="has no state '70'"):
        query(network, ["age"], {"ill": "70"})


def test_names_that_only_look_like_intervals_are_none() -> None:
    assert interval_of(("1: (-inf, 3]", "2: (4, inf)"), 2.0) is None
    assert interval_of(("1: (0, 3]", "2: (3, inf)"), 2.0) is None
    assert interval_of(("1: (-inf, inf)",), 2.0) == "1: (-inf, inf)"
    many = interval_names(tuple(range(12)))
    expected = [many[place] for place in (0, 0, 1, 11, 12)]
    assert [interval_of(many, number) for number in (-1, 0, 0.5, 11, 99)] == expected
    assert interval_of(interval_names((-1e-7, 1e300)), 1e299) == "2: (-1e-07, 1e+300]"


def test_a_state_that_is_no_text_is_refused_with_the_states() -> None:
    asia = load_network("asia")
    with pytest.raises(QueryError, match="variable 'bronc' has no state None; its states are"):
        query(asia, ["dysp"], {"bronc": None})  # type: ignore[dict-item]
