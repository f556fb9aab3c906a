"""BOSS: a naive twin, limits, knowledge, memory, randomness."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn._core import search
from fedbn.errors import ArgumentError, ConfigError
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.limits import Limit
from fedbn.scores import make_score, total_score
from fedbn.search.boss import boss
from fedbn.search.class_search import ClassSearch
from fedbn.search.constraints import SearchRules
from tests.naive_boss import NaiveBoss, naive_kicks
from tests.search.test_class_search import NAMES, sample
from tests.search.test_core_search import knowledge as no_knowledge
from tests.search.test_hill_climbing import KNOWLEDGE

UNLIMITED = {"max_parents": None, "memory": 1 << 29, "candidates": None}


def started(score, order, rules=None, **limits) -> search.Boss:
    known = (rules or SearchRules()).known.bits(score.names)
    return search.Boss(score.core, order, **known, **UNLIMITED | limits)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    score=st.sampled_from(["bdeu", "bic", "gaussian-bic", "bge"]),
    max_parents=st.sampled_from([None, 1, 2]),
    candidates=st.sampled_from([None, 1, 3]),
    knowledge=st.sampled_from(KNOWLEDGE),
    memory=st.sampled_from([0, 2000, 1 << 29]),
)
def test_it_ends_at_the_order_of_the_naive_twin(
    seed: int, score: str, max_parents: int | None, candidates: int | None, knowledge, memory: int
) -> None:
    kind = "categorical" if score in ("bdeu", "bic") else "gaussian"
    made = make_score(score, sample(kind, seed, density=0.7))
    rules = SearchRules(max_parents=max_parents, knowledge=knowledge)
    drawn = np.random.default_rng(seed).permutation(made.n).tolist()
    first = [v for v in drawn if not rules.known.required_matrix(NAMES)[:, v].any()]
    first += [v for v in drawn if v not in first]
    twin = NaiveBoss(made, first, rules, candidates)
    if not twin.keeps_required(first):
        return
    found = started(
        made, first, rules, max_parents=max_parents, candidates=candidates, memory=memory
    )
    assert found.improve(None)
    dag = twin.run()
    assert DAG(NAMES, unpack(found.parents(), made.n).T) == dag
    assert (found.moves, found.order.tolist()) == (twin.moves, twin.order)
    assert found.met_max_parents == twin.parents_met
    assert found.met_candidates == (candidates is not None)
    assert (found.emptied > 0) == (memory == 0) or memory == 2000


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    score=st.sampled_from(["bdeu", "gaussian-bic"]),
    max_parents=st.sampled_from([None, 2]),
    candidates=st.sampled_from([None, 2]),
    knowledge=st.sampled_from(KNOWLEDGE),
    kicks=st.integers(0, 5),
)
def test_kicked_it_ends_at_the_dag_of_the_naive_twin(
    seed: int, score: str, max_parents: int | None, candidates: int | None, knowledge, kicks: int
) -> None:
    kind = "categorical" if score == "bdeu" else "gaussian"
    made = make_score(score, sample(kind, seed, density=0.9))
    rules = SearchRules(max_parents=max_parents, knowledge=knowledge)
    rng = np.random.default_rng(seed)
    found = boss(made, rules, rng=rng, candidates=candidates, kicks=kicks)
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(made.n).tolist()
    first = NaiveBoss(made, drawn, rules).with_required_first(drawn)
    twin, number = naive_kicks(made, first, rules, candidates, kicks, rng)
    end = ClassSearch(made, replace(rules, start=twin.dag()))
    end.climb(("delete",))
    assert found.dag == end.result().dag
    assert found.counters["kicks"] == number


def test_kicks_lead_to_higher_scores() -> None:
    higher = 0
    for seed in range(4):
        score = make_score("gaussian-bic", sample("gaussian", seed, density=0.9))
        published, kicked = (
            boss(score, rng=np.random.default_rng(seed), kicks=kicks).score for kicks in (0, 40)
        )
        assert kicked >= published - 1e-6
        higher += kicked > published + 1
    assert higher > 0


@pytest.mark.parametrize("memory", [0, 1 << 29])
def test_from_another_order_it_ends_as_a_new_search_does(memory: int) -> None:
    for seed in range(6):
        score = make_score("gaussian-bic", sample("gaussian", seed, density=0.9))
        rng = np.random.default_rng(seed)
        one, other = (rng.permutation(score.n).tolist() for _ in range(2))
        new = started(score, other, memory=memory)
        assert new.improve(None)
        for budget in (None, 3):
            found = started(score, one, memory=memory)
            found.improve(budget)
            found.go_to(other)
            assert found.improve(None)
            assert (found.total, found.order.tolist()) == (new.total, new.order.tolist())
            assert np.array_equal(found.parents(), new.parents())


@pytest.mark.parametrize("kind", ["categorical", "gaussian"])
def test_no_delete_gains_from_where_it_ends_and_it_repeats(kind: str) -> None:
    for seed in range(5):
        score = make_score(
            "bdeu" if kind == "categorical" else "gaussian-bic", sample(kind, seed, density=0.9)
        )
        first, again = (boss(score, rng=np.random.default_rng(seed)) for _ in range(2))
        assert first == again
        assert first.met == frozenset()
        assert first.score == pytest.approx(total_score(score, first.dag), rel=1e-12)
        assert first.cpdag == dag_to_cpdag(first.dag)
        order = np.random.default_rng(seed).permutation(score.n).tolist()
        twin = NaiveBoss(score, order, SearchRules())
        assert first.score >= total_score(score, twin.run()) - 1e-6


def test_pauses_change_nothing() -> None:
    score = make_score("bdeu", sample("categorical", 3, density=0.9))
    at_once, in_parts = (started(score, list(range(score.n))) for _ in range(2))
    assert at_once.improve(None)
    while not in_parts.improve(1):
        pass
    assert in_parts.order.tolist() == at_once.order.tolist()
    assert np.array_equal(in_parts.parents(), at_once.parents())


def test_a_start_is_where_it_begins() -> None:
    score = make_score("gaussian-bic", sample("gaussian", 2, density=0.9))
    found = boss(score, rng=np.random.default_rng(0))
    again = boss(score, SearchRules(start=found.dag), rng=np.random.default_rng(1))
    assert again.score >= found.score - 1e-6


@pytest.mark.parametrize("given", KNOWLEDGE[1:])
def test_knowledge_and_limits(given) -> None:
    score = make_score("gaussian-bic", sample("gaussian", 1, density=0.7))
    rules = SearchRules(knowledge=given, max_parents=2)
    for seconds in (None, 1e-9):
        limited = SearchRules(knowledge=given, max_parents=2, seconds=seconds)
        found = boss(score, limited, rng=np.random.default_rng(1))
        assert (Limit.TIME in found.met) == (seconds is not None)
        assert not (found.dag.adjacency & given.forbidden_matrix(NAMES)).any()
        assert (found.dag.adjacency >= given.required_matrix(NAMES)).all()
        assert max(map(len, found.dag.parent_sets())) <= 2
    few = boss(score, rules, rng=np.random.default_rng(1), candidates=1)
    assert Limit.SETS in few.met


def test_kicks_end_when_time_is_up() -> None:
    score = make_score("gaussian-bic", sample("gaussian", 1, density=0.9))
    published, kicked = (
        boss(score, SearchRules(seconds=0.2), rng=np.random.default_rng(1), kicks=kicks)
        for kicks in (0, 1 << 40)
    )
    assert (published.met, kicked.met) == (frozenset(), {Limit.TIME})
    assert kicked.counters["kicks"] > 0
    assert kicked.score >= published.score - 1e-6


def test_settings_out_of_range_are_errors() -> None:
    score = make_score("bdeu", sample("categorical", 0))
    rng = np.random.default_rng(0)
    for rules, more, words in (
        (SearchRules(max_t=1), {}, "no max_t"),
        (SearchRules(), {"memory_mb": 0.5}, "at least 1 MB"),
        (SearchRules(), {"candidates": 0}, "at least 1, not 0"),
        (SearchRules(), {"kicks": -1}, "at least 0, not -1"),
        (SearchRules(), {"rng": None}, "needs a start or an rng"),
    ):
        with pytest.raises(ConfigError, match=words):
            boss(score, rules, **{"rng": rng} | more)


def test_the_border() -> None:
    score = make_score("bdeu", sample("categorical", 0))
    for order in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 4], [0, 1, 2, 3, 4, 6], [-1, 1, 2, 3, 4, 5]):
        with pytest.raises(ArgumentError, match="an order must have every variable"):
            search.Boss(score.core, order, **no_knowledge(6), **UNLIMITED)
        with pytest.raises(ArgumentError, match="an order must have every variable"):
            started(score, list(range(6))).go_to(order)
    required = no_knowledge(6)
    required["required"][0, 0] = 1 << 5
    with pytest.raises(ArgumentError, match="required parents first"):
        search.Boss(score.core, list(range(6)), **required, **UNLIMITED)
    with pytest.raises(ArgumentError, match="required parents first"):
        search.Boss(score.core, [5, *range(5)], **required, **UNLIMITED).go_to(list(range(6)))
    with pytest.raises(ArgumentError, match="at least 0"):
        started(score, list(range(6)), memory=-1)
