"""After the last round: the requests for counts, where the run chooses by them.

The dialogue itself is `fedbn.federation.counting`; here its requests become messages, and the
replies checked answers. A site that sends none is named with its reason, as in the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.data.dataset import Schema
from fedbn.errors import MessageError, QuorumError
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
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult, ServerState
from server.replies import LOG, arrays_in, content_of, record_of, replies_by_node

COUNTS = f"{MessageType.QUERY}.counts"


def choose_by_counts(
    grid: Grid,
    state: ServerState,
    clients: Mapping[int, str],
    experiment: Experiment,
    timeout: float | None,
) -> ServerState:
    """The state with the structure that the counts chose.

    Too few answers leave the structure of the rounds in place, with a warning in the log: a site's
    policy lets no counts leave unless it says so.

    Parameters
    ----------
    grid, clients : whom to ask, node id -> client name.
    state : after the last round.
    experiment : how to choose, and the quorum.
    timeout : seconds to wait for the replies to one request.
    """
    assert state.result is not None
    dialogue = open_counting(
        state.result,
        choose=experiment.consensus.choose,
        count_rounds=experiment.consensus.count_rounds,
        ess=experiment.learner.ess,
        seed=experiment.seed,
        site_column=experiment.consensus.site_column,
    )
    number = 0
    taking_part = {reply.client for reply in state.result.replies}
    nodes = {node: name for node, name in clients.items() if name in taking_part}
    refused: dict[str, str] = {}
    while (wanted := request(dialogue)) is not None:
        number += 1
        answers, reasons = answers_to(
            grid, nodes, wanted, state.result, experiment, timeout, number
        )
        refused |= reasons
        try:
            if number == 1:
                require_quorum(
                    len(answers), state.n_clients, experiment.consensus, sorted(reasons.items())
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
    experiment: Experiment,
    timeout: float | None,
    number: int = 1,
) -> tuple[dict[str, FamilyAnswer], dict[str, str]]:
    """Site -> its checked answer to one request for counts, and site -> why it has none."""
    messages = _messages(nodes, wanted, result.schema, result.rounds)
    return _sort_out(replies_by_node(grid, messages, timeout), nodes, wanted, experiment, number)


def _messages(
    nodes: Mapping[int, str], wanted: FamilyRequest, schema: Schema, number: int
) -> list[Message]:
    task = ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash, "round": number})
    content = RecordDict({"task": task, "families": record_of(request_to_arrays(wanted))})
    return [Message(content, node, COUNTS) for node in sorted(nodes)]


def _sort_out(
    by_node: Mapping[int, Message],
    nodes: Mapping[int, str],
    wanted: FamilyRequest,
    experiment: Experiment,
    number: int,
) -> tuple[dict[str, FamilyAnswer], dict[str, str]]:
    """Site -> its answer, and site -> the reason why it has none."""
    answers: dict[str, FamilyAnswer] = {}
    refused: dict[str, str] = {}
    for node, client in nodes.items():
        try:
            if node not in by_node:
                raise MessageError(f"{client}: no reply")
            answers[client] = _answer(by_node[node], client, wanted, experiment)
        except MessageError as error:
            refused[client] = f"counts {number}: {error}"
            LOG.warning("refused: %s", refused[client])
    return answers, refused


def _answer(
    reply: Message, client: str, wanted: FamilyRequest, experiment: Experiment
) -> FamilyAnswer:
    content, limits = content_of(reply, client), experiment.limits
    arrays = arrays_in(content, ANSWERS, limits, client)
    return answer_from_arrays(arrays, wanted, experiment.learner.ess, sender=client)
