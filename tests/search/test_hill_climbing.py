"""Hill climbing: every step is that of a naive twin; tabu, restarts, knowledge."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.errors import ConfigError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.limits import Limit
from fedbn.scores import make_score
from fedbn.search.constraints import SearchRules
from fedbn.search.hill_climbing import hill_climbing
from tests.naive_hill import NaiveClimb
from tests.search.test_class_search import NAMES, sample

KNOWLEDGE = (
    None,
    Knowledge(required=(("v5", "v0"),), tiers=(("v5", "v4"), ("v3", "v2", "v1", "v0"))),
    Knowledge(forbidden=(("v0", "v1"), ("v1", "v0"), ("v2", "v3"))),
)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["categorical", "gaussian"]),
    tabu=st.integers(0, 6),
    patience=st.integers(0, 8),
    max_parents=st.sampled_from([None, 1, 2]),
    knowledge=st.sampled_from(KNOWLEDGE),
)
def test_every_step_is_that_of_the_naive_twin(
    seed: int, kind: str, tabu: int, patience: int, max_parents: int | None, knowledge
) -> None:
    name = "bdeu" if kind == "categorical" else "gaussian-bic"
    score = make_score(name, sample(kind, seed, density=0.7))
    rules = SearchRules(max_parents=max_parents, knowledge=knowledge)
    found = hill_climbing(score, rules, tabu=tabu, patience=patience)
    begun = rules.known.with_required(DAG.empty(NAMES))
    twin = NaiveClimb(score, begun, rules, tabu, patience if tabu else 0)
    assert found.dag == twin.climb()
    assert found.counters["steps"] == twin.steps
    assert (Limit.PARENTS in found.met) == twin.parents_met
    assert found.score == pytest.approx(twin.best_total, rel=1e-9)


@pytest.mark.parametrize(
    ("kind", "seed"), [("categorical", 549), ("categorical", 731), ("gaussian", 203)]
)
def test_the_reverse_of_a_removed_edge_is_looked_at(kind: str, seed: int) -> None:
    """Where the reverse of an edge just removed is the best move, though its row is old."""
    score = make_score(
        "bdeu" if kind == "categorical" else "gaussian-bic", sample(kind, seed, density=0.8)
    )
    found = hill_climbing(score, tabu=3, patience=10)
    twin = NaiveClimb(score, DAG.empty(NAMES), SearchRules(), 3, 10)
    assert found.dag == twin.climb()
    assert found.counters["steps"] == twin.steps


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
