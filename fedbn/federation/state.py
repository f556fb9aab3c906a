"""What a federated run has so far, as frozen values: replies, their fusions, result, state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.ladder import paid_structures
from fedbn.consensus.path import McbncPath
from fedbn.consensus.threshold import Consensus
from fedbn.data.schema import Schema
from fedbn.federation.missing_shares import MissingShares
from fedbn.graphs.dag import DAG


@dataclass(frozen=True)
class ClientReply:
    """What one client sent in a round.

    Attributes
    ----------
    client : its name at the server.
    dags, weights : its structures over the agreed names that it has, and a positive weight for
        each.
    status : a word of `fedbn.federation.message.STATUSES`.
    rows, seconds : rows of its table and CPU seconds of its search, where it shares them.
    row_weights : the row-weight class of each structure; empty for 1 each.
    rows_dropped : rows that it left out, as a cell was missing; 0 where it does not say.
    left_out : (row weight, reason) of the classes of which a structure broke a limit.
    missing : of columns with imputed cells, at most what share of them, where it tells.
    """

    client: str
    dags: tuple[DAG, ...]
    weights: tuple[float, ...]
    status: str
    rows: int | None = None
    seconds: float | None = None
    row_weights: tuple[float, ...] = ()
    rows_dropped: int = 0
    left_out: tuple[tuple[float, str], ...] = ()
    missing: MissingShares = ()

    def __post_init__(self) -> None:
        if not self.row_weights:
            object.__setattr__(self, "row_weights", (1.0,) * len(self.dags))

    def of_class(self, row_weight: float) -> ClientReply:
        """The reply with the structures of one row-weight class alone."""
        kept = [i for i, k in enumerate(self.row_weights) if k == row_weight]
        return replace(
            self,
            dags=tuple(self.dags[i] for i in kept),
            weights=tuple(self.weights[i] for i in kept),
            row_weights=tuple(self.row_weights[i] for i in kept),
        )


def paid_replies(replies: Sequence[ClientReply], schema: Schema) -> tuple[ClientReply, ...]:
    """The replies as they are fused: without the parents that a larger row weight brought and that
    the rows of all sites do not pay for (`fedbn.choice.ladder`)."""
    if len({k for reply in replies for k in reply.row_weights}) < 2:
        return tuple(replies)
    rungs = [
        {k: reply.of_class(k).dags for k in dict.fromkeys(reply.row_weights)} for reply in replies
    ]
    paid_for = []
    for reply, paid in zip(replies, paid_structures(rungs, schema), strict=True):
        waiting = {k: iter(dags) for k, dags in paid.items()}
        paid_for.append(replace(reply, dags=tuple(next(waiting[k]) for k in reply.row_weights)))
    return tuple(paid_for)


@dataclass(frozen=True, eq=False)
class FusedClass:
    """The fusion of one row-weight class: its paths, the one that was taken, and its consensus."""

    row_weight: float
    paths: tuple[McbncPath, ...]
    path: McbncPath
    consensus: Consensus


@dataclass(frozen=True)
class FederationResult:
    """What a federated run gives.

    Attributes
    ----------
    schema, replies : the agreed schema; the good replies of the last round, by client name.
    refused : (client, reason) of every reply that was not used, in any round.
    lone_states : (client, column, state) of the states that one site alone has.
    path, consensus : of the last round, and of the row-weight class that was taken.
    rounds, converged : how many there were; whether the last left the consensus as it was.
    row_weight : the class that was taken.
    classes : the fusions of all classes, by ascending row weight; of the class that was taken
        alone, where nothing but structures chooses.
    choice : what counts of families said, where they were asked for.
    divided : columns that are constant within every site, but differ between sites.
    groups : two groups of sites with structures of their own, which counts would have mixed.
    """

    schema: Schema
    replies: tuple[ClientReply, ...]
    refused: tuple[tuple[str, str], ...]
    path: McbncPath
    consensus: Consensus
    rounds: int
    converged: bool
    row_weight: float = 1.0
    lone_states: tuple[tuple[str, str, str], ...] = ()
    classes: tuple[FusedClass, ...] = ()
    choice: CountedChoice | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    divided: tuple[str, ...] = ()

    @property
    def fused_replies(self) -> tuple[ClientReply, ...]:
        """The replies with the structures of the class that was taken, as they were fused."""
        return tuple(
            reply.of_class(self.row_weight)
            for reply in paid_replies(self.replies, self.schema)
            if self.row_weight in reply.row_weights
        )


@dataclass(frozen=True)
class ServerState:
    """The server between two rounds: the agreed schema, and the result of the rounds so far.
    `refused` holds refusals from before the first round, too; the rest is as in
    `FederationResult`."""

    schema: Schema
    n_clients: int
    refused: tuple[tuple[str, str], ...] = ()
    result: FederationResult | None = None
    lone_states: tuple[tuple[str, str, str], ...] = ()
    divided: tuple[str, ...] = ()

    @property
    def fused(self) -> FederationResult:
        """The result, where there was a round."""
        assert self.result is not None
        return self.result

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return 0 if self.result is None else self.result.rounds

    @property
    def converged(self) -> bool:
        """Whether another round would change nothing."""
        return self.result is not None and self.result.converged
