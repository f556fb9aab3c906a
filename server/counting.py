"""After the last round: the requests for counts, where the run chooses by them.

The dialogue itself is `fedbn.federation.counting`; here its requests become messages, and the
replies checked answers. A site that sends none is named with its reason, as in the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flwr.app import Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.errors import QuorumError
from fedbn.federation.counting import advance, conclude, open_counting, request
from fedbn.federation.family_message import (
    ANSWERS,
    FamilyAnswer,
    FamilyRequest,
    answer_from_arrays,
    request_to_arrays,
)
from fedbn.federation.rounds import require_quorum
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.runs import ServerRun
from fedbn.federation.state import FederationResult, ServerState
from server.replies import LOG, arrays_in, read_replies, record_of, task_record

COUNTS = f"{MessageType.QUERY}.counts"


def choose_by_counts(
    grid: Grid,
    state: ServerState,
    clients: Mapping[int, str],
    run: ServerRun,
    timeout: float | None,
) -> ServerState:
    """The state with the structure that the counts chose.

    Too few answers leave the structure of the rounds in place, with a warning in the log: a site's
    policy lets no counts leave unless it says so.

    Parameters
    ----------
    grid, clients : whom to ask, node id -> client name.
    state : after the last round.
    run : how to choose, and the quorum.
    timeout : seconds to wait for the replies to one request.
    """
    assert state.result is not None
    dialogue = open_counting(
        state.result,
        choose=run.consensus.choose,
        count_rounds=run.consensus.count_rounds,
        ess=run.learner.ess,
        seed=run.seed,
        site_column=run.consensus.site_column,
    )
    number = 0
    taking_part = {reply.client for reply in state.result.replies}
    nodes = {node: name for node, name in clients.items() if name in taking_part}
    refused: dict[str, str] = {}
    while (wanted := request(dialogue)) is not None:
        number += 1
        answers, reasons = answers_to(grid, nodes, wanted, state.result, run, timeout, number)
        refused |= reasons
        try:
            if number == 1:
                require_quorum(
                    len(answers), state.n_clients, run.consensus, sorted(reasons.items())
                )
        except QuorumError as error:
            LOG.warning("the structures alone choose: %s", error)
            break
        dialogue = advance(dialogue, answers)
        nodes = {node: name for node, name in nodes.items() if name in answers}
    everything = (*state.refused, *sorted(refused.items()))
    result = replace(conclude(state.result, dialogue), refused=everything)
    for remark in run_remarks(result):
        if remark not in run_remarks(state.result):
            LOG.warning("%s", remark)
    return replace(state, refused=everything, result=result)


def answers_to(
    grid: Grid,
    nodes: Mapping[int, str],
    wanted: FamilyRequest,
    result: FederationResult,
    run: ServerRun,
    timeout: float | None,
    number: int = 1,
) -> tuple[dict[str, FamilyAnswer], dict[str, str]]:
    """Site -> its checked answer to one request for counts, and site -> why it has none."""
    task = task_record(result.schema, result.rounds)
    content = RecordDict({"task": task, "families": record_of(request_to_arrays(wanted))})
    messages = [Message(content, node, COUNTS) for node in sorted(nodes)]

    def read(reply: RecordDict, node: int) -> FamilyAnswer:
        arrays = arrays_in(reply, ANSWERS, run.limits, nodes[node])
        return answer_from_arrays(arrays, wanted, run.learner.ess, sender=nodes[node])

    found, reasons = read_replies(grid, messages, nodes, timeout, read)
    refused = {nodes[node]: f"counts {number}: {reason}" for node, reason in reasons.items()}
    for reason in refused.values():
        LOG.warning("refused: %s", reason)
    return {nodes[node]: answer for node, answer in found.items()}, refused
