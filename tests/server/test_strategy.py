"""The server among clients that fail, lie or keep silent; on the in-process grid."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict

from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, QuorumError, SchemaError
from fedbn.federation.reply_limits import Limits
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import FederationResult
from server.handshake import client_names
from server.server_app import federate
from simulations.in_process_grid import Fault, InProcessGrid
from simulations.run import node_configs
from tests.work import counted

ASIA = Experiment.of(network="asia", clients=4, rows=100, seed=2, share_diagnostics=True)
LIAR = 3
"""Node 3 is client 2: node ids count from 2."""

Lie = Callable[[Message], Message | None]


def run(experiment: Experiment = ASIA, fault: Fault | None = None) -> FederationResult:
    grid = InProcessGrid(
        to_run_config(experiment), node_configs(experiment.data.clients), fault=fault
    )
    return federate(grid, experiment).result


def on(category: str, lie: Lie) -> Fault:
    """Node LIAR answers requests of one category with a lie."""

    def fault(node: int, reply: Message) -> Message | None:
        guilty = node == LIAR and reply.metadata.message_type == category
        return lie(reply) if guilty else reply

    return fault


def instead(**records: Any) -> Lie:
    """The reply with some records replaced; None removes one."""

    def lie(reply: Message) -> Message:
        for name, record in records.items():
            if record is None:
                del reply.content[name]
            else:
                reply.content[name] = record
        return reply

    return lie


def array(key: str, change: Callable[[Array], Array]) -> Lie:
    """The reply with one array of its structures changed."""

    def lie(reply: Message) -> Message:
        record = reply.content["structures"]
        arrays = {name: change(a) if name == key else a for name, a in record.items()}
        reply.content["structures"] = ArrayRecord(arrays)
        return reply

    return lie


def values(key: str, change: Callable[[Any], Any]) -> Lie:
    return array(key, lambda a: Array(np.asarray(change(a.numpy().copy()), dtype=a.dtype)))


def million_dags(original: Array) -> Array:
    """Few bytes whose header claims the offsets of a million DAGs."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<i8", "fortran_order": False, "shape": (1_000_001,)}
    )
    return Array("int64", (1_000_001,), "numpy.ndarray", buffer.getvalue() + original.data[-16:])


def failed(reply: Message) -> Message:
    return Message(Error(2, "RuntimeError: it broke\nTraceback ..."), reply_to=_request_of(reply))


def _request_of(reply: Message) -> Message:
    """A message that `reply` could be the answer to: an error reply goes the same way."""
    request = Message(RecordDict(), reply.metadata.src_node_id, reply.metadata.message_type)
    request.metadata.__dict__["_message_id"] = reply.metadata.reply_to_message_id
    return request


BAD_ROUNDS: dict[str, tuple[Lie, str]] = {
    "it raised": (failed, "client 2: RuntimeError: it broke"),
    "it is silent": (lambda reply: None, "client 2: no reply"),
    "a million DAGs claimed": (array("indptr", million_dags), "must have 8000008 bytes, not 16"),
    "a truncated message": (
        array("edges", lambda a: Array(a.dtype, a.shape, a.stype, a.data[:-5])),
        "client 2: an array of shape",
    ),
    "no array at all": (
        array("edges", lambda a: Array("int32", (0,), "numpy.ndarray", b"")),
        "header of a .npy file",
    ),
    "a cycle": (
        values("edges", lambda e: ([[0, 1], [1, 0], *combinations(range(2, 8), 2)])[: len(e)]),
        "no directed cycle",
    ),
    "an index out of range": (
        values("edges", lambda e: e + 7),
        "edges must lie between 0 and 7, not 10",
    ),
    "an older version": (
        values("header", lambda h: [2, *h[1:]]),
        "version of structures must be 3, not 2",
    ),
    "another schema": (
        values("header", lambda h: h[[0, 1, 2, *range(34, 2, -1)]]),
        "the schema must",
    ),
    "a weight of its own": (values("weights", lambda w: w * np.inf), "above 0 and finite, not inf"),
    "no structures": (instead(structures=None), "arrays of structures"),
    "a metric in their place": (instead(structures=MetricRecord({"x": 1})), "arrays of structures"),
}


@pytest.mark.parametrize("case", BAD_ROUNDS)
def test_a_bad_reply_is_refused_and_the_round_goes_on(case: str) -> None:
    lie, reason = BAD_ROUNDS[case]
    result = run(fault=on("train", lie))
    assert [reply.client for reply in result.replies] == ["client 1", "client 3", "client 4"]
    ((client, text),) = result.refused
    assert client == "client 2"
    assert text.startswith("round 1: client 2: ")
    assert reason in text
    assert "Traceback" not in text


def test_a_claim_of_a_million_dags_costs_neither_work_nor_memory() -> None:
    run()
    with counted() as plain:
        run()
    with counted() as lied_to:
        run(fault=on("train", BAD_ROUNDS["a million DAGs claimed"][0]))
    assert lied_to.peak < 50_000_000
    assert lied_to.calls < plain.calls + 2000


def test_limits_are_those_of_the_run() -> None:
    with pytest.raises(QuorumError, match="at most 1 edge,"):
        run(ASIA.change(limits=Limits(max_edges=1)))


BAD_HANDSHAKES: dict[str, tuple[Lie, str]] = {
    "it raised": (failed, "RuntimeError: it broke"),
    "it is silent": (lambda reply: None, "no reply"),
    "no schema": (instead(schema=None), "must be a record 'schema'"),
    "not a schema": (
        instead(schema=ConfigRecord({"text": "[]", "hash": "x"})),
        "{column: [states]}",
    ),
    "a false hash": (
        instead(schema=ConfigRecord({"text": '{"a":["x"]}', "hash": "00"})),
        "hash that came with it",
    ),
}


@pytest.mark.parametrize("case", BAD_HANDSHAKES)
def test_a_bad_handshake_leaves_the_client_out(case: str) -> None:
    lie, reason = BAD_HANDSHAKES[case]
    result = run(fault=on("query", lie))
    assert len(result.replies) == 3
    ((_, text),) = result.refused
    assert text.startswith("handshake: ")
    assert reason in text


def test_other_columns_end_the_run_with_both_names() -> None:
    schema = Schema.categorical({"asia": ["yes"], "smoker": ["no"]})
    record = ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash})
    with pytest.raises(SchemaError, match="client 2"):
        run(fault=on("query", instead(schema=record)))


def test_too_few_good_replies_end_the_run() -> None:
    def all_but_one(node: int, reply: Message) -> Message | None:
        return reply if node == LIAR or reply.metadata.message_type == "query" else None

    with pytest.raises(QuorumError, match="at least 2 good replies of 4 clients are needed, not 1"):
        run(fault=all_but_one)
    lenient = ASIA.change(consensus=ConsensusSettings(min_fraction=0.25))
    assert [r.client for r in run(lenient, fault=all_but_one).replies] == ["client 2"]


def test_a_client_lost_between_rounds_leaves_the_others_to_it() -> None:
    calls = {"train": 0}

    def leaving(node: int, reply: Message) -> Message | None:
        if node == LIAR and reply.metadata.message_type == "train":
            calls["train"] += 1
            return reply if calls["train"] == 1 else None
        return reply

    result = run(ASIA.change(rounds_limit=3), fault=leaving)
    assert len(result.replies) == 3
    assert result.rounds >= 2
    assert all("no reply" in reason for _, reason in result.refused)


def test_further_rounds_start_from_the_consensus_and_end_when_it_stays() -> None:
    one_shot = run()
    many = run(ASIA.change(rounds_limit=10, seed=7))
    assert (one_shot.rounds, one_shot.converged) == (1, False)
    assert many.converged
    assert 2 <= many.rounds < 10


def test_the_order_of_replies_does_not_matter() -> None:
    class Shuffling(InProcessGrid):
        def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> Any:
            return list(super().send_and_receive(messages, timeout=timeout))[::-1]

    grid = Shuffling(to_run_config(ASIA), node_configs(ASIA.data.clients))
    shuffled, plain = federate(grid, ASIA).result, run()
    assert shuffled.consensus.dag == plain.consensus.dag
    assert shuffled.replies == replace_seconds(shuffled, plain)


def replace_seconds(like: FederationResult, result: FederationResult) -> tuple[Any, ...]:
    """The replies of `result` with the times of `like`."""
    return tuple(
        replace(reply, seconds=other.seconds)
        for reply, other in zip(result.replies, like.replies, strict=True)
    )


def test_diagnostics_are_kept_only_if_they_are_what_they_should_be() -> None:
    strange = ConfigRecord({"label": "x\ny" * 200, "rows": "many", "seconds": float("nan")})
    result = run(fault=on("train", instead(diagnostics=strange)))
    reply = next(reply for reply in result.replies if reply.client == "client 2")
    assert (reply.rows, reply.seconds) == (None, None)


def test_without_diagnostics_clients_have_numbers_and_nothing_else() -> None:
    result = run(ASIA.change(share_diagnostics=False))
    assert [reply.client for reply in result.replies] == [f"client {i}" for i in (1, 2, 3, 4)]
    assert all(reply.rows is None and reply.seconds is None for reply in result.replies)


def test_equal_labels_are_told_apart() -> None:
    assert client_names({7: "a", 5: None, 9: "a"}) == {5: "client 1", 7: "a", 9: "a (3)"}


def test_a_simulation_needs_a_node_per_client() -> None:
    grid = InProcessGrid(to_run_config(ASIA), node_configs(5))
    with pytest.raises(ConfigError, match="5 nodes and 4 clients.*num-supernodes=4"):
        federate(grid, ASIA)


def test_a_second_answer_is_ignored() -> None:
    class Repeating(InProcessGrid):
        def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> Any:
            replies = list(super().send_and_receive(messages, timeout=timeout))
            return [*replies, *replies[::-1]]

    grid = Repeating(to_run_config(ASIA), node_configs(ASIA.data.clients))
    twice, plain = federate(grid, ASIA).result, run()
    assert twice.consensus.dag == plain.consensus.dag
    assert twice.refused == ()
    assert len(twice.replies) == 4


def test_an_answer_to_an_older_request_is_no_answer() -> None:
    older: list[Message] = []

    def replaying(node: int, reply: Message) -> Message | None:
        if node != LIAR or reply.metadata.message_type != "train":
            return reply
        older.append(reply)
        return older[0]

    class Replaying(InProcessGrid):
        def pull_messages(self, message_ids: Any) -> Any:
            return [*super().pull_messages(message_ids), *self._waiting.values()]

    two_rounds = ASIA.change(rounds_limit=2)
    grid = Replaying(to_run_config(ASIA), node_configs(ASIA.data.clients), fault=replaying)
    result = federate(grid, two_rounds).result
    assert result.refused == (("client 2", "round 2: client 2: no reply"),)


def test_an_answer_in_the_name_of_another_is_ignored() -> None:
    def impostor(node: int, reply: Message) -> Message | None:
        if node == LIAR and reply.metadata.message_type == "train":
            reply.metadata.__dict__["_src_node_id"] = LIAR + 1
        return reply

    result = run(fault=impostor)
    assert [reply.client for reply in result.replies] == ["client 1", "client 3", "client 4"]


def test_flowers_word_that_a_node_is_gone_is_the_reason() -> None:
    def gone(reply: Message) -> Message:
        error = Message(Error(5, "Node Unavailable"), reply_to=_request_of(reply))
        error.metadata.__dict__["_src_node_id"] = 1
        return error

    result = run(fault=on("train", gone))
    assert result.refused == (("client 2", "round 1: client 2: Node Unavailable"),)


def test_a_restarted_node_is_not_asked_again_and_the_others_go_on() -> None:
    class Restarting(InProcessGrid):
        """Node LIAR comes back under another id after the first round, as Flower does it."""

        def get_node_ids(self) -> list[int]:
            nodes = list(super().get_node_ids())
            trained = self._sent >= 2 * ASIA.data.clients
            return [99 if node == LIAR and trained else node for node in nodes]

    two_rounds = ASIA.change(rounds_limit=2)
    result = federate(Restarting(to_run_config(ASIA), node_configs(4)), two_rounds).result
    assert (result.rounds, len(result.replies)) == (2, 3)
    assert result.refused == (("client 2", "round 2: client 2: no reply"),)
