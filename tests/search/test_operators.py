"""The operators against the definition: one edge added, deleted or reversed in some member."""

from __future__ import annotations

import os
from functools import cache

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import PDAG, consistent_extension, dag_to_cpdag
from fedbn.graphs.random import random_dag
from fedbn.scores import make_score, total_score
from tests.naive import all_dags
from tests.naive_search import class_of, one_edge_away, operators_on_record, valid_operators

KINDS = ("insert", "delete", "turn")
# How many random classes of five and of six nodes: FEDBN_OPERATOR_CASES=500 for a long run.
CASES = os.environ.get("FEDBN_OPERATOR_CASES")


@cache
def gaussian_score(n: int):
    values = np.random.default_rng(n).standard_normal((40, n)) @ np.triu(np.ones((n, n)))
    return make_score("gaussian-bic", Dataset(Schema.gaussian(f"v{i}" for i in range(n)), values))


def small_cpdags() -> list[PDAG]:
    """All 1 + 2 + 11 + 185 CPDAGs with up to four nodes."""
    return list(dict.fromkeys(dag_to_cpdag(dag) for n in range(1, 5) for dag in all_dags(n)))


def random_cpdags(n: int, count: int) -> list[PDAG]:
    """Different CPDAGs of random DAGs of every density."""
    rng = np.random.default_rng(n)
    names = tuple(f"v{i}" for i in range(n))
    found: dict[PDAG, None] = {}
    while len(found) < count:
        density = rng.uniform(0.1, 0.9)
        found[dag_to_cpdag(random_dag(names, edge_probability=density, rng=rng))] = None
    return list(found)


def check(cpdag: PDAG, kind: str) -> None:
    """What the kernels see = what is valid by the theorem, and leads where the definition says."""
    score = gaussian_score(cpdag.n)
    here = total_score(score, consistent_extension(cpdag))
    on_record = operators_on_record(score, cpdag, kind)
    assert {operator for operator, _, _ in on_record} == valid_operators(cpdag, kind)
    assert {target for _, _, target in on_record} == one_edge_away(cpdag, kind)
    for operator, gain, target in on_record:
        assert operator.apply(cpdag) == target
        there = total_score(score, consistent_extension(target))
        assert gain == pytest.approx(there - here, rel=1e-9, abs=1e-9)
        assert operator.gain(score, cpdag) == pytest.approx(gain, rel=1e-9, abs=1e-9)


def test_there_are_199_small_classes() -> None:
    assert len(small_cpdags()) == 1 + 2 + 11 + 185


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.slow
def test_every_class_with_up_to_four_nodes(kind: str) -> None:
    for cpdag in small_cpdags():
        check(cpdag, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "count"), [(5, int(CASES or 60)), (6, int(CASES or 30))])
@pytest.mark.slow
def test_random_classes(kind: str, n: int, count: int) -> None:
    for cpdag in random_cpdags(n, count):
        check(cpdag, kind)


def test_classes_by_covered_reversals_are_complete() -> None:
    by_class: dict[PDAG, set[DAG]] = {}
    for dag in all_dags(4):
        by_class.setdefault(dag_to_cpdag(dag), set()).add(dag)
    for members in by_class.values():
        assert set(class_of(next(iter(members)))) == members
