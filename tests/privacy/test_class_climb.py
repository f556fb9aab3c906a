"""The learner dp-ges: its operators, its limits, what chance makes."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd
from fedbn.graphs.pdag import PDAG, dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.privacy.class_climb import dp_ges
from fedbn.privacy.class_operators import deletions, insertions
from fedbn.privacy.climb import dp_climb
from fedbn.privacy.dependence import penalty, utility
from fedbn.privacy.mechanism_runs import STOP
from fedbn.privacy.zcdp import rho_of
from fedbn.search.operators import Delete, Insert
from tests.strategies import dags


def subsets(nodes: set[int]) -> list[frozenset[int]]:
    sizes = range(len(nodes) + 1)
    return [frozenset(c) for c in chain(*(combinations(sorted(nodes), k) for k in sizes))]


def around(cpdag: PDAG, v: int, undirected: bool) -> set[int]:
    a = cpdag.adjacency
    return set(np.flatnonzero(a[v] & a[:, v] if undirected else a[v] | a[:, v]).tolist())


@given(dags(min_nodes=2, max_nodes=6))
@settings(max_examples=120, deadline=None)
def test_operators_are_all_valid_ones(dag: DAG) -> None:
    """Against the definitions, operator by operator, for every pair and every set."""
    cpdag, n = dag_to_cpdag(dag), dag.n
    pairs = [(x, y) for x in range(n) for y in range(n) if x != y]
    wanted = {
        operator
        for x, y in pairs
        for T in subsets(around(cpdag, y, undirected=True) - around(cpdag, x, undirected=False))
        if (operator := Insert(x, y, T)).is_valid(cpdag)
    }
    found = list(insertions(cpdag, n))
    assert len(found) == len(wanted)
    assert {operator for operator, _ in found} == wanted
    wanted_deletions = {
        operator
        for x, y in pairs
        for H in subsets(around(cpdag, y, undirected=True) & around(cpdag, x, undirected=False))
        if (operator := Delete(x, y, H)).is_valid(cpdag)
    }
    listed = list(deletions(cpdag))
    assert len(listed) == len(wanted_deletions)
    assert {operator for operator, _ in listed} == wanted_deletions


class Recorder:
    """A local score that only says which families it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, frozenset[int]]] = []

    def local_score(self, node: int, parents: frozenset[int]) -> float:
        self.asked.append((node, frozenset(parents)))
        return 0.0


@given(dags(min_nodes=2, max_nodes=6))
@settings(max_examples=60, deadline=None)
def test_operators_condition_on_what_the_gain_of_a_score_conditions_on(dag: DAG) -> None:
    cpdag = dag_to_cpdag(dag)
    for operator, given_set in [*insertions(cpdag, dag.n), *deletions(cpdag)]:
        recorder = Recorder()
        operator.gain(recorder, cpdag)  # type: ignore[arg-type]
        families = {(operator.y, given_set), (operator.y, given_set | {operator.x})}
        assert set(recorder.asked) == families


def test_limits_hold_and_unused_draws_are_left_for_deletions() -> None:
    data = load_network("asia").sample(5000, np.random.default_rng(1))
    dag, transcript = dp_ges(data, rho=Fraction(50), source=Random(1), max_parents=2)
    assert transcript.budget.draws == 12 + 2
    assert transcript.budget.charged <= 50
    for draw in transcript.draws:
        assert draw.candidates[-1] == STOP
    phases = [draw.candidates[0].kind for draw in transcript.draws]
    assert phases == sorted(phases, reverse=True)
    assert {"insert", "delete"} == set(phases)
    assert dag.names == data.names


def test_the_transcript_says_what_was_drawn_from() -> None:
    data = load_network("asia").sample(3000, np.random.default_rng(2))
    _, transcript = dp_ges(data, rho=Fraction(rho_of(1, 1e-6)), source=Random(2))
    sizes, first = data.cardinalities, transcript.draws[0]
    for operator, found in list(zip(first.candidates, first.utilities, strict=True))[:-1]:
        x, y = operator.x, operator.y
        chance = 2 * penalty(transcript.rows, 1, int(sizes[x]), int(sizes[y]))
        assert found == utility(data, x, y, ()) - chance


def test_with_many_rows_it_finds_the_class_where_dp_climb_does_not() -> None:
    """Sachs, 200,000 rows, hardly any noise: the class is right but for weak edges."""
    network = load_network("sachs")
    data = network.sample(200_000, np.random.default_rng(3))
    ours, _ = dp_ges(data, rho=Fraction(100), source=Random(3))
    other, _ = dp_climb(data, rho=Fraction(100), source=Random(3))
    assert shd(ours, network.dag) <= 3
    assert shd(ours, network.dag) < shd(other, network.dag)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_chance_is_at_least_the_mean_of_the_dependence_of_independent_columns(seed: int) -> None:
    """The mean over 60 tables, less four standard errors, is below ½ sqrt(N q (r - 1)(s - 1))."""
    rng = np.random.default_rng(seed)
    r_x, r_y, strata = (int(size) for size in rng.integers(2, 5, size=3))
    rows = 200
    schema = Schema.categorical(
        {"x": [str(i) for i in range(r_x)], "y": [str(i) for i in range(r_y)],
         "z": [str(i) for i in range(strata)]}
    )  # fmt: skip
    margins = [rng.dirichlet(np.ones(size)) for size in (r_x, r_y, strata)]
    values = []
    for _ in range(60):
        columns = [rng.choice(len(p), size=rows, p=p) for p in margins]
        values.append(utility(Dataset(schema, np.array(columns).T), 0, 1, (2,)))
    mean, error = np.mean(values), np.std(values) / np.sqrt(60)
    assert mean - 4 * error <= 2 * penalty(rows, strata, r_x, r_y) + 1


@pytest.mark.parametrize("seed", [4, 5])
def test_the_same_source_gives_the_same_run(seed: int) -> None:
    data = load_network("asia").sample(500, np.random.default_rng(seed))
    rho = Fraction(rho_of(1, 1e-6))
    assert dp_ges(data, rho=rho, source=Random(seed)) == dp_ges(data, rho=rho, source=Random(seed))
