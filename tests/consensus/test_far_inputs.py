"""Inputs that are far from what the rest agrees on: they have no say in the consensus."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.consensus import pooling, threshold
from fedbn.consensus.far_inputs import agreed_by_rest
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.polish import polish
from fedbn.consensus.pooling import select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import Consensus, select_consensus
from fedbn.consensus.votes import divided_pairs, lower_bound, votes_of
from fedbn.errors import SearchError
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.random import perturb, random_dag
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from tests import naive
from tests.strategies import dag_lists, dags

INSURANCE = load_network("insurance")
NAMES = tuple(sorted(INSURANCE.names))


@cache
def alike(number: int) -> tuple[DAG, ...]:
    """What GES learns at sites of 2,000 rows."""
    rng = np.random.default_rng(1)
    tables = [INSURANCE.sample(2_000, rng) for _ in range(number)]
    return tuple(learn(table, LearnerSettings(), rng).dags[0].reorder(NAMES) for table in tables)


def unlike() -> DAG:
    """As many edges as pass the server's door, at random: it leads the path away."""
    return random_dag(NAMES, edges=100, rng=np.random.default_rng(2))


def chosen(dags: list[DAG], **settings: object) -> Consensus:
    return select_among(mcbnc_paths(dags), **settings)[1]  # type: ignore[arg-type]


@given(dag_lists(), st.data())
def test_pairs_on_which_a_third_turns_the_majority(given_dags: list[DAG], data: Any) -> None:
    weights = data.draw(
        st.lists(st.integers(1, 4), min_size=len(given_dags), max_size=len(given_dags))
    )
    joining = sum(w * naive.moral_graph(d) for w, d in zip(weights, given_dags, strict=True))
    against = sum(weights) - joining
    divided = (joining > 0) & (3 * abs(joining - against) <= sum(weights))
    assert divided_pairs(merge_inputs(given_dags, weights)) == np.triu(divided).sum()


def test_three_of_ten_that_lead_the_path_away_do_not_move_what_seven_agree_on() -> None:
    honest, hostile = alike(7), [unlike()] * 3
    alone = chosen([*honest])
    consensus = chosen([*honest, *hostile])
    assert consensus.reading == "others"
    assert consensus.theta is None
    assert smhd(consensus.dag, alone.dag) == 0
    assert consensus.mean_smhd == mean_smhd(consensus.dag, [*honest, *hostile])
    assert consensus.states[-1].reading == "others"
    assert consensus.lower_bound == lower_bound(votes_of(merge_inputs([*honest, *hostile])))


def test_the_order_of_the_inputs_does_not_matter() -> None:
    dags = [*alike(7), *[unlike()] * 3]
    assert chosen(dags).dag == chosen(dags[::-1]).dag


def test_only_the_reading_best_leaves_it_to_the_rest() -> None:
    dags = [*alike(7), *[unlike()] * 3]
    assert chosen(dags, reading="search").reading == "search"
    assert chosen(dags, theta="1/2").reading in ("search", "refusion")
    assert select_consensus(mcbnc_path(dags)).reading in ("search", "refusion", "vote")


def searches(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """The time that every search for what the rest agrees on is given, in seconds."""
    seen: list[float | None] = []

    def paths(*args: Any, seconds: float | None = None, **settings: Any) -> Any:
        seen.append(seconds)
        return mcbnc_paths(*args, seconds=seconds, **settings)

    monkeypatch.setattr(pooling, "mcbnc_paths", paths)
    return seen


def test_what_the_rest_agrees_on_is_looked_for_once_for_all_poolings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paths = mcbnc_paths([*alike(7), *[unlike()] * 3], poolings=("mean", "clip", "median"))
    seen = searches(monkeypatch)
    assert select_among(paths)[1].reading == "others"
    assert seen == [None]


def test_the_search_gets_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    paths, seen = mcbnc_paths([*alike(7), *[unlike()] * 3]), searches(monkeypatch)
    monkeypatch.setattr(pooling.time, "monotonic", lambda: 100.0)
    select_among(paths, end=1_000.0)
    assert seen == [900.0]


@pytest.mark.parametrize("how", ["none is left", "before G+", "on the path"])
def test_without_time_all_have_a_say_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    paths = mcbnc_paths([*alike(7), *[unlike()] * 3])

    def stop(*args: Any, **settings: Any) -> Any:
        if how == "before G+":
            raise SearchError("the time is over")
        return [replace(path, status="time limit") for path in mcbnc_paths(*args)]

    monkeypatch.setattr(pooling.time, "monotonic", lambda: 100.0)
    if how != "none is left":
        monkeypatch.setattr(pooling, "mcbnc_paths", stop)
    path, consensus = select_among(paths, end=100.0 if how == "none is left" else 101.0)
    assert consensus.reading in ("search", "refusion", "vote")
    assert consensus.rest_cut_short
    assert not consensus.complete
    assert any("no input is ignored" in said for said in remarks(path, consensus))


def test_polishing_hears_those_alone_who_had_a_say() -> None:
    """Seven alike and four dense ones that are equal: these lower no distance."""
    honest, hostile = alike(7), [unlike()] * 4
    path, consensus = select_among(mcbnc_paths([*honest, *hostile]))
    alone = select_among(mcbnc_paths([*honest]))
    assert consensus.reading == "others"
    polished = polish(consensus, path)
    assert smhd(polished.dag, polish(alone[1], alone[0]).dag) == 0
    assert polished.mean_smhd == mean_smhd(polished.dag, [*honest, *hostile])


def test_where_nobody_is_far_no_other_path_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = mcbnc_paths([*alike(7)])
    monkeypatch.delattr(pooling, "mcbnc_paths")
    assert select_among(paths)[1].reading != "others"


def test_half_of_the_weight_is_never_the_far_one() -> None:
    near, far = alike(1)[0], unlike()
    for hostile in range(1, 9):
        inputs = merge_inputs([near] * 4 + [far] * hostile)
        found = agreed_by_rest(inputs, near, lambda dags, weights: dags[0])
        assert found == (near if hostile < 4 else None)


def test_the_rest_keeps_its_weights_and_its_number() -> None:
    near, far = alike(2), unlike()
    dags = [near[0], near[0], near[1], far]
    weights = [Fraction(1, 4), Fraction(1, 4), Fraction(1, 3), Fraction(1, 6)]
    seen: list[tuple[list[DAG], list[Fraction]]] = []

    def agree(some: list[DAG], shares: list[Fraction]) -> DAG:
        seen.append((some, shares))
        return near[0]

    assert agreed_by_rest(merge_inputs(dags, weights), near[0], agree) == near[0]
    ((some, shares),) = seen
    assert sorted(map(hash, some)) == sorted(map(hash, dags[:3]))
    share = {dag: sum(w for d, w in zip(some, shares, strict=True) if d == dag) for dag in near}
    assert share[near[0]] / share[near[1]] == Fraction(3, 2)


def test_who_is_far_from_a_consensus_that_was_led_away_is_looked_at_again() -> None:
    """An input far from the first DAG is near to what the rest agrees on, so it has its say."""
    near, far = alike(3), unlike()
    inputs = merge_inputs([*near, far, far])
    seen: list[int] = []

    def agree(some: list[DAG], shares: list[Fraction]) -> DAG:
        seen.append(len(some))
        return near[0]

    first = DAG(NAMES, far.adjacency)
    assert agreed_by_rest(inputs, first, agree) is None  # three of five would be far
    assert not seen
    led = perturb(near[0], 30, rng=np.random.default_rng(1))
    assert agreed_by_rest(inputs, led, agree) == near[0]
    assert seen[-1] == 3


def test_there_may_be_no_such_thing() -> None:
    """What a part agrees on is far from others than it was made without, for ever."""
    near, far = alike(4), unlike()
    inputs = merge_inputs([*near, far])
    answers = iter([far, near[0], far, near[0]])
    assert agreed_by_rest(inputs, near[0], lambda dags, weights: next(answers)) is None


def test_the_bound_on_the_treewidth_is_kept() -> None:
    consensus = chosen([*alike(7), *[unlike()] * 3], max_treewidth=3)
    assert consensus.reading == "others"
    assert smhd(consensus.dag, chosen([*alike(7)], max_treewidth=3).dag) == 0
    assert dag_treewidth(consensus.dag) <= 3


@given(dags(max_nodes=7), st.integers(0, 2**32 - 1))
def test_the_far_have_no_say(dag: DAG, seed: int) -> None:
    """What the rest agrees on does not depend on what a far one sends."""
    rng = np.random.default_rng(seed)
    names = tuple(sorted(dag.names))
    whole = len(names) * (len(names) - 1) // 2
    path = mcbnc_path([dag, dag, dag, random_dag(names, edges=whole, rng=rng)])
    consensus = select_among([path])[1]
    if whole - moral_graph(dag).sum() // 2 > len(names):
        assert consensus.reading == "others"
        assert consensus.dag == dag.reorder(names)
    else:
        assert consensus.mean_smhd <= min(s.mean_smhd for s in threshold.path_states(path))


def test_inputs_that_agree_on_little_are_told_so() -> None:
    """A third of them would decide more pairs than there are variables."""
    rng = np.random.default_rng(1)
    names = [f"v{i}" for i in range(12)]
    apart = [random_dag(names, edges=25, rng=rng) for _ in range(4)]
    path = mcbnc_path(apart)
    (said,) = [each for each in remarks(path, select_consensus(path)) if "agree on little" in each]
    moral = sum(moral_graph(dag.reorder(path.names)).astype(int) for dag in apart)
    assert f"on {int((moral == 2).sum()) // 2} pairs" in said
    for few in (apart[:3], list(alike(7))):
        path = mcbnc_path(few)
        assert not any("agree on little" in r for r in remarks(path, select_consensus(path)))
