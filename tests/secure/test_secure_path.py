"""Secure sums give what the open search gives, whatever is guessed."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import prefer, select_among
from fedbn.consensus.threshold import (
    READINGS,
    Consensus,
    PathState,
    Reading,
    choose_among,
    path_states,
)
from fedbn.consensus.votes import votes_of
from fedbn.errors import ConfigError, SearchError
from fedbn.fusion.minimal_imap import minimal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.graphs.random import perturb, random_dag
from fedbn.secure import pattern
from fedbn.secure.answers import answer
from fedbn.secure.path import SecureBranch, SecurePath, secure_path
from fedbn.secure.pattern import operators_of, pattern_of
from fedbn.secure.requests import SumRequest
from fedbn.secure.selection import secure_consensus
from fedbn.secure.site import begin
from simulations.benchmarks.secure_sums import cohort, masked_run
from tests.strategies import dag_lists, dags, knowledge_of

Own = tuple[list[DAG], list[int]]


def driven(search: Generator[SumRequest, Any, Any], sites: Sequence[Own]) -> Any:
    """The end of a search whose sums are made in the open."""
    try:
        request = next(search)
        while True:
            parts = [answer(request, own, weights) for own, weights in sites]
            request = search.send(np.sum(parts, axis=0))
    except StopIteration as end:
        return end.value


def require_equal(path: SecurePath, dags: list[DAG], weights: list[int]) -> None:
    k_max = path.branches[0].k_max
    plain = mcbnc_paths(dags, weights, k_max=k_max)
    for branch, other in zip(path.branches, plain, strict=True):
        assert (branch.order, branch.union) == (other.order, other.union)
        assert branch.steps == other.steps
        assert branch.status == other.status == "complete"
    for reading in READINGS:
        require_equal_choice(secure_consensus(path, reading), open_choice(plain, reading))


def open_choice(
    paths: Sequence[McbncPath], reading: Reading = "best"
) -> tuple[McbncPath, Consensus]:
    """That of the open run where no input is far: sums do not tell which one is."""

    def choose(path: McbncPath) -> Consensus:
        votes = votes_of(path.inputs)
        states = path_states(path, reading, votes)
        return choose_among(path, states, votes, compare_votes=reading == "best")

    path, consensus = select_among(paths, reading)
    return prefer(paths, choose) if consensus.reading == "others" else (path, consensus)


def require_equal_choice(
    ours: tuple[SecureBranch, Consensus], theirs: tuple[McbncPath, Consensus]
) -> None:
    assert ours[0].pooling == theirs[0].pooling
    for entry in fields(Consensus):
        mine, other = (getattr(c, entry.name) for c in (ours[1], theirs[1]))
        if entry.name in ("state", "states"):
            mine, other = ([told(s) for s in np.atleast_1d(x)] for x in (mine, other))
        assert mine == other, entry.name


@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=4), st.sampled_from([0, 3]), st.data())
@settings(max_examples=25, deadline=None)
def test_knowledge_is_kept_as_in_the_open_run(dags: list[DAG], look_ahead: int, data) -> None:
    """Where no pair is forbidden in one direction alone, with the same result."""
    names = dags[0].names
    knowledge = data.draw(knowledge_of(None, names))
    search = secure_path(names, len(dags), 1, look_ahead=look_ahead, knowledge=knowledge)
    path = driven(search, [([dag], [1]) for dag in dags])
    branch, consensus = secure_consensus(path)
    made = [branch.union, consensus.dag, *(state.dag for state in consensus.states)]
    assert not any(knowledge.breaches(dag) for dag in made)
    alone = [(a, b) for a, b in knowledge.forbidden if (b, a) not in knowledge.forbidden]
    if not alone:
        plain = mcbnc_paths(dags, knowledge=knowledge)
        assert [b.steps for b in path.branches] == [other.steps for other in plain]
        require_equal_choice((branch, consensus), open_choice(plain))


def told(state: PathState) -> list[Any]:
    others = [f.name for f in fields(PathState) if f.name != "structure"]
    return [state.dag, *(getattr(state, name) for name in others)]


@given(dag_lists(max_nodes=6, max_dags=5), st.sampled_from([0, 3, 8]), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_the_path_is_that_of_the_open_run(dags: list[DAG], look_ahead: int, k_max: int) -> None:
    search = secure_path(dags[0].names, len(dags), 1, k_max=k_max, look_ahead=look_ahead)
    path = driven(search, [([dag], [1]) for dag in dags])
    require_equal(path, dags, [1] * len(dags))


@st.composite
def weighted_sites(draw: st.DrawFn) -> list[Own]:
    """Sites with one to three DAGs each, whose weights sum to 100."""
    n, sites = draw(st.integers(2, 5)), []
    for _ in range(draw(st.integers(1, 4))):
        own = [draw(dags(min_nodes=n, max_nodes=n)) for _ in range(draw(st.integers(1, 3)))]
        shares = [draw(st.integers(1, 30)) for _ in own[1:]]
        sites.append((own, [*shares, 100 - sum(shares)]))
    return sites


@given(weighted_sites(), st.sampled_from([0, 3, 8]))
@settings(max_examples=40, deadline=None)
def test_sites_with_several_weighted_dags(sites: list[Own], look_ahead: int) -> None:
    names = sites[0][0][0].names
    path = driven(secure_path(names, len(sites), 100, look_ahead=look_ahead), sites)
    every = [dag for own, _ in sites for dag in own]
    require_equal(path, every, [weight for _, weights in sites for weight in weights])


@pytest.mark.slow
def test_under_masks_and_with_fewer_rounds_when_looking_ahead() -> None:
    rng = np.random.default_rng(5)
    base = random_dag([f"v{i:02}" for i in range(12)], edges=18, rng=rng)
    inputs = [perturb(base, 8, rng=rng) for _ in range(6)]
    rounds = []
    for look_ahead in (0, 3, 8):
        sites = cohort([begin([dag], [1.0]) for dag in inputs])
        search = secure_path(base.names, 6, 1, look_ahead=look_ahead)
        path, cost = masked_run(search, sites)
        require_equal(path, inputs, [1] * 6)
        assert cost.rounds == path.rounds
        assert 2 * path.integers < cost.up < 8 * path.integers
        rounds.append(path.rounds)
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[2] < rounds[0] / 2


@given(dag_lists(min_nodes=3, max_nodes=5, max_dags=5), st.data())
@settings(max_examples=30, deadline=None)
def test_a_quorum_keeps_the_arcs_that_so_many_sites_have(
    dags: list[DAG], data: st.DataObject
) -> None:
    quorum = data.draw(st.integers(1, len(dags)))
    search = secure_path(dags[0].names, len(dags), 1, quorum=quorum)
    path = driven(search, [([dag], [1]) for dag in dags])
    votes = sum(minimal_imap(dag, path.branches[0].order).adjacency.astype(int) for dag in dags)
    assert np.array_equal(path.branches[0].union.adjacency, votes >= quorum)


@given(dags(min_nodes=2, max_nodes=6), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_operators_are_all_valid_ones_in_order(dag: DAG, k_max: int) -> None:
    found = operators_of(pattern_of(arcs(dag), dag.n), k_max)
    listed = [
        (int(x), int(y), pattern._members(h), pattern._members(s))
        for (x, y), s, h in zip(found.xy, found.given, found.h, strict=True)
    ]
    assert listed == list(valid_deletes(dag_to_cpdag(dag).adjacency, k_max))


def arcs(dag: DAG) -> tuple[tuple[int, int], ...]:
    return tuple((int(a), int(b)) for a, b in np.argwhere(dag.adjacency))


def valid_deletes(p: np.ndarray, k_max: int) -> Generator[tuple[Any, ...], None, None]:
    """Twin: every subset H of NA_yx whose complement there is a clique."""
    joined, undirected = p | p.T, p & p.T
    for x, y in np.argwhere(p):
        if undirected[x, y] and x > y:
            continue
        na = [v for v in range(len(p)) if undirected[v, y] and joined[v, x]]
        parents = {v for v in range(len(p)) if p[v, y] and not p[y, v]} - {x}
        for size in range(min(k_max, len(na)) + 1):
            for h in combinations(na, size):
                left = set(na) - set(h)
                if all(joined[a, b] for a, b in combinations(left, 2)):
                    yield int(x), int(y), h, tuple(sorted(left | parents))


@pytest.mark.parametrize(
    ("most", "words"),
    [(75, "lower k-max from 10 to 1, or take"), (14, "has more: take aggregation")],
)
def test_too_many_operators_are_refused(
    monkeypatch: pytest.MonkeyPatch, most: int, words: str
) -> None:
    """15 pairs, each with 4 other neighbours: 15 Deletes with |H| = 0, and 60 with |H| = 1."""
    monkeypatch.setattr(pattern, "MAX_QUERIES", most)
    complete = DAG("abcdef", np.triu(np.ones((6, 6), bool), k=1))
    with pytest.raises(SearchError, match=words):
        driven(secure_path("abcdef", 2, 1), [([complete], [1])] * 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"robust": "median"}, "no sum"),
        ({"look_ahead": 17}, "0 to 16"),
        ({"quorum": 4}, "1 to 3 clients"),
        ({"k_max": -1}, "k-max"),
        ({"units": 2**60}, "below 2\\^62"),
        ({"names": "ba"}, "sorted"),
    ],
)
def test_bad_parameters(change: dict[str, Any], words: str) -> None:
    given = {"names": "ab", "clients": 3, "units": 1} | change
    with pytest.raises(ConfigError, match=words):
        next(secure_path(**given))


def test_a_time_limit_ends_the_deletions() -> None:
    dag = DAG.from_edges("abcd", ["ab", "bc", "cd"])
    search = secure_path("abcd", 3, 1, look_ahead=0, stop=lambda: True)
    path = driven(search, [([dag], [1])] * 3)
    assert [(b.steps, b.status) for b in path.branches] == [((), "time limit")] * 2
    assert path.votes.matrix(path.votes.moral)[0, 1] == 3
