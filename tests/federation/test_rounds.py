"""The federated method as functions, without any transport."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbn.consensus.mcbnc import mcbnc_path
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import select_among
from fedbn.consensus.remarks import remarks
from fedbn.consensus.threshold import Consensus, select_consensus
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, QuorumError, SchemaError
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.far_sites import far_sites
from fedbn.federation.rounds import (
    client_round,
    fuse_classes,
    row_weight_of_structures,
    server_round,
)
from fedbn.federation.run_config import to_run_config
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import ClientReply, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.learners import LearnerSettings
from tests.strategies import dag_lists

SCHEMA = Schema.categorical(dict.fromkeys("abc", ("0", "1")))
CHAIN = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
COLLIDER = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
EMPTY = DAG.empty("abc")


def reply(client: str, *dags: DAG) -> ClientReply:
    return ClientReply(client, dags, (1.0,) * len(dags), "complete")


def fuse_replies(
    replies: Sequence[ClientReply], settings: ConsensusSettings
) -> tuple[McbncPath, Consensus]:
    """The path and the consensus of replies that all have one and the same row weight."""
    (fused,) = fuse_classes(replies, settings)
    return fused.path, fused.consensus


@settings(max_examples=60, deadline=None)
@given(dag_lists(max_nodes=5), st.randoms(use_true_random=False))
def test_neither_order_nor_names_of_clients_matter(dags: list[DAG], rng: random.Random) -> None:
    replies = [reply(f"client {i}", dag) for i, dag in enumerate(dags)]
    path, consensus = fuse_replies(replies, ConsensusSettings())
    renamed = [replace(r, client=f"site {rng.random()}") for r in replies]
    rng.shuffle(renamed)
    other_path, other = fuse_replies(sorted(renamed, key=lambda r: r.client), ConsensusSettings())
    assert (other.dag, other.theta, other.mean_smhd) == (
        consensus.dag,
        consensus.theta,
        consensus.mean_smhd,
    )
    assert other_path.steps == path.steps


def test_one_dag_per_client_is_the_plain_consensus() -> None:
    dags = [CHAIN, CHAIN, COLLIDER, EMPTY]
    replies = [reply(str(i), dag) for i, dag in enumerate(dags)]
    _, consensus = fuse_replies(replies, ConsensusSettings(reading="search"))
    plain = select_consensus(mcbnc_path(dags), "search")
    assert (consensus.dag, consensus.theta) == (plain.dag, plain.theta)
    assert consensus.mean_smhd == plain.mean_smhd


def test_a_quorum_of_structures_is_a_setting_and_told() -> None:
    dags = [CHAIN, CHAIN, COLLIDER, EMPTY]
    replies = [reply(str(i), dag) for i, dag in enumerate(dags)]
    path, consensus = fuse_replies(replies, ConsensusSettings(robust="mean", quorum=2))
    plain = mcbnc_path(dags, quorum=2)
    assert (path.quorum, path.union, path.steps) == (2, plain.union, plain.steps)
    assert path.union != mcbnc_path(dags).union
    assert any("quorum kept arcs of fewer than 2" in remark for remark in remarks(path, consensus))


def test_a_client_with_many_dags_has_no_more_weight_than_another() -> None:
    chatty = reply("a", *(EMPTY,) * 50)
    _, consensus = fuse_replies([chatty, reply("b", CHAIN), reply("c", CHAIN)], ConsensusSettings())
    assert {frozenset(e) for e in consensus.dag.edges} == {frozenset("ab"), frozenset("bc")}


def test_a_dag_whose_share_rounds_to_nothing_is_left_out() -> None:
    lopsided = ClientReply("a", (CHAIN, EMPTY), (1.0, 1e-12), "complete")
    path, _ = fuse_replies([lopsided], ConsensusSettings())
    assert len(path.inputs.dags) == 1


def test_rounds_end_when_the_consensus_stays() -> None:
    state = ServerState(SCHEMA, n_clients=2)
    first = server_round(state, [reply("a", CHAIN), reply("b", CHAIN)], [], ConsensusSettings())
    assert first.result is not None
    assert (first.result.rounds, first.converged) == (1, False)
    second = server_round(first, [reply("b", CHAIN), reply("a", CHAIN)], [], ConsensusSettings())
    assert second.result is not None
    assert (second.result.rounds, second.converged) == (2, True)
    assert [r.client for r in second.result.replies] == ["a", "b"]
    assert state.result is None


def test_refusals_of_all_rounds_are_kept() -> None:
    state = ServerState(SCHEMA, n_clients=3, refused=(("c", "handshake: c: no reply"),))
    quorum = ConsensusSettings(min_fraction=0.3)
    first = server_round(state, [reply("a", CHAIN)], [("b", "round 1: b: a cycle")], quorum)
    assert first.result is not None
    assert [client for client, _ in first.result.refused] == ["c", "b"]


@pytest.mark.parametrize(
    ("good", "clients", "minimum", "fraction", "enough"),
    [(2, 4, 1, 0.5, True), (1, 4, 1, 0.5, False), (2, 4, 3, 0.0, False), (0, 4, 1, 0.0, False)],
)
def test_the_quorum_is_a_count_and_a_fraction(
    good: int, clients: int, minimum: int, fraction: float, enough: bool
) -> None:
    state = ServerState(SCHEMA, n_clients=clients)
    rule = ConsensusSettings(min_replies=minimum, min_fraction=fraction)
    replies = [reply(str(i), CHAIN) for i in range(good)]
    if enough:
        server_round(state, replies, [], rule)
        return
    with pytest.raises(QuorumError, match=f"not {good}; x: a cycle"):
        server_round(state, replies, [("x", "x: a cycle")], rule)


def test_a_client_learns_once_per_row_weight_and_says_so() -> None:
    codes = np.random.default_rng(1).integers(0, 2, size=(60, 3))
    dataset = Dataset(SCHEMA, codes)
    ladder = LearnerSettings(row_weight="ladder", row_weights="1 4.5 20")
    message, rungs = client_round(dataset, SCHEMA, ladder, np.random.default_rng(1))
    assert message.row_weights == (1.0, 4.5, 20.0)
    for k, learned, dag in zip(message.row_weights, rungs, message.dags, strict=True):
        alone = LearnerSettings(row_weight=k)
        single, _ = client_round(dataset, SCHEMA, alone, np.random.default_rng(1))
        assert single.dags == (dag,) == learned.dags
        assert single.row_weights == (k,)


def test_every_class_is_fused_by_itself() -> None:
    weights = (1.0, 2.0)
    two = [
        ClientReply(name, (CHAIN, dag), (1.0, 1.0), "complete", row_weights=weights)
        for name, dag in (("a", CHAIN), ("b", DAG.empty("abc")), ("c", DAG.empty("abc")))
    ]
    timid, bold = fuse_classes(two, ConsensusSettings())
    assert timid.consensus.dag.n_edges == 2
    assert bold.consensus.dag.n_edges == 0
    alone, _ = fuse_replies([reply.of_class(2.0) for reply in two], ConsensusSettings())
    assert alone.steps == bold.path.steps
    odd = ClientReply("d", (CHAIN,), (1.0,), "complete")
    with pytest.raises(ConfigError, match=r"\[1.0, 2.0\], 'd' has \[1.0\]"):
        fuse_classes([*two, odd], ConsensusSettings())


def test_a_class_that_was_left_out_is_fused_without_those_that_left_it_out() -> None:
    too_large = "a node must have at most 2 parents, not 3"
    whole = [
        ClientReply(name, (CHAIN, CHAIN), (1.0, 1.0), "complete", row_weights=(1.0, 2.0))
        for name in "ab"
    ]
    part = ClientReply("c", (CHAIN,), (1.0,), "complete", left_out=((2.0, too_large),))
    timid, bold = fuse_classes([*whole, part], ConsensusSettings())
    assert timid.path.inputs.members == ((0, 1, 2),)
    assert bold.path.inputs.members == ((0, 1),)
    (timid,) = fuse_classes([whole[0], part, replace(part, client="d")], ConsensusSettings())
    assert timid.row_weight == 1.0
    state = server_round(ServerState(SCHEMA, 3), [*whole, part], (), ConsensusSettings())
    assert state.result is not None
    assert run_remarks(state.result) == (
        f"row weight 2 was left out at 1 site of 3: c: {too_large}",
    )
    text = checkpoint_text(Checkpoint(to_run_config(Experiment()), state))
    again = read_checkpoint(text, "state.json").state.result
    assert again is not None
    assert again.replies == state.result.replies


def test_a_checkpoint_keeps_that_there_was_no_time_for_what_the_rest_agrees_on() -> None:
    names = "abcdefgh"
    chain = DAG.from_edges(names, [(a, b) for a, b in pairwise(names)])
    dense = DAG.from_edges(names, [(b, a) for a, b in list(combinations(names, 2))[-20:]])
    schema = Schema.categorical(dict.fromkeys(names, ("0", "1")))
    replies = [*(reply(f"near {i}", chain) for i in range(4)), reply("odd", dense)]
    state = server_round(ServerState(schema, 5), replies, (), ConsensusSettings())
    assert state.result is not None
    assert state.result.consensus.reading == "others"
    _, hurried = select_among((state.result.path,), end=-math.inf)
    assert hurried.rest_cut_short
    for consensus in (state.result.consensus, hurried):
        kept = replace(state, result=replace(state.result, consensus=consensus))
        text = checkpoint_text(Checkpoint(to_run_config(Experiment()), kept))
        again = read_checkpoint(text, "state.json").state.result
        assert again is not None
        assert again.consensus.reading == consensus.reading
        assert again.consensus.rest_cut_short == consensus.rest_cut_short
        assert again.consensus.dag == consensus.dag


def test_a_site_that_is_far_from_all_others_is_named() -> None:
    names = "abcdefgh"
    chain = DAG.from_edges(names, [(a, b) for a, b in pairwise(names)])
    dense = DAG.from_edges(names, [(b, a) for a, b in list(combinations(names, 2))[-20:]])
    far = smhd(chain, dense)
    schema = Schema.categorical(dict.fromkeys(names, ("0", "1")))
    near = [reply(f"near {i}", chain) for i in range(4)]
    for others, named in (([], False), ([reply("odd", dense)], True)):
        state = server_round(ServerState(schema, 5), [*near, *others], (), ConsensusSettings())
        assert state.result is not None
        said = run_remarks(state.result)
        assert bool(said) == named
        assert all(f"odd ({far:.1f})" in each and "near" not in each for each in said)


def test_a_site_is_far_where_most_of_its_weight_is() -> None:
    """Of several structures each is far or not, as an input of the consensus is."""
    names = "abcdefgh"
    chain, other = (DAG.from_edges(names, list(pairwise(order))) for order in (names, "acegbdfh"))
    schema = Schema.categorical(dict.fromkeys(names, ("0", "1")))
    near = [reply(f"near {i}", chain) for i in range(4)]
    for weights, far in (((1.0, 2.0), ("odd",)), ((2.0, 1.0), ()), ((1.0, 1.0), ())):
        odd = ClientReply("odd", (chain, other), weights, "complete")
        state = server_round(ServerState(schema, 5), [*near, odd], (), ConsensusSettings())
        assert state.result is not None
        assert state.result.consensus.reading == "others"
        assert far_sites(state.result) == far


def test_where_structures_choose_no_other_class_is_fused() -> None:
    replies = [
        ClientReply(name, (CHAIN, CHAIN), (1.0, 1.0), "complete", row_weights=(1.0, 2.0))
        for name in "abc"
    ]
    for choose, fused in (("smhd", 1), ("counts", 2)):
        settings = ConsensusSettings(choose=choose)
        result = server_round(ServerState(SCHEMA, 3), replies, (), settings).result
        assert result is not None
        assert len(result.classes) == fused
        assert result.row_weight == row_weight_of_structures(replies)
        assert result.consensus.dag == CHAIN


def test_a_client_learns_under_the_agreed_schema() -> None:
    rng = np.random.default_rng(1)
    local = Schema.categorical({"a": ["0", "1"], "b": ["1"], "c": ["0", "1"]})
    codes = rng.integers(0, 2, size=(200, 3)) * np.array([1, 0, 1])
    dataset = Dataset(local, codes)
    message, (learned,) = client_round(dataset, SCHEMA, LearnerSettings(), rng)
    assert message.names == SCHEMA.names
    assert message.schema_hash == SCHEMA.hash
    assert message.dags == learned.dags
    narrow = Schema.categorical({"a": ["0"], "b": ["1"], "c": ["0", "1"]})
    with pytest.raises(SchemaError, match="'a'"):
        client_round(dataset, narrow, LearnerSettings(), rng)


def test_too_few_sites_with_a_column_after_refusals_are_named() -> None:
    """Two sites must have every column, and the second one that has c was refused."""
    rule = ConsensusSettings(variables="union", min_sites=2)
    edge = DAG.from_edges("ab", [("a", "b")])
    replies = [reply("east", edge), reply("north", CHAIN)]
    with pytest.raises(QuorumError, match=r"min-sites \(2\) are about 'c'; west: kaput"):
        server_round(ServerState(SCHEMA, 3), replies, [("west", "west: kaput")], rule)
