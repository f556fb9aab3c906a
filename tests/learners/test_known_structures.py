"""Every learner that has a use for knowledge keeps it; the exact ones against all DAGs that do."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.credible.client import credible_structures
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.learners import LEARNERS, LearnerSettings, learn
from fedbn.scores import make_score
from fedbn.scores.base import total_score
from fedbn.search.cg_dca.algorithm2 import learn_cg_dca
from fedbn.search.optimal.learn import learn_optimal
from tests import naive
from tests.naive_knowledge import keeps
from tests.strategies import knowledge_of

CASES = int(os.environ.get("FEDBN_TWIN_CASES", "15"))
EVERY = naive.all_dags(4)
NAMES = EVERY[0].names


def table(seed: int, rows: int = 40) -> Dataset:
    """Four columns of two states that depend on each other in a random way."""
    rng = np.random.default_rng(seed)
    dag = EVERY[int(rng.integers(len(EVERY)))]
    columns = np.zeros((rows, 4), dtype=np.int32)
    for v in dag.topological_order():
        mixed = columns[:, list(dag.parents(v))].sum(axis=1) % 2
        columns[:, v] = np.where(rng.random(rows) < 0.25, rng.integers(0, 2, rows), mixed)
    columns[0], columns[1] = 0, 1
    return Dataset(Schema.categorical(dict.fromkeys(NAMES, "01")), columns)


@st.composite
def knowledge_cases(draw: st.DrawFn) -> tuple[Dataset, Knowledge]:
    return table(draw(st.integers(0, 10_000))), draw(knowledge_of(None, NAMES))


@given(knowledge_cases(), st.sampled_from(["bic", "bdeu"]))
@settings(max_examples=CASES, deadline=None)
def test_the_optimum_is_that_of_all_dags_that_keep_the_knowledge(case, label: str) -> None:
    data, knowledge = case
    score = make_score(label, data)
    best = max(total_score(score, dag) for dag in EVERY if keeps(dag, knowledge))
    rng = np.random.default_rng(0)
    found = learn_optimal(score, rng=rng, knowledge=knowledge)
    assert keeps(found.dag, knowledge)
    assert math.isclose(found.score, best, rel_tol=1e-9)
    assert found.status == "optimal"
    heuristic = learn_optimal(score, "ordering", rng=rng, knowledge=knowledge)
    assert keeps(heuristic.dag, knowledge)
    assert heuristic.score <= best + 1e-9 * abs(best)


@given(knowledge_cases())
@settings(max_examples=CASES // 3, deadline=None)
@pytest.mark.slow
def test_credible_classes_are_those_of_all_dags_that_keep_the_knowledge(case) -> None:
    data, knowledge = case
    score = make_score("bic", data)
    totals = {dag: total_score(score, dag) for dag in EVERY if keeps(dag, knowledge)}
    least = max(totals.values()) - math.log(20.0)
    near = {dag_to_cpdag(dag) for dag, total in totals.items() if total > least + 1e-6}
    some = {dag_to_cpdag(dag) for dag, total in totals.items() if total > least - 1e-6}
    found = credible_structures(data, "bic", max_dags=1000, knowledge=knowledge)
    assert found.reason == ""
    assert all(keeps(dag, knowledge) for dag in found.dags)
    assert near <= {dag_to_cpdag(dag) for dag in found.dags} <= some
    assert len({dag_to_cpdag(dag) for dag in found.dags}) == len(found.dags)
    shares = {
        dag_to_cpdag(dag): sum(
            math.exp(totals[other] - max(totals.values()))
            for other in totals
            if dag_to_cpdag(other) == dag_to_cpdag(dag)
        )
        for dag in found.dags
    }
    whole = sum(shares.values())
    for dag, weight in zip(found.dags, found.weights, strict=True):
        assert math.isclose(weight, shares[dag_to_cpdag(dag)] / whole, rel_tol=1e-6)


@given(knowledge_cases())
@settings(max_examples=CASES // 3, deadline=None)
@pytest.mark.slow
def test_column_generation_keeps_the_knowledge(case) -> None:
    data, knowledge = case
    score = make_score("bic", data)
    found = learn_cg_dca(score, rng=np.random.default_rng(0), knowledge=knowledge)
    assert keeps(found.dag, knowledge)
    assert math.isclose(found.score, total_score(score, found.dag), rel_tol=1e-9)


@pytest.mark.parametrize("name", ["ges", "xges0", "xges", "ils", "boss", "hc", "bootstrap"])
@given(knowledge_cases())
@settings(max_examples=CASES // 5, deadline=None)
def test_greedy_learners_keep_the_knowledge(name: str, case) -> None:
    data, knowledge = case
    assert "knowledge" in LEARNERS.find(name).uses
    more = {"replicates": 3} if name == "bootstrap" else {}
    chosen = LearnerSettings(learner=name, knowledge=knowledge.text, seconds=0.2, **more)
    found = learn(data, chosen, np.random.default_rng(0))
    assert all(keeps(dag, knowledge) for dag in found.dags)


def test_a_constant_column_may_be_required() -> None:
    """Parent sets leave constant columns out; a required edge brings one back."""
    data = Dataset(Schema.categorical({"a": "0", "b": "01", "c": "01"}), [[0, 0, 0], [0, 1, 1]] * 9)
    knowledge = Knowledge((("a", "b"), ("c", "a")))
    for label in ("bic", "bdeu"):
        found = learn_optimal(make_score(label, data), knowledge=knowledge)
        assert keeps(found.dag, knowledge)
    sets = credible_structures(data, "bic", knowledge=knowledge)
    assert all(keeps(dag, knowledge) for dag in sets.dags)
    columns = learn_cg_dca(
        make_score("bic", data), rng=np.random.default_rng(0), knowledge=Knowledge((("a", "b"),))
    )
    assert columns.dag == DAG.from_edges("abc", columns.dag.edges)
    assert ("a", "b") in columns.dag.edges
