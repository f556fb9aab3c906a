"""Answers after setting variables: against pgmpy, the joint distribution, and all members."""

from __future__ import annotations

import os

import numpy as np
import pytest

from fedbn.errors import QueryError
from fedbn.graphs.random import random_dag
from fedbn.inference import effect_between, query_do, range_over_class
from fedbn.networks.bif import to_pgmpy
from fedbn.networks.catalog import load_network
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork, ConditionalTable
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)
from fedbn.networks.rewriting import rewrite, rewrite_equations
from tests import naive
from tests.inference.test_queries import network_with_zeros
from tests.naive_inference import conditional_normal, joint, normal_after, posterior_after

CASES = int(os.environ.get("FEDBN_TWIN_CASES", "10"))
SEEDS = range(CASES)


def drawn(seed: int, n: int) -> tuple[BayesianNetwork, dict[str, str], dict[str, str], list[str]]:
    """A network without zeros, one or two variables to set, some to observe, the rest."""
    rng = np.random.default_rng(seed)
    dag = random_dag(node_names(n), rng=rng, edge_probability=float(rng.uniform(0.2, 0.8)))
    network = random_bayesian_network(dag, rng=rng, states=(2, 3))
    names = rng.permutation(network.names).tolist()
    state = {
        name: str(rng.choice(states))
        for name, states in zip(network.names, network.schema.states, strict=True)
    }
    k, seen = 1 + int(rng.random() < 0.3), int(rng.integers(0, 2))
    do = {name: state[name] for name in names[:k]}
    given = {name: state[name] for name in names[k : k + seen]}
    return network, do, given, names[k + seen :]


@pytest.mark.parametrize("seed", SEEDS)
def test_after_setting_pgmpy_says_the_same(seed: int) -> None:
    from pgmpy.inference import VariableElimination

    network, do, given, asked = drawn(seed, 7)
    theirs = VariableElimination(to_pgmpy(network).do(list(do)))
    ours = query_do(network, asked, do, given)
    for name in asked:
        found = theirs.query([name], {**do, **given}, show_progress=False)
        for state, probability in zip(found.state_names[name], found.values, strict=True):
            assert ours[name][state] == pytest.approx(probability, abs=1e-9)


def own_parents(network: BayesianNetwork, dag: naive.DAG) -> dict[str, tuple[str, ...]]:
    return {
        name: tuple(dag.names[p] for p in dag.parents(v)) for v, name in enumerate(network.names)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_range_is_that_of_all_members_by_the_joint_distribution(seed: int) -> None:
    network, do, given, asked = drawn(seed, 4)
    found = range_over_class(network, asked, do, given)
    name = asked[0]
    answers = [
        posterior_after(network, name, do, given, own_parents(network, member))
        for member in naive.members(network.dag)
    ]
    for state in answers[0]:
        every = [answer[state] for answer in answers]
        assert found.least[name][state] == pytest.approx(min(every), abs=1e-9)
        assert found.greatest[name][state] == pytest.approx(max(every), abs=1e-9)
    here = posterior_after(network, name, do, given, own_parents(network, network.dag))
    assert found.written[name] == pytest.approx(here, abs=1e-9)
    sets = {tuple(member.parents(network.names.index(x)) for x in do)
            for member in naive.members(network.dag)}  # fmt: skip
    assert found.parent_sets == len(sets)


def gaussian(seed: int) -> LinearGaussianNetwork:
    rng = np.random.default_rng(seed)
    dag = random_dag(node_names(4), rng=rng, edge_probability=0.6)
    return random_linear_gaussian_network(dag, rng=rng)


@pytest.mark.parametrize("seed", SEEDS)
def test_effects_of_numbers_are_those_of_regressions_in_all_members(seed: int) -> None:
    network = gaussian(seed)
    x, y = network.names[:2]
    found = range_over_class(network, [y], {x: 2.0})
    pairs = [normal_after(network, y, {x: 2.0}, m) for m in naive.members(network.dag)]
    for key, every in zip(("mean", "variance"), zip(*pairs, strict=True), strict=True):
        assert found.least[y][key] == pytest.approx(min(every), abs=1e-8)
        assert found.greatest[y][key] == pytest.approx(max(every), abs=1e-8)
    effects = range_over_class(network, [y], {x: 2.0}, versus={x: -1.0})
    slopes = [
        normal_after(network, y, {x: 2.0}, m)[0] - normal_after(network, y, {x: -1.0}, m)[0]
        for m in naive.members(network.dag)
    ]
    assert effects.least[y]["effect"] == pytest.approx(min(slopes), abs=1e-8)
    assert effects.greatest[y]["effect"] == pytest.approx(max(slopes), abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rewritten_network_has_the_same_distribution(seed: int) -> None:
    for network in (drawn(seed, 4)[0], network_with_zeros(seed, 4)):
        before = list(joint(network))
        for member in naive.members(network.dag):
            again, undefined = rewrite(network, member)
            assert again.dag == member
            for (_, p), (_, q) in zip(before, joint(again), strict=True):
                assert q == pytest.approx(p, abs=1e-12)
            for name in undefined:
                above = {network.names[i] for i in member.parents(network.names.index(name))}
                seen = {tuple(sorted((n, c[n]) for n in above)) for c, p in before if p > 0}
                every = {tuple(sorted((n, c[n]) for n in above)) for c, _ in before}
                assert seen < every
    network = gaussian(seed)
    mean, covariance, _ = conditional_normal(network, {})
    for member in naive.members(network.dag):
        other = conditional_normal(rewrite_equations(network, member), {})
        np.testing.assert_allclose(other[0], mean, atol=1e-9)
        np.testing.assert_allclose(other[1], covariance, rtol=1e-9, atol=1e-9)


def test_setting_is_not_observing() -> None:
    asia = load_network("asia")
    assert query_do(asia, ["lung"], {"xray": "yes"})["lung"]["yes"] == pytest.approx(0.055)
    assert query_do(asia, ["dysp"], {"bronc": "yes"}, {"smoke": "no"})["dysp"]["yes"] > 0.79
    with pytest.raises(QueryError, match="'xray' cannot be both set, to 'yes', and observed"):
        query_do(asia, ["lung"], {"xray": "yes"}, {"xray": "no"})
    with pytest.raises(QueryError, match="no state 'maybe'"):
        query_do(asia, ["lung"], {"xray": "maybe"})
    with pytest.raises(QueryError, match="'X1' is a number in this network, not nan"):
        query_do(gaussian(1), ["X2"], {"X1": float("nan")})


def test_zeros_leave_an_answer_over_the_class_open() -> None:
    """What b is where a is 1, which never happens, no row can tell; if b is first, it is as it was.

    So the class of b -> a, which a -> b is in, has no answer; b -> a alone has one.
    """
    states = ("0", "1")
    network = BayesianNetwork.from_tables(
        {
            "a": ConditionalTable(states, ("b",), np.array([[1.0, 0.0], [1.0, 0.0]])),
            "b": ConditionalTable(states, (), np.array([[0.5, 0.5]])),
        }
    )
    assert query_do(network, ["b"], {"a": "1"})["b"] == {"0": 0.5, "1": 0.5}
    with pytest.raises(QueryError, match="probabilities of 0 leave the answer open .*'b'"):
        range_over_class(network, ["b"], {"a": "1"})
    assert range_over_class(network, ["a"], {"b": "1"}).parent_sets == 2


def test_the_average_effect_is_of_numbers() -> None:
    one = {"y": {"0": 0.2, "10": 0.8}, "z": {"no": 0.25, "yes": 0.75}}
    other = {"y": {"0": 0.5, "10": 0.5}, "z": {"no": 0.5, "yes": 0.5}}
    found = effect_between(one, other)
    assert found == {"y": {"effect": pytest.approx(3.0)}, "z": {"no": -0.25, "yes": 0.25}}
