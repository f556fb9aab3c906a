"""Inputs that are far from a consensus, unlike the rest: what the rest agrees on competes."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbn.consensus import threshold
from fedbn.consensus.mcbnc import mcbnc_path, mcbnc_paths
from fedbn.consensus.others import agreed_by_rest
from fedbn.consensus.pooling import select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import Consensus, select_consensus
from fedbn.consensus.votes import lower_bound, votes_of
from fedbn.fusion.inputs import merge_inputs
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd, smhd
from fedbn.graphs.moral import moral_graph
from fedbn.graphs.random import perturb, random_dag
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.learners import LearnerSettings, learn
from fedbn.networks.catalog import load_network
from tests.strategies import dags

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
    path = mcbnc_path([*alike(7), *[unlike()] * 3])
    assert select_consensus(path).reading == "others"
    assert select_consensus(path, "search").reading == "search"
    assert select_consensus(path, theta="1/2").reading in ("search", "refusion")


def test_where_nobody_is_far_no_other_path_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = mcbnc_paths([*alike(7)])
    monkeypatch.delattr(threshold, "mcbnc_paths")
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
    assert dag_treewidth(consensus.dag) <= 3


@given(dags(max_nodes=7), st.integers(0, 2**32 - 1))
def test_the_far_have_no_say(dag: DAG, seed: int) -> None:
    """What the rest agrees on does not depend on what a far one sends."""
    rng = np.random.default_rng(seed)
    names = tuple(sorted(dag.names))
    whole = len(names) * (len(names) - 1) // 2
    path = mcbnc_path([dag, dag, dag, random_dag(names, edges=whole, rng=rng)])
    consensus = select_consensus(path)
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
