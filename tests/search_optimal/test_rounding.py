"""Exact searches where rounding matters: nearly collinear columns and very many rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.graphs.pdag import consistent_extension, dag_to_cpdag
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score, total_score
from fedbn.scores.gaussian import gaussian_from_covariance, rounding
from fedbn.search.families.families import Families
from fedbn.search.families.ordering import ordering_search
from fedbn.search.optimal import learn_optimal
from tests.work import clock_that_counts


def nearly_collinear(seed: int, noise: float, rows: int, n: int = 8):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(rows, n))
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    spread = np.where(rng.random(n) < 0.5, noise, 1.0)
    spread[0] = 1.0
    for j in range(n):
        values[:, j] = values[:, :j] @ weights[:j, j] + spread[j] * values[:, j]
    schema = Schema.gaussian([f"v{j}" for j in range(n)])
    return make_score("gaussian-bic", Dataset(schema, values))


@pytest.mark.parametrize(
    ("noise", "rows", "seed"), [(2e-4, 20_000, 1), (1e-3, 20_000, 7), (1e-2, 20_000, 5)]
)
def test_no_method_finds_more_than_the_bound_of_another(noise: float, rows: int, seed: int) -> None:
    score = nearly_collinear(seed, noise, rows)
    found = [
        learn_optimal(score, method, rng=np.random.default_rng(1))
        for method in ("auto", "subsets", "clusters", "columns")
    ]
    for one in found:
        assert one.score == total_score(score, one.dag)
        assert all(one.upper_bound >= other.score for other in found)


def test_an_optimum_is_not_claimed_beyond_rounding() -> None:
    rough = nearly_collinear(1, 2e-4, 20_000)
    found = learn_optimal(rough)
    assert rounding(rough) > 1e-9 * (1.0 + abs(found.score))
    assert found.status == "feasible with bound"
    assert found.gap == rounding(rough)
    assert "nearly collinear" in found.proof


def test_column_generation_ends_where_prices_and_costs_differ_by_rounding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    score = nearly_collinear(1, 1e-3, 5_000)
    clock_that_counts(monkeypatch, "fedbn.limits", "fedbn.search.optimal.column_generation")
    found = learn_optimal(score, "columns", seconds=1000)
    assert not found.met
    assert found.score == pytest.approx(learn_optimal(score, "subsets").score, abs=1e-3)


@pytest.mark.parametrize("rows", [10**6, 10**12])
def test_ordering_search_ends_with_very_many_rows(rows: int) -> None:
    network = load_network("random-gaussian:10:20:3")
    table = network.sample(2_000, np.random.default_rng(3)).values
    score = gaussian_from_covariance(network.names, np.cov(table.T, bias=True), rows)
    others = [[j for j in range(10) if j != i] for i in range(10)]
    subsets = [[some for k in range(10) for some in combinations(rest, k)] for rest in others]
    families = Families.from_parents(
        score.names,
        [[(-score.local_score(i, some), some) for some in subsets[i]] for i in range(10)],
    )
    cost, _ = ordering_search(families, np.random.default_rng(1))
    assert cost >= -learn_optimal(score, "subsets").upper_bound


@pytest.mark.parametrize("method", ["subsets", "clusters", "branch-and-cut", "columns"])
@pytest.mark.slow
def test_the_dag_does_not_depend_on_the_method(method: str) -> None:
    for seed in range(3):
        data = load_network(f"random-gaussian:8:12:{seed}").sample(500, np.random.default_rng(2))
        score = make_score("gaussian-bic", data)
        found = learn_optimal(score, method)
        assert found.dag == learn_optimal(score).dag
        assert found.dag == consistent_extension(dag_to_cpdag(found.dag))


def test_bge_is_listed_by_levels_where_there_is_a_cap() -> None:
    score = make_score(
        "bge", load_network("random-gaussian:6:8:1").sample(200, np.random.default_rng(1))
    )
    capped = learn_optimal(score, max_parents=5)
    assert capped.score == pytest.approx(learn_optimal(score, "subsets").score, abs=1e-9)
