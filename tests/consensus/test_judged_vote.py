"""The edge vote, less the edges that judges separate."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus import deletions, pooling
from fedbn.consensus.judged_vote import judged_vote, judged_vote_of
from fedbn.consensus.mcbnc import mcbnc_paths, path_from
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import prefer, select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import select_consensus
from fedbn.errors import SearchError
from fedbn.fusion.baselines import edge_vote, vote_of
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.pdag import dag_to_cpdag
from tests.naive_variables import given as as_dags
from tests.naive_variables import greedy_delete, names_of, random_sites
from tests.strategies import dag_lists

HALF = Fraction(1, 2)


@given(dag_lists(min_nodes=2, max_nodes=5, max_dags=5))
@settings(max_examples=60, deadline=None)
def test_of_whole_inputs_it_is_the_vote(dags: list[DAG]) -> None:
    vote = edge_vote(dags, threshold=HALF)
    assert dag_to_cpdag(judged_vote(dags)) == dag_to_cpdag(vote)


@given(seed=st.integers(0, 100_000), least=st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_deletions_are_those_of_the_twin(seed: int, least: int) -> None:
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(2, 6)), int(rng.integers(2, 7))
    sites = random_sites(rng, n, r, 0.4, 0.6)
    inputs = merge_inputs(*as_dags(sites, n), "union")
    start = vote_of(inputs, HALF)
    path = path_from(start, inputs, threshold=HALF, pooling="clip", min_judges=least)
    wanted = []
    for (x, y, h), psi, _, _ in greedy_delete(start.adjacency, sites, 10, "clip", least):
        if psi > HALF:
            break
        wanted.append((x, y, h, psi))
    place = {name: v for v, name in enumerate(names_of(n))}
    found = [(place[s.x], place[s.y], tuple(place[v] for v in s.h), s.psi) for s in path.steps]
    assert found == wanted


def test_who_lacks_what_separates_does_not_decide() -> None:
    chain, without = DAG.from_edges("xmy", ["xm", "my"]), DAG.from_edges("xy", ["xy"])
    dags = [chain, chain, *[without] * 3]
    assert ("x", "y") in edge_vote(dags, threshold=HALF, variables="union").edges
    assert judged_vote(dags).n_edges == 2
    assert judged_vote(dags, min_judges=3).n_edges == 3


def test_it_is_taken_in_some_cases() -> None:
    assert [is_taken(seed) for seed in (8, 9, 125)] == [True, False, True]


def is_taken(seed: int) -> bool:
    """Of the sites of the next test; a remark is made where it is."""
    path, consensus = select_among(paths_of(seed))
    taken = consensus.reading == "vote"
    assert taken == any("edges that judges separate" in words for words in remarks(path, consensus))
    return taken


def paths_of(seed: int) -> tuple[McbncPath, ...]:
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(3, 7)), int(rng.integers(2, 7))
    dags, weights = as_dags(random_sites(rng, n, r, 0.4, 0.6), n)
    return mcbnc_paths(dags, weights, variables="union")


@pytest.mark.parametrize("end", [100.0, 101.0])
def test_without_time_the_consensus_is_on_the_path(
    monkeypatch: pytest.MonkeyPatch, end: float
) -> None:
    """The time is over before the judges begin, or before they have come to an end."""
    paths = paths_of(1111)
    monkeypatch.setattr(deletions, "STEPS_AT_ONCE", 1)
    now = iter([100.0, *[102.0] * 99])
    monkeypatch.setattr(pooling.time, "monotonic", lambda: next(now))
    path, consensus = select_among(paths, end=end)
    on_path = prefer(paths, select_consensus)[1]
    assert consensus.dag == on_path.dag
    assert (consensus.reading, consensus.complete) == (on_path.reading, False)
    assert consensus.rest_cut_short
    assert any("edges that judges separate" in words for words in remarks(path, consensus))
    assert judged_vote_of(path.inputs, end=0.0) is None


def test_without_memory_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = paths_of(8)
    on_path = prefer(paths, select_consensus)[1]
    monkeypatch.setattr(deletions, "delete_all", lambda *_: "memory limit")
    with pytest.raises(SearchError, match=r"judges leave of the edge vote .* more than 1024 MiB"):
        judged_vote([DAG.from_edges("ab", ["ab"])])
    path, consensus = select_among(paths)
    assert (consensus.dag, consensus.complete) == (on_path.dag, False)
    (said,) = (words for words in remarks(path, consensus) if "judges separate" in words)
    assert said.startswith("the limit of time or memory ended the search")


def test_within_a_treewidth_it_is_nearer_than_what_the_path_gives_there() -> None:
    """A state of the path with a larger treewidth is nearer."""
    paths = paths_of(2174)
    path, consensus = select_among(paths, max_treewidth=2)
    assert consensus.reading == "vote"
    states = [state for each in paths for state in select_consensus(each).states]
    assert min(state.mean_smhd for state in states) < consensus.mean_smhd
    (said,) = (words for words in remarks(path, consensus) if "judges separate" in words)
    assert "nearer to the judges of pairs, or much nearer to all sites, than" in said
