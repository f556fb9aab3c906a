"""The rounds of structures: every client learns, the server fuses; from the second round on the
clients begin with the consensus.

The method itself is `fedbn.federation.rounds.server_round`; here its requests become messages, and
what is no good reply is refused.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from flwr.app import MessageType, RecordDict

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
from fedbn.federation.missing_shares import read_shares
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import Experiment
from fedbn.federation.state import ClientReply, ServerState
from fedbn.wording import count_of
from server.checkpoint import keep
from server.handshake import Handshake
from server.replies import LOG, REMARKS, arrays_in, diagnostic, record_of, task_record


def another_round(state: ServerState, run: Experiment) -> bool:
    """Whether another round is due: not once nothing changes any more."""
    return not state.converged and state.rounds < run.rounds.rounds_limit


def run_rounds(shaken: Handshake, run: Experiment) -> tuple[ServerState, float]:
    """The state after all rounds that are due, which is kept after every one, and the CPU seconds
    of the fusions; raises as `server_round` and `keep` do."""
    state, seconds, told = shaken.state, 0.0, dict(shaken.remarks)
    LOG.info("structural consensus of %d clients", len(shaken.sites.clients))
    while another_round(state, run):
        good, refused = _ask(shaken, state, run, told)
        began, known = time.process_time(), len(state.refused) + len(refused)
        state = rounds.server_round(state, good, refused, run.consensus)
        result = state.fused
        for _, reason in state.refused[known:]:
            LOG.warning("refused: %s", reason)
        for words in (*remarks(result.path, result.consensus), *run_remarks(result)):
            REMARKS.warning("%s", words)
        seconds += time.process_time() - began
        keep(state, run)
        LOG.info("round %d: %s", result.rounds, _facts(state, len(good), len(refused)))
    return state, seconds


def _ask(
    shaken: Handshake, state: ServerState, run: Experiment, told: dict[int, str]
) -> tuple[Sequence[ClientReply], Sequence[tuple[str, str]]]:
    """The good replies to a round's request, and (client, reason) for every client without one.

    `told` is what a client is still to be told of its columns (node id -> words); who is not there
    is not asked.
    """
    number, sites = state.rounds + 1, shaken.sites
    present = sites.only(
        {sites.clients[k] for k in sites.grid.get_node_ids() if k in sites.clients}
    )
    more = {}
    if state.result is not None:
        schema, dag = state.schema, state.result.consensus.dag
        consensus = StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete")
        more["consensus"] = record_of(to_arrays(consensus))
    contents = {
        client: RecordDict(
            {"task": task_record(state.schema, number, report=told.pop(node, "")), **more}
        )
        for node, client in present.clients.items()
    }
    LOG.info("round %d: waiting for %s", number, ", ".join(sorted(contents)))

    def read(content: RecordDict, client: str) -> ClientReply:
        return _reply(content, client, shaken, run)

    good, reasons = present.ask_each(MessageType.TRAIN, contents, read)
    absent = set(sites.clients.values()) - set(contents)
    reasons |= {client: f"{client}: no reply" for client in absent}
    refused = [(client, f"round {number}: {reason}") for client, reason in sorted(reasons.items())]
    for _, reason in refused:
        LOG.warning("refused: %s", reason)
    return list(good.values()), refused


def _reply(content: RecordDict, client: str, shaken: Handshake, run: Experiment) -> ClientReply:
    """The content of a reply as checked structures; raises MessageError."""
    arrays = arrays_in(content, STRUCTURES, run.limits)
    message, left_out = rungs_from_arrays(arrays, shaken.state.schema, limits=run.limits)
    found = tuple(sorted({*message.row_weights, *(k for k, _ in left_out)}))
    if found != run.learner.ladder:
        raise MessageError(f"the row weights must be {list(run.learner.ladder)}, not {list(found)}")
    seconds = diagnostic(content, "seconds", float)
    return ClientReply(
        client=client,
        dags=dags_over(message, shaken.columns.get(client, message.names)),
        weights=message.weights,
        status=message.status,
        rows=diagnostic(content, "rows", int),
        rows_dropped=diagnostic(content, "rows_dropped", int) or 0,
        seconds=seconds if seconds is not None and 0 <= seconds < math.inf else None,
        missing=read_shares(diagnostic(content, "missing", str) or "{}", shaken.state.schema.names),
        row_weights=message.row_weights,
        left_out=left_out,
    )


def _facts(state: ServerState, good: int, refused: int) -> str:
    """What came of a round, for the log; θ is left out where the consensus has none."""
    consensus = state.fused.consensus
    theta = "" if consensus.theta is None else f", θ {float(consensus.theta):g}"
    return (
        f"{good} good, {refused} refused; {count_of(consensus.dag.n_edges, 'edge')}, mean SMHD "
        f"{float(consensus.mean_smhd):g}, gap {float(consensus.gap):g}{theta}"
    )
