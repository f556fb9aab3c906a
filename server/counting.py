"""After the last round: the requests for counts, where the run chooses by them.

The dialogue itself is that of `fedbn.federation.judged_counting.begin_choosing`; here its requests
become messages, and the replies checked answers. Where columns are numbers it is one request for
sums of products (`fedbn.federation.summing`). A site that sends none is named with its reason, as
in the rounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from flwr.app import MessageType, RecordDict

from fedbn.errors import DataError, QuorumError
from fedbn.federation.family_message import (
    ANSWERS,
    FamilyAnswer,
    FamilyRequest,
    answer_from_arrays,
    request_to_arrays,
)
from fedbn.federation.judged_counting import begin_choosing
from fedbn.federation.rounds import require_quorum
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.federation.sums_message import SCATTERS, require_askable, scatter_from_arrays
from fedbn.federation.whole_families import columns_of, requests_of
from fedbn.scores.scatter import Scatter
from fedbn.wording import count_of
from server.replies import LOG, REMARKS, STAGES, Sites, arrays_in, record_of, task_record

COUNTS = f"{MessageType.QUERY}.counts"
SCATTER = f"{MessageType.QUERY}.scatter"


def choose_by_counts(sites: Sites, state: ServerState, run: Experiment) -> ServerState:
    """The state after the last round with the structure that the counts chose, where the run wants
    that. Too few answers leave the structure of the rounds in place, with a warning in the log: a
    site's policy lets no counts leave unless it says so."""
    if run.consensus.choose == "smhd":
        return state
    if state.schema.kind != "categorical":
        return _choose_by_sums(sites, state, run)
    dialogue = begin_choosing(state.fused, run.consensus, run.learner.ess, run.seed)
    number = 0
    sites = sites.only({reply.client for reply in state.fused.replies})
    refused: dict[str, str] = {}
    while (wanted := dialogue.request()) is not None:
        number += 1
        told = count_of(len(wanted.tables.families), "family")
        STAGES.info("choosing by counts, request %d, for %s: sites", number, told)
        answers, reasons = answers_to(sites, wanted, state.fused, run, number)
        refused |= reasons
        try:
            if number == 1:
                require_quorum(
                    len(answers), state.n_clients, run.consensus, sorted(reasons.items())
                )
                sites = sites.only(answers)
        except QuorumError as error:
            LOG.warning("the structures alone choose: %s", error)
            break
        if not answers:
            break
        STAGES.info("choosing by counts, after request %d", number)
        dialogue = dialogue.hear(answers)
    return _with_choice(state, dialogue.conclude(state.fused), refused)


def _choose_by_sums(sites: Sites, state: ServerState, run: Experiment) -> ServerState:
    """The state with the structure that sums of products chose."""
    result, refused = state.fused, dict[str, str]()
    try:
        require_askable(state.schema)
        scatters, refused = _scatters(sites, result, run)
        require_quorum(len(scatters), state.n_clients, run.consensus, sorted(refused.items()))
    except (QuorumError, DataError) as error:
        LOG.warning("the structures alone choose: %s", error)
    else:
        STAGES.info("choosing by sums of products")
        result = choose_by_sums(result, scatters, run.consensus, run.seed)
    return _with_choice(state, result, refused)


def _with_choice(
    state: ServerState, result: FederationResult, refused: Mapping[str, str]
) -> ServerState:
    """The state with a result that counts or sums chose, and with who gave none; what is to be said
    of it that was not before is logged."""
    everything = (*state.refused, *sorted(refused.items()))
    result = replace(result, refused=everything)
    for remark in run_remarks(result):
        if remark not in run_remarks(state.fused):
            REMARKS.warning("%s", remark)
    return replace(state, refused=everything, result=result)


def _scatters(
    sites: Sites, result: FederationResult, run: Experiment
) -> tuple[dict[str, Scatter], dict[str, str]]:
    """Site -> its checked sums of the columns that it has, and site -> why it has none."""
    content = RecordDict({"task": task_record(result.schema, result.rounds)})
    schemas = {
        reply.client: result.schema.restrict(reply.dags[0].names) for reply in result.replies
    }

    def read(reply: RecordDict, client: str) -> Scatter:
        return scatter_from_arrays(arrays_in(reply, SCATTERS, run.limits), schemas[client])

    found, reasons = sites.ask_each(SCATTER, dict.fromkeys(schemas, content), read)
    refused = {client: f"sums: {reason}" for client, reason in reasons.items()}
    for reason in refused.values():
        LOG.warning("refused: %s", reason)
    return found, refused


def answers_to(
    sites: Sites, wanted: FamilyRequest, result: FederationResult, run: Experiment, number: int = 1
) -> tuple[dict[str, FamilyAnswer], dict[str, str]]:
    """Site -> its checked answer to one request for counts, and site -> why it has none; a site is
    asked for the families that it has all columns of, if there are some."""
    asked = requests_of(wanted, columns_of(result))
    task = task_record(result.schema, result.rounds)
    made = {
        own: RecordDict({"task": task, "families": record_of(request_to_arrays(own))})
        for own in set(asked.values())
    }
    contents = {site: made[own] for site, own in asked.items()}

    def read(reply: RecordDict, client: str) -> FamilyAnswer:
        arrays = arrays_in(reply, ANSWERS, run.limits)
        return answer_from_arrays(arrays, asked[client], run.learner.ess)

    found, reasons = sites.ask_each(COUNTS, contents, read)
    refused = {client: f"counts {number}: {reason}" for client, reason in reasons.items()}
    for reason in refused.values():
        LOG.warning("refused: %s", reason)
    return found, refused
