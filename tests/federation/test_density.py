"""Replies far denser than the others: refused, by name and with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.density import joined_pairs, without_dense
from fedbn.federation.reply_limits import Limits
from fedbn.federation.rounds import server_round, update_clients
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import ClientReply, ServerState
from fedbn.graphs.dag import DAG
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings

NAMES = tuple(f"v{i:02d}" for i in range(20))
STATE = ServerState(Schema.categorical(dict.fromkeys(NAMES, ("0", "1"))), n_clients=4)


def reply(client: str, *edges: int) -> ClientReply:
    """DAGs of so many edges."""
    rng = np.random.default_rng(1)
    dags = tuple(random_dag(NAMES, edges=count, rng=rng) for count in edges)
    return ClientReply(client, dags, (1.0,) * len(dags), "complete")


def test_a_reply_counts_with_all_pairs_that_it_joins() -> None:
    replies = [reply("a", 20), reply("b", 20), reply("c", 25), reply("d", 61)]
    kept, refused = without_dense(replies, 3.0)
    assert [each.client for each in kept] == ["a", "b", "c"]
    assert refused == (
        (
            "d",
            "d: its structures join 61 pairs of variables, more than 3 times the 20 of the median "
            "client (max-edges-ratio)",
        ),
    )
    assert without_dense([*replies[:3], reply("d", 60)], 3.0)[1] == ()
    assert without_dense(replies, None) == (tuple(replies), ())
    assert without_dense([], 3.0) == ((), ())
    many = reply("d", 40, 40, 40)
    count = len({frozenset(edge) for dag in many.dags for edge in dag.edges})
    assert joined_pairs(many.dags) == count > 60
    assert [client for client, _ in without_dense([*replies[:3], many], 3.0)[1]] == ["d"]
    line = DAG.from_edges("abc", ["ab", "bc"])
    assert joined_pairs([line, DAG.from_edges("abc", ["ba", "ac"])]) == 3


def test_half_of_the_clients_cannot_raise_the_median() -> None:
    kept, refused = without_dense(
        [reply("a", 20), reply("b", 20), reply("c", 100), reply("d", 100)], 3.0
    )
    assert [each.client for each in kept] == ["a", "b"]
    assert [client for client, _ in refused] == ["c", "d"]


def test_two_pairs_per_variable_are_never_too_many() -> None:
    """Small sites may find nothing where a large one finds what is there."""
    replies = [reply("a", 0), reply("b", 1), reply("c", 40)]
    assert without_dense(replies, 3.0)[1] == ()
    assert without_dense([*replies[:2], reply("c", 41)], 3.0)[1] != ()


def test_a_round_goes_on_without_a_dense_reply_and_says_so() -> None:
    good = [reply(client, 20) for client in "abc"]
    after = server_round(STATE, [*good, reply("d", 150)], [], ConsensusSettings())
    alone = server_round(STATE, good, [], ConsensusSettings())
    assert after.result is not None
    assert alone.result is not None
    assert after.result.consensus.dag == alone.result.consensus.dag
    assert [each.client for each in after.result.replies] == ["a", "b", "c"]
    assert [client for client, _ in after.refused] == ["d"]
    added = update_clients(alone, ConsensusSettings(), added=[reply("d", 150)])
    assert added.result is not None
    assert [client for client, _ in added.result.refused] == ["d"]
    everything = ConsensusSettings(max_edges_ratio=None)
    all_of_them = server_round(STATE, [*good, reply("d", 150)], [], everything)
    assert all_of_them.refused == ()


def test_refused_replies_do_not_count_for_the_quorum() -> None:
    settings = ConsensusSettings(min_replies=4)
    with pytest.raises(
        QuorumError, match="4 good replies.*not 3; d: its structures join 150 pairs"
    ):
        server_round(STATE, [*map(reply, "abc", (20,) * 3), reply("d", 150)], [], settings)


def test_settings() -> None:
    with pytest.raises(ConfigError, match="max-edges-ratio must be at least 1"):
        ConsensusSettings(max_edges_ratio=0.5)
    with pytest.raises(ConfigError, match="raise max-dags-per-reply"):
        Experiment(learner=LearnerSettings(learner="bootstrap", max_dags=50))
    Experiment(
        learner=LearnerSettings(learner="bootstrap", max_dags=50), limits=Limits(max_dags=50)
    )


def test_an_empty_median_refuses_no_tree() -> None:
    empty = ClientReply("a", (DAG.empty(NAMES),), (1.0,), "complete")
    assert without_dense([empty, empty, reply("c", 19)], 3.0)[1] == ()
