"""Row weights: every row counted k times, without copies. The twin repeats the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.credible.client import credible_structures
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.errors import ConfigError, DataError
from fedbn.graphs.bits import unpack
from fedbn.scores import SCORES, TabulatedScore, make_score
from fedbn.search.cg_dca import learn_cg_dca
from fedbn.search.families.parent_sets import parent_sets
from fedbn.search.ges import ges
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.optimal import learn_optimal
from fedbn.search.xges import xges
from tests import naive_search as naive
from tests.scores.test_scores import FAMILIES, categorical, gaussian, one_by_one

CATEGORICAL = [name for name in SCORES if SCORES[name].kind == "categorical"]


def repeated(data: Dataset, times: int) -> Dataset:
    """The slow twin: every row `times` times."""
    return data.take(np.repeat(np.arange(data.n_rows), times))


def table(name: str, rows: int, seed: int) -> Dataset:
    wanted = SCORES[name].kind
    return categorical(rows, [2, 3, 4, 5], seed) if wanted == "categorical" else gaussian(rows, 4)


@pytest.mark.parametrize("name", list(SCORES))
@pytest.mark.parametrize("times", [2, 3, 7])
@pytest.mark.parametrize("rows", [5, 64, 700])
def test_whole_weights_equal_repeated_rows(name: str, times: int, rows: int) -> None:
    data = table(name, rows, times)
    weighted = make_score(name, data, ess=2.5, row_weight=times)
    twin = make_score(name, repeated(data, times), ess=2.5)
    for node, parents in FAMILIES:
        expected = twin.local_score(node, parents)
        assert weighted.local_score(node, parents) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(CATEGORICAL),
    st.integers(1, 400),
    st.floats(1.0, 20.0),
    st.sampled_from([0.01, 1.0, 50.0]),
    st.integers(0, 99),
)
def test_real_weights_follow_the_formula(
    name: str, rows: int, weight: float, ess: float, seed: int
) -> None:
    data = categorical(rows, [2, 3, 4, 5], seed)
    score = make_score(name, data, ess=ess, row_weight=weight)
    penalty = math.log(weight * rows) / 2 if name == "bic" else 1.0
    for node, parents in FAMILIES:
        if name == "bdeu":
            expected = naive.weighted_bdeu(data, node, parents, ess, weight)
        else:
            expected = weight * naive.penalised(data, node, parents, penalty / weight)
        assert score.local_score(node, parents) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(1, 300), st.floats(1.0, 9.0), st.integers(0, 99))
def test_batched_counting_knows_the_weight(rows: int, weight: float, seed: int) -> None:
    data = categorical(rows, [3, 2, 4, 3], seed)
    batched = make_score("bdeu", data, row_weight=weight).core.local_with(1, [0], [2, 3])
    alone = make_score("bdeu", data, row_weight=weight)
    assert batched.tolist() == one_by_one(alone, 1, [0], [2, 3])


def _optimal(score: TabulatedScore) -> object:
    return learn_optimal(score, rng=np.random.default_rng(0)).dag


SEARCHES: dict[str, Callable[[TabulatedScore], object]] = {
    "ges": lambda score: ges(score).dag,
    "xges": lambda score: xges(score).dag,
    "hc": lambda score: hill_climbing(score).dag,
    "optimal": _optimal,
}


@pytest.mark.parametrize("search", list(SEARCHES))
@pytest.mark.parametrize("name", list(SCORES))
def test_structures_equal_those_of_repeated_rows(search: str, name: str) -> None:
    found = SEARCHES[search]
    for times in (1, 2, 5):
        data = table(name, 60, times)
        weighted = found(make_score(name, data, row_weight=times))
        assert weighted == found(make_score(name, repeated(data, times)))


@pytest.mark.parametrize("name", list(SCORES))
def test_candidate_families_equal_those_of_repeated_rows(name: str) -> None:
    data = table(name, 60, 4)
    weighted = parent_sets(make_score(name, data, row_weight=3), slack=2.0).families
    twin = parent_sets(make_score(name, repeated(data, 3)), slack=2.0).families
    assert np.array_equal(weighted.node, twin.node)
    assert np.array_equal(weighted.bits, twin.bits)
    assert weighted.cost == pytest.approx(twin.cost, rel=1e-9)


def test_credible_sets_equal_those_of_repeated_rows() -> None:
    data = table("bdeu", 60, 4)
    rng = np.random.default_rng(0)
    weighted = credible_structures(data, "bdeu", row_weight=2.0, rng=rng)
    twin = credible_structures(repeated(data, 2), "bdeu", rng=rng)
    assert weighted.dags == twin.dags
    assert weighted.weights == pytest.approx(twin.weights, rel=1e-9)


@pytest.mark.parametrize("name", ["bic", "gaussian-bic"])
def test_cg_dca_equals_that_of_repeated_rows(name: str) -> None:
    data = table(name, 60, 2)
    weighted = learn_cg_dca(make_score(name, data, row_weight=3), rng=np.random.default_rng(0))
    twin = learn_cg_dca(make_score(name, repeated(data, 3)), rng=np.random.default_rng(0))
    assert weighted.dag == twin.dag
    assert weighted.score == pytest.approx(twin.score, rel=1e-9)


def test_a_weight_admits_weaker_edges() -> None:
    data = categorical(60, [3, 3, 3, 3, 3], 3)
    edges = [ges(make_score("bdeu", data, row_weight=k)).dag.n_edges for k in (1.0, 1.5, 6.0)]
    assert edges == sorted(edges)
    assert edges[0] < edges[-1]


@pytest.mark.parametrize("weight", [0.5, 0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", list(SCORES))
def test_wrong_weights(name: str, weight: float) -> None:
    with pytest.raises(ConfigError, match="row-weight must be at least 1 and finite"):
        make_score(name, table(name, 30, 0), row_weight=weight)


def test_the_label_tells_the_weight() -> None:
    data = categorical(30, [2, 2])
    assert make_score("bdeu", data, row_weight=2.5).label == "bdeu, ess 1, row weight 2.5"
    assert make_score("aic", data).label == "aic"


@pytest.mark.parametrize("name", ["gaussian-bic", "gaussian-aic", "bge", "mixed-bic"])
def test_a_table_that_counts_for_fewer_rows(name: str) -> None:
    """Rows that stand twice and count half, filled cells being no evidence, count once."""
    rng = np.random.default_rng(5)
    schema = Schema((Variable("a"), Variable("b"), Variable("c")))
    rows = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 3))
    once = make_score(name, Dataset(schema, rows))
    half = Dataset(schema, np.concatenate([rows, rows]), None, 0.5)
    twice = make_score(name, half.take(range(60)))
    assert twice.n_rows == once.n_rows
    assert twice.label == once.label
    for node, parents in [(0, []), (1, [0]), (2, [0, 1])]:
        expected = once.local_score(node, parents)
        assert twice.local_score(node, parents) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weight", [0.0, 1.5, -1.0, float("nan")])
def test_wrong_weights_of_a_table(weight: float) -> None:
    with pytest.raises(DataError, match="row weight of a data set must be above 0"):
        Dataset(Schema((Variable("a"),)), [[1.0], [2.0]], None, weight)
    with pytest.raises(DataError, match=f"at most 1, not {weight}"):
        Dataset(Schema.categorical({"a": "01"}), [[0], [1]], None, weight)


@pytest.mark.parametrize("name", CATEGORICAL)
def test_categories_that_count_for_fewer_rows(name: str) -> None:
    data = categorical(40, [2, 3, 4, 5], 7)
    half = Dataset(data.schema, repeated(data, 2).table, None, 0.5)
    once, twice = make_score(name, data), make_score(name, half)
    assert twice.label == once.label
    for node, parents in FAMILIES:
        expected = once.local_score(node, parents)
        assert twice.local_score(node, parents) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(CATEGORICAL),
    st.integers(1, 12),
    st.floats(0.02, 1.0),
    st.sampled_from([0.1, 1.0, 20.0]),
    st.integers(0, 99),
)
def test_no_family_is_lost_where_a_row_counts_for_less_than_one(
    name: str, rows: int, weight: float, ess: float, seed: int
) -> None:
    """The bound of BDeu is of counts of at least 1; the twin compares all families."""
    data = categorical(rows, [2, 3, 2, 4], seed)
    score = make_score(name, Dataset(data.schema, data.table, None, weight), ess=ess)
    families = parent_sets(score, slack=0.1).families
    parents_of = unpack(families.bits, 4)
    for node in range(4):
        found = {tuple(np.flatnonzero(row).tolist()) for row in parents_of[families.node == node]}
        costs = {
            parents: -score.local_score(node, parents)
            for size in range(4)
            for parents in combinations([v for v in range(4) if v != node], size)
        }
        kept = {
            parents
            for parents, cost in costs.items()
            if not any(c + 0.1 < cost - 1e-6 for p, c in costs.items() if {*p} < {*parents})
        }
        assert kept <= found
