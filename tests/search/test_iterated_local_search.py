"""Iterated local search: a naive twin, limits, knowledge, randomness."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.graphs.bits import unpack
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.limits import Limit
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score, total_score
from fedbn.search.boss import boss
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from fedbn.search.iterated_local_search import (
    KickRules,
    begin_kicks,
    first_structure,
    iterated_local_search,
)
from fedbn.search.xges import xges0
from tests.naive_hill import REVERSE, NaiveKicks, adjacent_dags
from tests.search.test_class_search import NAMES, sample
from tests.search.test_hill_climbing import KNOWLEDGE


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(["categorical", "gaussian"]),
    kicks=st.builds(
        KickRules, st.integers(0, 30), st.integers(0, 9), st.integers(0, 5), st.integers(1, 3)
    ),
    max_parents=st.sampled_from([None, 1, 2]),
    knowledge=st.sampled_from(KNOWLEDGE),
)
def test_it_ends_where_the_naive_twin_ends(
    seed: int, kind: str, kicks: KickRules, max_parents: int | None, knowledge
) -> None:
    name = "bdeu" if kind == "categorical" else "gaussian-bic"
    score = make_score(name, sample(kind, seed, density=0.7))
    rules = SearchRules(max_parents=max_parents, knowledge=knowledge)
    found = iterated_local_search(score, rules, rng=np.random.default_rng(seed), kicks=kicks)
    rng = np.random.default_rng(seed)
    word = int(rng.integers(1 << 63))
    begun = first_structure(score, rules, rng)
    twin = NaiveKicks(score, begun.dag, rules, kicks, word)
    best = twin.run()
    assert found.counters["kicks"] == twin.count
    assert found.score == pytest.approx(twin.best_total, rel=1e-9)
    assert found.cpdag == dag_to_cpdag(best)
    assert (Limit.PARENTS in found.met) == (Limit.PARENTS in begun.met or twin.parents_met)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_never_below_xges0_and_repeats(seed: int) -> None:
    score = make_score("bdeu", sample("categorical", seed, density=0.9))
    first, again = (iterated_local_search(score, rng=np.random.default_rng(seed)) for _ in range(2))
    assert first == again
    assert first.score >= xges0(score).score
    assert first.score == pytest.approx(total_score(score, first.dag), rel=1e-12)
    assert first.dag == ges(score, SearchRules(start=first.dag)).dag


def test_the_first_structure_is_the_best_of_all_that_were_tried() -> None:
    """On dense tables of few nodes kicks lead farther than BOSS from the order of XGES-0."""
    farther = 0
    for seed in range(4):
        table = load_network(f"random-gaussian:12:40:{seed}").sample(
            500, np.random.default_rng(seed)
        )
        score = make_score("gaussian-bic", table)
        begun = xges0(score)
        moved = boss(score, SearchRules(start=begun.dag))
        found = first_structure(score, SearchRules(), np.random.default_rng(seed))
        tried = [begun.score, moved.score]
        if moved.score > begun.score + 1e-6:
            rng = np.random.default_rng(seed)
            tried.append(boss(score, SearchRules(start=moved.dag), rng=rng).score)
        assert found.score == pytest.approx(max(tried), rel=1e-12)
        farther += max(tried) > max(tried[:2]) + 1e-6
    assert farther > 0


def test_a_kick_finds_what_xges0_misses() -> None:
    better = 0
    for seed in range(20):
        score = make_score("gaussian-bic", sample("gaussian", seed, density=0.9))
        found = iterated_local_search(score, rng=np.random.default_rng(seed))
        better += found.score > xges0(score).score + 1e-6
    assert better > 0


@pytest.mark.parametrize("knowledge", KNOWLEDGE[1:])
def test_knowledge_and_limits(knowledge) -> None:
    score = make_score("gaussian-bic", sample("gaussian", 1, density=0.7))
    rules = SearchRules(knowledge=knowledge, max_parents=2)
    found = iterated_local_search(score, rules, rng=np.random.default_rng(1))
    assert not (found.dag.adjacency & knowledge.forbidden_matrix(NAMES)).any()
    assert (found.dag.adjacency >= knowledge.required_matrix(NAMES)).all()
    assert max(map(len, found.dag.parent_sets())) <= 2


def test_time_and_numbers_out_of_range() -> None:
    score = make_score("bdeu", sample("categorical", 0))
    rules = SearchRules(seconds=1e-9)
    assert iterated_local_search(score, rules, rng=np.random.default_rng(0)).status == "time limit"
    with pytest.raises(ConfigError, match="reversals must be at least 0, not -1"):
        KickRules(reversals=-1)
    with pytest.raises(ConfigError, match="strongest must be at least 1, not 0"):
        KickRules(strongest=0)


def test_rounding_is_no_better_dag() -> None:
    """With three rows and scales far apart, what kicks add up in rounding must not pass for a
    better DAG again and again."""
    rng = np.random.default_rng([29, 307])
    n = int(rng.integers(8, 14))
    values = rng.normal(size=(3, n)) * 10.0 ** rng.integers(-6, 7, n)
    score = make_score("bge", Dataset(Schema.gaussian(f"v{i:02d}" for i in range(n)), values))
    assert begin_kicks(score, SearchRules(), xges0(score).dag, KickRules(), seed=0).iterate(5000)


@pytest.mark.parametrize("max_parents", [None, 2])
def test_no_permitted_move_gains_more_than_the_bound_of_its_row(max_parents: int | None) -> None:
    """Rows are passed over by their bounds, so these must hold after every kick."""
    moves = 0
    for seed in range(4):
        score = make_score("bdeu", sample("categorical", seed, density=0.9))
        rules = SearchRules(max_parents=max_parents, knowledge=KNOWLEDGE[seed % len(KNOWLEDGE)])
        kicks = begin_kicks(score, rules, xges0(score, rules).dag, KickRules(), seed)
        for _ in range(15):
            kicks.iterate(1)
            changes, bounds = kicks.hill.changes(), kicks.hill.bounds()
            dag = DAG(score.names, unpack(kicks.hill.parents(), score.n).T)
            candidates = unpack(kicks.hill.candidates(), score.n)
            for (kind, y, x), _ in adjacent_dags(dag, rules, candidates):
                gain = changes[y, x] + (changes[x, y] if kind == REVERSE else 0)
                assert gain <= bounds[y]
                moves += np.isfinite(bounds[y])
    assert moves > 100
