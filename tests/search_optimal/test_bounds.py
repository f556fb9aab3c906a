"""Bounds are never wrong: every method against all DAGs, and against the twin's optimum."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedbn.networks.random import node_names
from fedbn.scores import TabulatedScore, total_score
from fedbn.scores.gaussian import gaussian_from_covariance
from fedbn.search.optimal import OptimalResult, learn_optimal, parts
from tests.naive_optimal import best_over_all_sets
from tests.search_optimal.instances import best_of_all, random_score

SCORES = ("bic", "aic", "bdeu", "gaussian-bic", "gaussian-aic", "bge")
GOLDEN = Path(__file__).parents[1] / "golden" / "gaussian_optima.json"


def methods(name: str) -> list[str]:
    """All methods that take a score."""
    exact = ["auto", "subsets", "clusters", "branch-and-cut", "ordering"]
    return [*exact, "columns"] if name in ("gaussian-bic", "gaussian-aic") else exact


def check(score: TabulatedScore, method: str, result: OptimalResult, best: float) -> None:
    """What must hold whatever the method."""
    assert total_score(score, result.dag) == pytest.approx(result.score, abs=1e-7)
    assert result.score <= best + 1e-6
    assert result.upper_bound >= best - 1e-6
    assert result.gap == pytest.approx(result.upper_bound - result.score, abs=1e-9)
    if result.status == "optimal":
        assert result.score == pytest.approx(best, abs=1e-6)
    else:
        assert method in ("ordering", "clusters")
        expected = "heuristic" if method == "ordering" else "feasible with bound"
        assert result.status == expected


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.slow
def test_every_method_against_all_dags(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "QUICK_NODES", 2)
    rng = np.random.default_rng(SCORES.index(name))
    for case in range(60):
        score = random_score(name, rng, 2 + case % 4)
        best = best_of_all(score)
        for method in methods(name):
            check(score, method, learn_optimal(score, method, rng=rng), best)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.slow
def test_every_method_against_dynamic_programming(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "QUICK_NODES", 2)
    rng = np.random.default_rng(100 + SCORES.index(name))
    for n in {"bic": (8, 12), "gaussian-bic": (8, 10)}.get(name, (6, 7)):
        score = random_score(name, rng, n)
        best = best_over_all_sets(score)
        for method in methods(name):
            check(score, method, learn_optimal(score, method, rng=rng), best)


@pytest.mark.parametrize("case", range(3))
def test_known_optima(case: int) -> None:
    entry = json.loads(GOLDEN.read_text(encoding="utf-8"))["instances"][case]
    lower = np.zeros((15, 15))
    for i, row in enumerate(entry["covariance"]):
        lower[i, : i + 1] = row
    covariance = lower + np.tril(lower, -1).T
    score = gaussian_from_covariance(node_names(15), covariance, entry["rows"])
    for method in ("auto", "columns") if case == 0 else ("auto", "subsets"):
        result = learn_optimal(score, method)
        assert result.status == "optimal"
        assert result.score == pytest.approx(entry["optimum"], rel=1e-6)
        assert result.dag.n_edges == len(entry["edges"])
