"""The federated method as pure functions on frozen state; nothing here knows of Flower.

    client_round: table, agreed schema, start     -> message
    server_round: state, good replies, refusals   -> state

One round is one-shot structural consensus (AAAI-26): every client searches on its own table, the
server fuses the DAGs and nothing else. In further rounds the clients restart their searches from
the consensus, as FedGES does, until it stays as it is or the limit of rounds is reached.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from fedbn.choice.ladder import class_by_chance, expected_chance_pairs
from fedbn.consensus.votes import moral_votes_of
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, QuorumError
from fedbn.federation.agreement import own_part
from fedbn.federation.density import without_dense
from fedbn.federation.fusions import fuse_weighted
from fedbn.federation.message import StructureMessage
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import (
    ClientReply,
    FederationResult,
    FusedClass,
    ServerState,
    paid_replies,
)
from fedbn.fusion.inputs import Variables, merge_inputs
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.fusion.weights import integer_weights
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import read_knowledge
from fedbn.learners import LearnedStructures, LearnerSettings, learn_ladder, learner_for
from fedbn.limits import status_of
from fedbn.privacy.bounds import bounds_of_some
from fedbn.wording import count_of, list_some

Progress = Callable[[int, int], None]

LEARNER_STREAM = 4
"""Sets the learners' random numbers apart from those that make tables."""


def site_rng(seed: int, site: int, number: int) -> np.random.Generator:
    """The generator of a site's learner (its place, from 0) in a round (from 1): the same in every
    engine."""
    return np.random.default_rng([seed, LEARNER_STREAM, site, number])


def client_round(
    dataset: Dataset,
    schema: Schema,
    settings: LearnerSettings,
    rng: np.random.Generator,
    start: DAG | None = None,
    *,
    given: bool = False,
    variables: str = "same",
) -> tuple[StructureMessage, tuple[LearnedStructures, ...]]:
    """Learn from one client's table, once per row weight; the message is what may leave, the rest,
    one for each row weight, is for the client.

    Scores count the client's own states (docs/decisions/014): a site can add as many states to the
    union as it likes, and a penalty that counts them would silence all others.

    Parameters
    ----------
    dataset, schema : the client's table, whose columns are those of the agreed schema.
    settings, rng : the learner.
    start : the consensus of the round before, from which the search restarts.
    given : whether the run gave the schema; then all of its states count, as they always do for a
        private learner, whose noise must not depend on the states that the table has.
    variables : "union" where the table may lack columns of the schema: these are isolated in the
        message; start, knowledge and bounds are restricted to the table's own.

    Raises SchemaError: the table has a column or a state that the schema lacks, or lacks a column.
    """
    own = schema if variables == "same" else own_part(schema, dataset.names)
    agreed = dataset.with_schema(own)
    if start is not None and own.names != schema.names:
        start = marginal_imap(start, own.names)
    if settings.knowledge is not None and own.names != schema.names:
        known = read_knowledge(settings.knowledge).of_some(own.names)
        settings = replace(settings, knowledge=known.text)
    if settings.bounds is not None and own.names != schema.names:
        own_bounds = bounds_of_some(settings.bounds, schema.names, own.names)
        settings = replace(settings, bounds=own_bounds)
    table = agreed if given or learner_for(settings).is_private else dataset
    ladder = settings.ladder
    rungs = learn_ladder(table, settings, rng, start)
    met = frozenset(limit for learned in rungs for limit in learned.met)
    message = StructureMessage(
        schema.hash,
        schema.names,
        tuple(dag.extend(schema.names) for learned in rungs for dag in learned.dags),
        tuple(weight for learned in rungs for weight in learned.weights),
        status_of(met),
        row_weights=tuple(k for k, of in zip(ladder, rungs, strict=True) for _ in of.dags),
    )
    return message, rungs


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
    replies : the good ones, at most one per client; `without_dense` refuses some.
    refused : (client, reason) of the others.
    settings : good replies that are needed, density, search and reading.
    progress : called as progress(deletions done, edges of G+).

    Raises QuorumError: there are too few good replies; the first refusals are named.
    """
    ordered = sorted(replies, key=lambda reply: reply.client)
    kept, dense = without_dense(ordered, settings.max_edges_ratio)
    everything_refused = (*state.refused, *refused, *dense)
    require_quorum(len(kept), state.n_clients, settings, everything_refused)
    result = _fuse_kept(state, kept, everything_refused, settings, progress)
    before = state.result
    if before is not None:
        as_before = before.consensus.dag == result.consensus.dag
        result = replace(result, rounds=before.rounds + 1, converged=as_before)
    return replace(state, refused=everything_refused, result=result)


def update_clients(
    state: ServerState,
    settings: ConsensusSettings,
    *,
    added: Sequence[ClientReply] = (),
    removed: Sequence[str] = (),
) -> ServerState:
    """The last round fused anew with other clients, nobody being asked again.

    After one round this is the run with these clients from the start. After several, the structures
    of those who stay were learned from consensuses that the others shared in.

    Parameters
    ----------
    state : after at least one round.
    settings : as in that round.
    added : replies of new clients, over the agreed names.
    removed : names of clients that leave.

    Raises ConfigError: a client to be removed is not there, or a new one has the name of another;
    QuorumError: no client is left.
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
    refused = (*before.refused, *dense)
    result = _fuse_kept(state, kept, refused, settings)
    result = replace(result, rounds=before.rounds, groups=before.groups)
    return replace(state, n_clients=len(replies), refused=refused, result=result)


def _fuse_kept(
    state: ServerState,
    kept: tuple[ClientReply, ...],
    refused: tuple[tuple[str, str], ...],
    settings: ConsensusSettings,
    progress: Progress | None = None,
) -> FederationResult:
    """The result of a first round with these good replies."""
    _require_columns(kept, state.schema, settings, refused)
    classes, chosen = fuse_needed(kept, state.schema, settings, progress)
    return FederationResult(
        schema=state.schema,
        replies=kept,
        refused=refused,
        lone_states=state.lone_states,
        divided=state.divided,
        path=chosen.path,
        consensus=chosen.consensus,
        rounds=1,
        converged=False,
        row_weight=chosen.row_weight,
        classes=classes,
    )


def _require_columns(
    replies: Sequence[ClientReply],
    schema: Schema,
    settings: ConsensusSettings,
    refused: Sequence[tuple[str, str]],
) -> None:
    """Raise QuorumError where too few are left who have a column: none, or fewer than min-sites."""
    least = settings.min_sites if settings.variables == "union" else 1
    known = Counter(name for reply in replies for name in reply.dags[0].names)
    rare = [name for name in schema.names if known[name] < least]
    if not rare:
        return
    reasons = "".join(f"; {reason}" for _, reason in refused[:3])
    few = "no good reply is" if least == 1 else f"fewer good replies than min-sites ({least}) are"
    raise QuorumError(f"{few} about {list_some(rare, 5)}{reasons}")


def fuse_needed(
    replies: Sequence[ClientReply],
    schema: Schema,
    settings: ConsensusSettings,
    progress: Progress | None = None,
) -> tuple[tuple[FusedClass, ...], FusedClass]:
    """The fusions that the choice needs, by ascending row weight, and the one that is taken.

    The rule of structures (`fedbn.choice.ladder`) needs no fusion: where nothing else chooses, no
    other class is fused. Raises ConfigError as `fuse_classes` does.
    """
    replies = paid_replies(replies, schema)
    taken = row_weight_of_structures(replies, cast(Variables, settings.variables))
    if settings.choose == "smhd":
        classes: tuple[FusedClass, ...] = (_fused_class(taken, replies, settings, progress),)
    else:
        classes = fuse_classes(replies, settings, progress)
    return classes, next(fused for fused in classes if fused.row_weight == taken)


def fuse_classes(
    replies: Sequence[ClientReply],
    settings: ConsensusSettings,
    progress: Progress | None = None,
) -> tuple[FusedClass, ...]:
    """The fusion of every row-weight class that at least half of the replies have, by ascending row
    weight; raises as `row_weights_of`."""
    weights = row_weights_of(replies)
    return tuple(_fused_class(k, replies, settings, progress) for k in weights)


def row_weights_of(replies: Sequence[ClientReply]) -> tuple[float, ...]:
    """The row weights of which at least half of the replies have structures, ascending.

    Raises ConfigError: the replies have different classes, not counting what was left out; or no
    class is left.
    """
    sent = [{*reply.row_weights} for reply in replies]
    wanted = set().union(*sent)
    for reply in replies:
        own = {*reply.row_weights, *(k for k, _ in reply.left_out)}
        if not wanted <= own:
            raise ConfigError(
                f"all replies must have the row weights {sorted(wanted)}, {reply.client!r} has "
                f"{sorted(own)}"
            )
    many = {k for k in wanted if 2 * sum(k in own for own in sent) >= len(replies)}
    if not many:
        raise ConfigError(
            "no row weight is in half of the replies: at the other sites it broke limits"
        )
    return tuple(sorted(many))


def row_weight_of_structures(
    replies: Sequence[ClientReply], variables: Variables = "same"
) -> float:
    """The class that is taken when only structures are known (`fedbn.choice.ladder`), of replies as
    they are fused (`paid_replies`)."""
    weights = row_weights_of(replies)
    if len(weights) == 1:
        return weights[0]
    chance_pairs = []
    for k in weights:
        own = _of_class(k, replies)
        inputs = merge_inputs(*_weigh(own)[:2], variables)
        seen = None if inputs.observed is None else inputs.seen
        votes = moral_votes_of(inputs)
        chance_pairs.append(expected_chance_pairs(votes, inputs.total, len(own), seen))
    return weights[class_by_chance(chance_pairs)]


def _of_class(row_weight: float, replies: Sequence[ClientReply]) -> list[ClientReply]:
    """The replies that have structures of a class, with these alone."""
    return [reply.of_class(row_weight) for reply in replies if row_weight in reply.row_weights]


def _weigh(replies: Sequence[ClientReply]) -> tuple[list[DAG], list[int], list[str]]:
    """All structures, with weights of the same total for every client, none of weight 0; and whose
    they are."""
    shares = integer_weights(
        [reply.weights for reply in replies], [reply.dags for reply in replies]
    )
    weighted = [
        (dag, share, reply.client)
        for reply, of_reply in zip(replies, shares, strict=True)
        for dag, share in zip(reply.dags, of_reply, strict=True)
        if share > 0
    ]
    dags, integers = [dag for dag, _, _ in weighted], [share for _, share, _ in weighted]
    return dags, integers, [client for _, _, client in weighted]


def _fused_class(
    row_weight: float,
    replies: Sequence[ClientReply],
    settings: ConsensusSettings,
    progress: Progress | None,
) -> FusedClass:
    """The paths and the consensus of one class; every client has the same total weight."""
    if settings.aggregation != "open":
        raise ConfigError(
            f"structures that are here are fused in the open, not by {settings.aggregation}"
        )
    dags, weights, sites = _weigh(_of_class(row_weight, replies))
    paths, path, consensus = fuse_weighted(dags, weights, settings, progress=progress, sites=sites)
    return FusedClass(row_weight, paths, path, consensus)


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
        f"at least {count_of(needed, 'good reply')} of {count_of(n_clients, 'client')} "
        f"{'is' if needed == 1 else 'are'} needed, not {good}{reasons}"
    )
