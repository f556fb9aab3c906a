"""The federated method as pure functions on frozen state; nothing here knows of Flower.

    client_round: table, agreed schema, start     -> message
    server_round: state, good replies, refusals   -> state

One round is one-shot structural consensus (AAAI-26): every client searches on its own table, the
server fuses the DAGs and nothing else. In further rounds the consensus goes back and the clients
restart their searches from it, as FedGES does, until the consensus stays as it is or the limit of
rounds is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np

from fedbn.consensus.mcbnc import McbncPath, mcbnc_paths
from fedbn.consensus.pooling import Robust, poolings_of, select_among
from fedbn.consensus.threshold import Consensus, Reading
from fedbn.data.dataset import Dataset, Schema
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.density import without_dense
from fedbn.federation.message import StructureMessage
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.weights import integer_weights
from fedbn.graphs.dag import DAG
from fedbn.learners import LearnedStructures, LearnerSettings, learn

Progress = Callable[[int, int], None]

LEARNER_STREAM = 4
"""Sets the learners' random numbers apart from those that make tables."""


@dataclass(frozen=True)
class ClientReply:
    """What one client sent in a round.

    Attributes
    ----------
    client : its name at the server.
    dags, weights : its structures over the agreed names and a positive weight for each.
    status : a word of `fedbn.federation.message.STATUSES`.
    rows, seconds : rows of its table and CPU seconds of its search, where it shares them.
    """

    client: str
    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: str
    rows: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class FederationResult:
    """What a federated run gives.

    Attributes
    ----------
    schema : the agreed schema.
    replies : the good replies of the last round, by client name.
    refused : (client, reason) of every reply that was not used, in any round.
    path, consensus : of the last round.
    rounds : how many rounds there were.
    converged : whether the last round left the consensus as it was.
    """

    schema: Schema
    replies: tuple[ClientReply, ...]
    refused: tuple[tuple[str, str], ...]
    path: McbncPath
    consensus: Consensus
    rounds: int
    converged: bool


@dataclass(frozen=True)
class ServerState:
    """The server between two rounds: the agreed schema, and the result of the rounds so far.

    `refused` holds refusals from before the first round, too.
    """

    schema: Schema
    n_clients: int
    refused: tuple[tuple[str, str], ...] = ()
    result: FederationResult | None = None

    @property
    def converged(self) -> bool:
        """Whether another round would change nothing."""
        return self.result is not None and self.result.converged


def site_rng(seed: int, site: int, number: int) -> np.random.Generator:
    """The generator of one site's learner in one round: the same in every engine.

    Parameters
    ----------
    seed : of the run.
    site : its place among the sites, from 0.
    number : of the round, from 1.
    """
    return np.random.default_rng([seed, LEARNER_STREAM, site, number])


def client_round(
    dataset: Dataset,
    schema: Schema,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
) -> tuple[StructureMessage, LearnedStructures]:
    """Learn from one client's table; the message is what may leave, the rest is for the client.

    Parameters
    ----------
    dataset : the client's table, whose columns are those of `schema`.
    schema : the agreed schema; its states count even where this client has none of them.
    settings, rng : the learner.
    start : the consensus of the round before, from which the search restarts.

    Raises
    ------
    SchemaError : the table has a column or a state that the schema lacks, or lacks a column.
    """
    learned = learn(dataset.with_schema(schema), settings, rng, start)
    dags = tuple(dag.reordered(schema.names) for dag in learned.dags)
    message = StructureMessage(schema.hash, schema.names, dags, learned.weights, learned.status)
    return message, learned


def server_round(
    state: ServerState,
    replies: Sequence[ClientReply],
    refused: Sequence[tuple[str, str]],
    settings: ConsensusSettings,
    progress: Progress | None = None,
) -> ServerState:
    """Fuse one round's good replies; neither their order nor the clients' names matter.

    Parameters
    ----------
    state : the server before the round.
    replies : the good replies, at most one per client; `without_dense` refuses some.
    refused : (client, reason) of the others.
    settings : quorum, density, search and reading.
    progress : called as progress(deletions done, edges of G+).

    Raises
    ------
    QuorumError : there are too few good replies; the first refusals are named.
    """
    ordered = sorted(replies, key=lambda reply: reply.client)
    kept, dense = without_dense(ordered, settings.max_edges_ratio)
    everything_refused = (*state.refused, *refused, *dense)
    require_quorum(len(kept), state.n_clients, settings, everything_refused)
    path, consensus = fuse_replies(kept, settings, progress)
    before = state.result
    result = FederationResult(
        schema=state.schema,
        replies=kept,
        refused=everything_refused,
        path=path,
        consensus=consensus,
        rounds=1 if before is None else before.rounds + 1,
        converged=before is not None and before.consensus.dag == consensus.dag,
    )
    return replace(state, refused=everything_refused, result=result)


def updated(
    state: ServerState,
    settings: ConsensusSettings,
    *,
    added: Sequence[ClientReply] = (),
    removed: Sequence[str] = (),
    progress: Progress | None = None,
) -> ServerState:
    """The last round fused anew with other clients, nobody being asked again.

    After one round this is the run with these clients from the start. After several, the
    structures of those who stay were learned from consensuses that the others shared in.

    Parameters
    ----------
    state : after at least one round.
    settings : search and reading, as in that round.
    added : replies of new clients, over the agreed names.
    removed : names of clients that leave.
    progress : of the fusion.

    Raises
    ------
    ConfigError : a client to be removed is not there, or a new one has the name of another.
    QuorumError : no client is left.
    """
    before = state.result
    if before is None:
        raise ConfigError("an update needs the replies of at least one round")
    known = [reply.client for reply in before.replies]
    for client in removed:
        if client not in known:
            raise ConfigError(f"there is no client {client!r} among {', '.join(known)}")
    staying = [reply for reply in before.replies if reply.client not in removed]
    replies = tuple(sorted((*staying, *added), key=lambda reply: reply.client))
    names = [reply.client for reply in replies]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"two clients must not both be called {twice!r}")
    if not replies:
        raise QuorumError("at least one client must stay")
    kept, dense = without_dense(replies, settings.max_edges_ratio)
    path, consensus = fuse_replies(kept, settings, progress)
    refused = (*before.refused, *dense)
    result = replace(
        before, replies=kept, refused=refused, path=path, consensus=consensus, converged=False
    )
    return replace(state, n_clients=len(replies), refused=refused, result=result)


def fuse_replies(
    replies: Sequence[ClientReply],
    settings: ConsensusSettings,
    progress: Progress | None = None,
) -> tuple[McbncPath, Consensus]:
    """The path and the consensus of the replies' DAGs; every client has the same total weight."""
    shares = integer_weights(
        [reply.weights for reply in replies], [reply.dags for reply in replies]
    )
    weighted = [
        (dag, share)
        for reply, of_reply in zip(replies, shares, strict=True)
        for dag, share in zip(reply.dags, of_reply, strict=True)
        if share > 0
    ]
    paths = mcbnc_paths(
        [dag for dag, _ in weighted],
        [share for _, share in weighted],
        poolings_of(cast(Robust, settings.robust)),
        k_max=settings.k_max,
        seconds=settings.seconds,
        progress=progress,
    )
    return select_among(paths, cast(Reading, settings.reading))


def require_quorum(
    good: int,
    n_clients: int,
    settings: ConsensusSettings,
    refused: Sequence[tuple[str, str]] = (),
) -> None:
    """Raise QuorumError unless `good` replies of `n_clients` clients are enough to go on."""
    needed = max(settings.min_replies, math.ceil(settings.min_fraction * n_clients), 1)
    if good >= needed:
        return
    reasons = "".join(f"; {reason}" for _, reason in refused[:3])
    raise QuorumError(
        f"at least {needed} good replies of {n_clients} clients are needed, not {good}{reasons}"
    )


@cache
def load_kernels() -> None:
    """Run the fusion once per process on graphs of no interest, to compile or load its kernels."""
    chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    fork = DAG.from_edges("abc", [("b", "a"), ("b", "c")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    replies = [
        ClientReply(str(i), (dag,), (1.0,), "complete")
        for i, dag in enumerate((chain, fork, collider))
    ]
    fuse_replies(replies, ConsensusSettings())
