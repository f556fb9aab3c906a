"""Hill climbing: every step by the book, tabu, restarts, knowledge."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG, find_cycle
from fedbn.scores import make_score, total_score
from fedbn.search.hill_climbing import hill_climbing
from fedbn.search.knowledge import Knowledge
from fedbn.search.rules import SearchRules
from tests.search.test_class_search import NAMES, sample


def neighbours(dag: DAG) -> list[tuple[tuple[int, int, int], DAG]]:
    """All DAGs one move away, with their place (kind, y, x) in the order of ties."""
    found = []
    for x, y in np.argwhere(~np.eye(dag.n, dtype=bool)).tolist():
        for present in (False, True):
            matrix = dag.adjacency.copy()
            if present == dag.adjacency[x, y] or (not present and dag.adjacency[y, x]):
                continue
            kind = 1 if not present else (2 if dag.adjacency[y, x] else 0)
            place = (kind, x, y) if kind == 2 else (kind, y, x)
            matrix[x, y], matrix[y, x] = present, False
            if find_cycle(matrix) is None:
                found.append((place, DAG(dag.names, matrix)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_plain_climbing_takes_best_steps_to_a_local_optimum(seed: int) -> None:
    score = make_score("bdeu", sample("categorical", seed))
    value = total_score(score, DAG.empty(NAMES))
    dag = DAG.empty(NAMES)
    while True:
        tolerance = 1e-9 * (1 + abs(value))
        scored = [(place, total_score(score, other), other) for place, other in neighbours(dag)]
        best = max(total for _, total, _ in scored)
        if best <= value + tolerance:
            break
        tied = [entry for entry in scored if entry[1] >= best - tolerance]
        _, value, dag = min(tied, key=lambda entry: entry[0])
    found = hill_climbing(score)
    assert found.dag == dag
    assert found.score == pytest.approx(value, rel=1e-9)
    assert found.score == pytest.approx(total_score(score, found.dag), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_tabu_and_restarts_never_lose(seed: int) -> None:
    score = make_score("gaussian-bic", sample("gaussian", seed, density=0.7))
    plain = hill_climbing(score)
    assert hill_climbing(score, tabu=10).score >= plain.score - 1e-9
    shaken = hill_climbing(score, SearchRules(rng=np.random.default_rng(seed)), restarts=5)
    assert shaken.score >= plain.score - 1e-9
    again = hill_climbing(score, SearchRules(rng=np.random.default_rng(seed)), restarts=5)
    assert shaken == again


@pytest.mark.parametrize("seed", range(5))
def test_knowledge_and_limits(seed: int) -> None:
    score = make_score("gaussian-bic", sample("gaussian", seed, density=0.7))
    known = Knowledge(required=(("v5", "v0"),), tiers=(("v5", "v4"), ("v3", "v2", "v1", "v0")))
    rng = np.random.default_rng(seed)
    rules = SearchRules(knowledge=known, max_parents=2, rng=rng)
    found = hill_climbing(score, rules, tabu=5, restarts=3, perturbation=4)
    assert not (found.dag.adjacency & known.forbidden_matrix(NAMES)).any()
    assert (found.dag.adjacency >= known.required_matrix(NAMES)).all()
    assert max(map(len, found.dag.parent_sets())) <= 2


def test_settings_out_of_range() -> None:
    score = make_score("bdeu", sample("categorical", 0))
    with pytest.raises(ConfigError, match="need an rng"):
        hill_climbing(score, restarts=2)
    with pytest.raises(ConfigError, match="tabu must be at least 0, not -1"):
        hill_climbing(score, tabu=-1)
    with pytest.raises(ConfigError, match="no max_t, got 3"):
        hill_climbing(score, SearchRules(max_t=3))
    assert hill_climbing(score, SearchRules(seconds=1e-9)).status == "time limit"
