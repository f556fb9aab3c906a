"""Choosing by sums of products: the definition, the best of all DAGs, own and shared."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from fedbn.choice import by_counts, by_scatters
from fedbn.choice.by_counts import choice_of
from fedbn.choice.by_scatters import chosen_by_scatters, scatter_scores
from fedbn.choice.candidates import Candidate, Candidates
from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.threshold import path_states
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema, Variable
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.networks.family_counts import Family, families_of
from fedbn.scores.base import TabulatedScore
from fedbn.scores.family_scores import FIXED_POINT
from fedbn.scores.scatter import scatter_of_table
from fedbn.search.constraints import SearchRules
from fedbn.search.ges import ges
from fedbn.search.result import SearchResult
from tests import naive_mixed
from tests.naive import all_dags
from tests.naive_judged import own_mixed_units

SCHEMA = Schema((Variable("a"), Variable("b", ("x", "y", "z")), Variable("c"), Variable("d", "01")))
NAMES = SCHEMA.names


def site(seed: int, rows: int = 150, slope: float = 0.8, shift: float = 0.0) -> Dataset:
    """a → b → c ← d, with one slope of a in c that sites may have of their own."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=rows)
    b = np.digitize(a + rng.normal(size=rows), [-0.6, 0.6])
    d = rng.integers(0, 2, rows)
    c = slope * (b + d) + rng.normal(size=rows)
    return Dataset(SCHEMA, np.column_stack([a + shift, b, c - shift, d]))


def candidate(dag: DAG) -> Candidate:
    return Candidate(1.0, path_states(mcbnc_path([dag]))[0], dag)


def chosen(tables: list[Dataset], dags: list[DAG], *, climbs: bool, consensus=None, **more):
    scores = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    wanted = families_of([*dags, DAG.empty(NAMES)])
    candidates = Candidates(tuple(map(candidate, dags)), wanted)
    pairs = ~np.eye(4, dtype=np.bool_)
    rng = np.random.default_rng(0)
    found = chosen_by_scatters(
        candidates, SCHEMA, scores, pairs, rng, consensus=consensus, climbs=climbs, **more
    )
    return found, candidates, scores


def test_scores_are_those_of_the_definition() -> None:
    tables = [site(1, 90), site(2, 140, shift=9.0), site(3, 60, slope=-1.0)]
    scores = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    families = [
        Family(node, parents)
        for node in range(4)
        for size in range(4)
        for parents in combinations([v for v in range(4) if v != node], size)
    ]
    for (node, parents), found in scores.score_all(families).items():
        exact = sum(naive_mixed.within([each], node, parents) for each in tables)
        own = sum(own_mixed_units(each, node, parents) for each in tables) / FIXED_POINT
        assert found.shared == pytest.approx(naive_mixed.within(tables, node, parents), abs=1e-7)
        assert found.own == own == pytest.approx(exact, abs=len(tables) / FIXED_POINT)
        assert found.rows == 290


def test_a_climb_finds_the_best_of_all_dags() -> None:
    """Sites that are shifted, one of which has a slope of its own; begun at no edges."""
    tables = [site(seed, shift=5.0 * seed, slope=-0.8 if seed == 3 else 0.8) for seed in range(4)]
    found, _, scores = chosen(tables, [DAG.empty(NAMES)], climbs=True)
    every = [DAG(NAMES, dag.adjacency) for dag in all_dags(4)]
    known = scores.score_all(families_of(every))
    best = max(math.fsum(known[each].score for each in families_of([dag])) for dag in every)
    assert found.value == pytest.approx(best, abs=1e-6)
    begun = math.fsum(known[each].score for each in families_of([found.candidate.dag]))
    assert found.value > begun + 10


def test_counts_stay_among_the_families_of_the_structures() -> None:
    tables = [site(seed) for seed in range(3)]
    dags = [DAG.from_edges(NAMES, ["ab"]), DAG.from_edges(NAMES, ["bc"])]
    found, candidates, _ = chosen(tables, dags, climbs=False)
    assert set(found.known) == set(candidates.families)
    assert found.dag == DAG.from_edges(NAMES, ["ab", "bc"])


def test_own_and_shared_mechanisms_are_told_apart() -> None:
    tables = [site(seed, 400, slope=(-1.5 if seed % 2 else 1.5)) for seed in range(4)]
    truth = DAG.from_edges(NAMES, ["ab", "bc", "dc"])
    found, candidates, _ = chosen(tables, [truth], climbs=False)
    choice = choice_of(found, candidates, {("n", "s"): 2})
    shared = {each.variable: each.shared for each in choice.mechanisms}
    assert choice.dag == truth
    assert choice.counts is None
    assert shared == {"a": True, "b": True, "c": False, "d": True}


def test_knowledge_is_kept() -> None:
    tables = [site(seed) for seed in range(3)]
    known = Knowledge(forbidden=(("b", "c"), ("c", "b")))
    found, _, _ = chosen(tables, [DAG.empty(NAMES)], climbs=True, knowledge=known)
    assert found.dag.n_edges >= 2
    assert not known.breaches(found.dag)


def test_families_that_a_site_cannot_fit_have_the_shared_score() -> None:
    """At one site c is a copy of a: given a it is refused there, not over all."""
    copy = site(1)
    values = np.array(copy.table)
    values[:, 2] = values[:, 0]
    tables = [Dataset(SCHEMA, values), site(2), site(3)]
    scores = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    (found,) = scores.score_all([Family(2, (0,))]).values()
    assert math.isfinite(found.shared)
    assert found.own == found.shared


def test_where_every_candidate_is_refused_nothing_is_chosen() -> None:
    copy = np.array(site(1).table)
    copy[:, 2] = copy[:, 0]
    found, _, _ = chosen([Dataset(SCHEMA, copy)], [DAG.from_edges(NAMES, ["ac"])], climbs=True)
    assert found is None


@pytest.mark.parametrize("seconds", [None, 0.0])
@pytest.mark.parametrize("climbs", [False, True])
def test_a_refused_family_of_the_consensus_stays(climbs: bool, seconds: float | None) -> None:
    """c is a copy of a, so c given a has no score; the empty graph has one, and must not win."""
    tables = [Dataset(SCHEMA, site(seed).table[:, [0, 1, 0, 3]]) for seed in range(3)]
    consensus = DAG.from_edges(NAMES, ["ab", "ac"])
    found, _, _ = chosen(
        tables,
        [consensus, DAG.empty(NAMES)],
        climbs=climbs,
        consensus=consensus,
        seconds=seconds,
    )
    assert found is not None
    assert set(found.dag.edges) >= {("a", "b"), ("a", "c")}
    assert found.uncounted == (Family(2, (0,)),)


def test_a_family_of_the_consensus_that_the_limits_left_out_stays() -> None:
    tables = [site(seed) for seed in range(3)]
    scores = scatter_scores(SCHEMA, [scatter_of_table(each) for each in tables])
    consensus = DAG.from_edges(NAMES, ["ab", "ac"])
    found = chosen_by_scatters(
        Candidates(
            (candidate(consensus),),
            families_of([DAG.from_edges(NAMES, ["ab"]), DAG.empty(NAMES)]),
            left_out=(Family(2, (0,)),),
            uncounted=(Family(2, (0,)),),
        ),
        SCHEMA,
        scores,
        ~np.eye(4, dtype=np.bool_),
        np.random.default_rng(0),
        consensus=consensus,
        climbs=False,
    )
    assert found is not None
    assert found.uncounted == (Family(2, (0,)),)
    assert ("a", "c") in found.dag.edges


def test_a_climb_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for all rows gets half of what is left; after the end nothing begins: no round, no
    ordering search, no operator of classes."""
    tables = [site(seed, shift=5.0 * seed) for seed in range(4)]
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    seen: list[float | None] = []

    def stopped(score: TabulatedScore, rules: SearchRules) -> SearchResult:
        seen.append(rules.seconds)
        clock.now = 7.0
        for module, name in ((by_counts, "look_around"), (by_scatters, "neighbours")):
            monkeypatch.delattr(module, name)
        return ges(score, replace(rules, seconds=None))

    monkeypatch.setattr(by_scatters, "ges", stopped)
    monkeypatch.setattr(by_scatters, "time", clock)
    monkeypatch.setattr(by_counts, "time", clock)
    found, _, _ = chosen(tables, [DAG.empty(NAMES)], climbs=True, seconds=5.0)
    assert seen == [2.5]
    assert found is not None
    assert found.dag.n_edges > 0
    seen.clear()
    candidate = DAG.from_edges(NAMES, ["ab"])
    found, _, _ = chosen(tables, [candidate], climbs=True, seconds=0.0)
    assert found is not None
    assert found.dag == candidate
    assert seen == []
