"""Structural consensus as a Flower strategy: aggregation of DAGs, never of numbers.

Flower's loop asks `configure_train` for messages and gives the replies to `aggregate_train`; this
class decodes them, refuses what is not a good reply, and leaves the method itself to
`fedbn.federation.rounds.server_round`. The global "arrays" of Flower are the consensus as one
message.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from logging import INFO, WARNING

from flwr.app import (
    ArrayRecord,
    ConfigRecord,
    Message,
    MessageType,
    MetricRecord,
    RecordDict,
)
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from fedbn.consensus.remarks import remarks
from fedbn.errors import MessageError
from fedbn.federation import rounds
from fedbn.federation.message import (
    STRUCTURES,
    StructureMessage,
    dags_over,
    rungs_from_arrays,
    to_arrays,
)
from fedbn.federation.reply_limits import Limits
from fedbn.federation.rounds import Progress
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, ServerState
from server.replies import (
    LOG,
    arrays_in,
    diagnostic,
    first_replies,
    read_replies,
    record_of,
    task_record,
)


class StructuralConsensus(Strategy):
    """Every client learns, the server fuses; from the second round on, from the consensus.

    Parameters
    ----------
    state : the agreed schema and who was refused in the handshake.
    clients : node id -> client name, of those that take part.
    settings : quorum, search, reading.
    limits : what a reply may hold at most.
    progress : of the fusion.
    keep : called with the state after every round.
    remarks : node id -> what to tell that client about its columns, with its first task.
    ladder : the row weights that every reply must have structures for.
    columns : client -> the agreed columns that it has; all of them where it is not there.

    Attributes
    ----------
    state : after the last round, with its result.
    seconds : CPU seconds that the fusions took.
    """

    def __init__(
        self,
        state: ServerState,
        clients: Mapping[int, str],
        settings: ConsensusSettings,
        limits: Limits | None = None,
        progress: Progress | None = None,
        keep: Callable[[ServerState], None] | None = None,
        remarks: Mapping[int, str] | None = None,
        ladder: tuple[float, ...] = (1.0,),
        columns: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.columns = dict(columns or {})
        self.ladder = ladder
        self.state = state
        self.keep = keep or (lambda _: None)
        self.remarks = dict(remarks or {})
        self.clients = dict(clients)
        self.settings = settings
        self.limits = limits or Limits()
        self.progress = progress
        self.seconds = 0.0
        self._done_before = rounds_done(state)
        self._asked: list[Message] = []

    def summary(self) -> None:
        """Log what will be done."""
        LOG.log(INFO, "structural consensus of %d clients", len(self.clients))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """One request per client that is still there; none once nothing changes any more."""
        self._asked, awaited = [], list[str]()
        if self.state.converged:
            return []
        schema, number = self.state.schema, self._done_before + server_round
        present = set(grid.get_node_ids())
        for node in sorted(self.clients, key=self.clients.__getitem__):
            if node not in present:
                continue
            task = task_record(schema, number, report=self.remarks.pop(node, ""))
            content = RecordDict({"task": task})
            if len(arrays):
                content["consensus"] = arrays
            message = Message(content, node, MessageType.TRAIN, group_id=str(number))
            self._asked.append(message)
            awaited.append(self.clients[node])
        LOG.log(INFO, "round %d: waiting for %s", number, ", ".join(awaited))
        return list(self._asked)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Decode and check every reply, then fuse the good ones and keep the state.

        The metrics are those of `round_metrics`; Flower's loop prints them.
        """
        if self.state.converged:
            return None, None
        good, refused = self._sort_out(self._done_before + server_round, replies)
        known = len(self.state.refused) + len(refused)
        began = time.process_time()
        self.state = rounds.server_round(self.state, good, refused, self.settings, self.progress)
        for _, reason in self.state.refused[known:]:
            LOG.log(WARNING, "refused: %s", reason)
        assert self.state.result is not None
        result = self.state.result
        for remark in (*remarks(result.path, result.consensus), *run_remarks(result)):
            LOG.log(WARNING, "%s", remark)
        self.seconds += time.process_time() - began
        self.keep(self.state)
        return consensus_arrays(self.state), round_metrics(self.state, len(good), len(refused))

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Nothing: clients never score the consensus for the server."""
        return []

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Nothing to aggregate."""
        return None

    def _sort_out(
        self, number: int, replies: Iterable[Message]
    ) -> tuple[list[ClientReply], list[tuple[str, str]]]:
        """The good replies, and (client, reason) for every client without one."""
        by_node = first_replies(replies, self._asked)
        good, reasons = read_replies(by_node, self.clients, self._decode)
        refused = {client: f"round {number}: {reason}" for client, reason in reasons.items()}
        for reason in refused.values():
            LOG.log(WARNING, "refused: %s", reason)
        return list(good.values()), sorted(refused.items())

    def _decode(self, content: RecordDict, client: str) -> ClientReply:
        """The content of a reply as checked structures; raises MessageError naming the client."""
        arrays = arrays_in(content, STRUCTURES, self.limits, client)
        message, left_out = rungs_from_arrays(
            arrays, self.state.schema, limits=self.limits, sender=client
        )
        found = tuple(sorted({*message.row_weights, *(k for k, _ in left_out)}))
        if found != self.ladder:
            raise MessageError(
                f"{client}: the row weights must be {list(self.ladder)}, not {list(found)}"
            )
        return ClientReply(
            client=client,
            dags=dags_over(message, self.columns.get(client, message.names), client),
            weights=message.weights,
            status=message.status,
            rows=diagnostic(content, "rows", int),
            rows_dropped=diagnostic(content, "rows_dropped", int) or 0,
            seconds=_finite(diagnostic(content, "seconds", float)),
            row_weights=message.row_weights,
            left_out=left_out,
        )


def consensus_arrays(state: ServerState) -> ArrayRecord:
    """The consensus so far as Flower's global arrays; none before the first round."""
    if state.result is None:
        return ArrayRecord()
    schema, dag = state.schema, state.result.consensus.dag
    message = StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete")
    return record_of(to_arrays(message))


def round_metrics(state: ServerState, good: int, refused: int) -> MetricRecord:
    """What came of a round: good and refused replies, and the consensus so far.

    `theta` is left out where the consensus has none (see `Consensus`).
    """
    assert state.result is not None
    consensus = state.result.consensus
    metrics: dict[str, int | float] = {
        "good": good,
        "refused": refused,
        "edges": len(consensus.dag.edges),
        "mean-smhd": float(consensus.mean_smhd),
        "gap": float(consensus.gap),
    }
    if consensus.theta is not None:
        metrics["theta"] = float(consensus.theta)
    return MetricRecord(dict(metrics))


def rounds_done(state: ServerState) -> int:
    """How many rounds the state comes from."""
    return 0 if state.result is None else state.result.rounds


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value >= 0 else None
