"""Mixed BIC and AIC: the definition, equivalence, singular blocks, and learners on them."""

from __future__ import annotations

import math
import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import DataError
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnerSettings, learn, learn_ladder
from fedbn.scores import make_score, make_scores, total_score
from fedbn.scores.mixed import block_columns, mixed_from_covariance
from tests import naive_mixed
from tests.naive import all_dags
from tests.naive_search import class_of
from tests.strategies import dags

CRITERIA = ("mixed-bic", "mixed-aic")


def mixed(seed: int, rows: int = 120, kinds: str = "ncncn") -> Dataset:
    """A chain with noise: n for a number, c for a category of 2 to 4 states, k for a constant."""
    rng = np.random.default_rng(seed)
    columns, variables, last = [], [], rng.normal(size=rows)
    for place, kind in enumerate(kinds):
        last = 0.7 * last + rng.normal(size=rows)
        if kind == "c":
            states = 2 + (seed + place) % 3
            edges = np.quantile(last, np.arange(1, states) / states)
            columns.append(np.digitize(last, edges).astype(float))
            variables.append(Variable(f"v{place}", tuple(map(str, range(states)))))
        else:
            columns.append(np.full(rows, 3.0) if kind == "k" else last)
            variables.append(Variable(f"v{place}"))
    schema, table = Schema(tuple(variables)), np.column_stack(columns)
    return Dataset(schema, table.astype(int) if schema.kind == "categorical" else table)


def penalty_of(name: str, rows: float) -> float:
    return 0.5 * math.log(rows) if name == "mixed-bic" else 1.0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.text("nc", min_size=4, max_size=4))
def test_scores_are_those_of_the_definition(seed: int, kinds: str) -> None:
    data = mixed(seed, kinds=kinds)
    for name in CRITERIA:
        score = make_score(name, data)
        for node in range(4):
            others = [v for v in range(4) if v != node]
            for parents in (p for size in range(4) for p in combinations(others, size)):
                expected = naive_mixed.local(data, node, parents, penalty_of(name, 120))
                assert score.local_score(node, parents) == pytest.approx(
                    expected, abs=1e-9, rel=1e-11
                )
                more = [v for v in others if v not in parents]
                found = score.core.local_with(node, list(parents), more)
                for x, value in zip(more, found, strict=True):
                    assert value == score.local_score(node, (*parents, x))


def test_differences_are_those_of_covariances_to_1e_9() -> None:
    data = mixed(3, rows=60, kinds="ncnc")
    score, columns = make_score("mixed-bic", data), naive_mixed.blocks(data)
    s = naive_mixed.covariance([columns[0], columns[1]])
    gain = -30 * (np.linalg.slogdet(s)[1] - np.log(s[0, 0]) - np.linalg.slogdet(s[1:, 1:])[1])
    gain -= math.log(60) / 2 * (len(s) - 1)
    assert score.local_score(1, [0]) - score.local_score(1, []) == pytest.approx(gain, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(dags(min_nodes=4, max_nodes=4), st.integers(0, 10**6), st.sampled_from(CRITERIA))
def test_equivalent_graphs_score_the_same(dag: DAG, seed: int, name: str) -> None:
    data = mixed(seed, kinds="ncnc")
    score = make_score(name, data)
    dag = DAG(data.names, dag.adjacency)
    for member in class_of(dag):
        assert total_score(score, member) == pytest.approx(total_score(score, dag), rel=1e-11)


def test_equivalent_graphs_of_singular_blocks_score_the_same() -> None:
    """b tells of one state of a, but not of all; a third variable depends on both."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    b = (a == 2).astype(float)
    table = np.column_stack([a, b, a + rng.normal(size=200), rng.normal(size=200)])
    schema = Schema((Variable("a", "012"), Variable("b", "01"), Variable("c"), Variable("d")))
    score = make_score("mixed-bic", Dataset(schema, table))
    assert score.local_score(1, [0]) == -math.inf == score.local_score(0, [1])
    for edges in ([("c", "d"), ("a", "c")], [("c", "a"), ("b", "c")], [("a", "b"), ("b", "c")]):
        dag = DAG.from_edges(schema.names, edges)
        totals = {round(total_score(score, member), 6) for member in class_of(dag)}
        assert len(totals) == 1


@pytest.mark.parametrize("criterion", ["bic", "aic"])
def test_numbers_alone_score_as_gaussian(criterion: str) -> None:
    data = mixed(5, kinds="nnnn")
    one, other = make_score(f"mixed-{criterion}", data), make_score(f"gaussian-{criterion}", data)
    for node, parents in ((0, ()), (1, (0,)), (2, (0, 3)), (3, (0, 1, 2))):
        assert one.local_score(node, parents) == pytest.approx(
            other.local_score(node, parents), rel=1e-12
        )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_nothing_is_ever_nan(seed: int) -> None:
    """Constants, unseen states, copies, sums, fewer rows than columns."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(2, 30))
    x, c = rng.normal(size=rows), rng.integers(0, 2, rows).astype(float)
    table = np.column_stack([x, 2 * x + 1, c, c, x + c, np.ones(rows), rng.integers(1, 3, rows)])
    variables = [Variable(name) for name in "abef"]
    variables += [Variable(name, tuple("0123")) for name in "cdg"]
    data = Dataset(Schema(tuple(variables)), table[:, [0, 1, 2, 3, 4, 5, 6]])
    score = make_score("mixed-bic", data)
    for _ in range(20):
        node, *parents = rng.permutation(7)[: rng.integers(1, 7)].tolist()
        value = score.local_score(node, parents)
        assert not math.isnan(value)
        assert (value == -math.inf) == naive_mixed.refused(data, node, parents)
        assert math.isfinite(score.core.local(node, parents))


def test_unseen_states_and_constants_cost_nothing() -> None:
    data = mixed(8, kinds="ncnk")
    wider = Variable("v1", (*(data.schema.variables[1].states or ()), "8", "9"))
    agreed = Schema((data.schema.variables[0], wider, *data.schema.variables[2:]))
    one, other = make_score("mixed-bic", data), make_score("mixed-bic", data.with_schema(agreed))
    for node, parents in ((0, (1,)), (1, (0, 2)), (2, (1,))):
        assert one.local_score(node, parents) == pytest.approx(
            other.local_score(node, parents), rel=1e-12
        )
    assert one.local_score(3, [0, 1]) == one.local_score(3, []) == 0.0
    assert one.local_score(0, [1, 3]) == one.local_score(0, [1])
    assert one.varying().tolist() == [0, 1, 2]


def test_row_weights_are_rows_that_are_repeated() -> None:
    data = mixed(9)
    twice = data.take(np.tile(np.arange(data.n_rows), 2))
    whole = make_score("mixed-bic", twice)
    for score in (
        make_score("mixed-bic", data, row_weight=2.0),
        make_scores("mixed-bic", data, (1.0, 2.0))[1],
        pickle.loads(pickle.dumps(make_score("mixed-bic", data, row_weight=2.0))),
    ):
        assert score.local_score(1, [0, 3]) == pytest.approx(whole.local_score(1, [0, 3]))
        assert score.over(np.array([3, 1, 0])).local_score(1, [0, 2]) == score.local_score(
            1, [0, 3]
        )


@pytest.mark.usefixtures("solvers_here")
@pytest.mark.parametrize("learner", ["ges", "xges0", "xges", "ils", "hc"])
def test_greedy_learners_reach_what_is_optimal(learner: str) -> None:
    data = mixed(1, rows=400, kinds="ncnck")
    asked = LearnerSettings(learner=learner, score="mixed-bic")
    found = learn(data, asked, np.random.default_rng(0))
    best = learn(
        data, LearnerSettings(learner="optimal", score="mixed-bic"), np.random.default_rng(0)
    )
    assert best.certificate.certificate == "optimal"
    assert found.score == pytest.approx(best.score)
    assert found.dags[0].n_edges >= 3
    laddered = LearnerSettings(learner=learner, score="mixed-bic", row_weight="ladder")
    assert learn_ladder(data, laddered, np.random.default_rng(0))[0].dags == found.dags


@pytest.mark.usefixtures("solvers_here")
def test_the_optimum_is_that_of_all_graphs() -> None:
    data = mixed(4, rows=50, kinds="ncnc")
    score = make_score("mixed-bic", data)
    most = max(total_score(score, DAG(data.names, dag.adjacency)) for dag in all_dags(4))
    for most_parents in (None, 3):
        asked = LearnerSettings(learner="optimal", score="mixed-bic", max_parents=most_parents)
        assert learn(data, asked, np.random.default_rng(0)).score == pytest.approx(most)


@pytest.mark.parametrize("learner", ["dp-climb", "dp-ges", "dp-moments"])
def test_private_learners_say_that_they_need_categories(learner: str) -> None:
    asked = LearnerSettings(learner=learner, score="mixed-bic")
    with pytest.raises(DataError, match="needs categorical data, these are mixed"):
        learn(mixed(1), asked, np.random.default_rng(0))


def test_a_covariance_must_fit() -> None:
    columns, widths = block_columns(mixed(1))
    with pytest.raises(DataError, match="must be"):
        mixed_from_covariance(["a", "b"], widths, np.eye(columns.shape[1]), 10)
    with pytest.raises(DataError, match="symmetric"):
        mixed_from_covariance(["a", "b"], [1, 1], np.array([[1.0, 0.2], [0.3, 1.0]]), 10)
    with pytest.raises(DataError, match="sorted"):
        mixed_from_covariance(["b", "a"], [1, 1], np.eye(2), 10)
