"""Before the first round: who takes part, under which names, and the schema they agree on."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

import fedbn
from fedbn.data.cuts import Cuts, cuts_text
from fedbn.data.schema import Schema
from fedbn.errors import QuorumError, SchemaError, did_you_mean
from fedbn.federation.agreement import (
    Agreement,
    dividing_columns,
    list_alone,
    negotiate,
    own_states,
    remark,
)
from fedbn.federation.records import SCHEMA
from fedbn.federation.reply_limits import Limits
from fedbn.federation.rounds import require_quorum
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import ServerState
from fedbn.wording import count_of, list_some, printable
from server.replies import LOG, Sites, diagnostic, read_replies, replies_by_node

REPORT = f"{MessageType.QUERY}.report"
SOMEBODY = ConsensusSettings(min_replies=1, min_fraction=0.0)
"""The quorum of a negotiation: who differs is told so even if the run will not start."""

CONTRACT = ": contract"
"""The end of the reason of a site with another contract."""

SHOWN = 5
"""Sites that an error names."""

REPORT_SECONDS = 60.0
"""How long the server waits until the sites that do not match have their reports."""


@dataclass(frozen=True)
class Handshake:
    """Who takes part: how they are asked, under which names; the state before the next round; node
    id -> what to tell it about its columns; client name -> the agreed columns that it has."""

    sites: Sites
    state: ServerState
    remarks: Mapping[int, str]
    columns: Mapping[str, tuple[str, ...]]

    def only(self, clients: Collection[str]) -> Handshake:
        """The same of some clients alone."""
        return replace(self, sites=self.sites.only(clients))


def wait_for_nodes(grid: Grid, at_least: int, seconds: float) -> tuple[int, ...]:
    """The ids of the connected nodes, once there are `at_least` or `seconds` have passed."""
    until = time.monotonic() + seconds
    while True:
        nodes = tuple(sorted(grid.get_node_ids()))
        if len(nodes) >= at_least or time.monotonic() >= until:
            return nodes
        time.sleep(0.2)


def shake_hands(
    grid: Grid,
    nodes: Iterable[int],
    run: Experiment,
    *,
    agreed: Schema | None = None,
    cuts: Mapping[str, Cuts] | None = None,
    before: ServerState | None = None,
) -> Handshake:
    """Ask every node for its columns, settle names and schema, and report what differs.

    Parameters
    ----------
    grid, nodes, run : whom to ask, in which run.
    agreed : the schema of the run, if it was given; else it is negotiated (see
        `fedbn.federation.agreement`).
    cuts : column -> cut points, which the sites apply to their numbers.
    before : the state of a run that goes on; its schema is then the agreed one.

    Raises SchemaError: clients differ from what is agreed, and the run is to stop then;
    QuorumError: no node is there, or too few good replies, or too few matching clients.
    """
    asked = sorted(nodes)
    if not asked:
        raise QuorumError("at least one node must be connected, there is none")
    answers = _ask(grid, asked, agreed, cuts or {}, run.reply_seconds)
    clients = client_names({node: _label(answers.get(node)) for node in asked})
    schemas, refused = _schemas(clients, answers, run.limits)
    require_quorum(len(schemas), len(asked), SOMEBODY, list(refused.items()))
    agreement = negotiate(
        schemas,
        agreed if before is None else before.schema,
        spellings=run.tables.spellings,
        variables=run.consensus.variables,
        min_sites=run.consensus.min_sites,
    )
    _report(grid, agreement, clients)
    _warn_of_left_out(run, schemas)
    if run.federation.on_mismatch == "stop":
        agreement.require_all()
        _require_contracts(refused)
    for client, mismatch in agreement.mismatches.items():
        refused[client] = f"handshake: {client}: {mismatch.words()}"
    taking_part = {node: name for node, name in clients.items() if name not in refused}
    own = {client: schemas[client] for client in taking_part.values()}
    alone = own_states(own)
    for client, columns in alone.items():
        LOG.warning("%s: %s", client, remark(columns))
    state = ServerState(
        agreement.schema,
        len(asked),
        tuple(sorted(refused.items())),
        lone_states=list_alone(alone),
        divided=dividing_columns(own),
    )
    if before is not None:
        everything = tuple(dict.fromkeys((*before.refused, *state.refused)))
        lone, divided = state.lone_states, state.divided
        state = replace(before, refused=everything, lone_states=lone, divided=divided)
    require_quorum(len(taking_part), state.n_clients, run.consensus, state.refused)
    names = {client: schema.names for client, schema in own.items()}
    sites = Sites(grid, taking_part, run.reply_seconds)
    told = {node: remark(alone[name]) for node, name in taking_part.items() if name in alone}
    return Handshake(sites, state, told if agreed is None else {}, names)


def client_names(labels: Mapping[int, str | None]) -> dict[int, str]:
    """A distinct name for every node: the label it shares, or its place among the node ids. Names
    that look alike (letters of either case, other forms of a letter) are told apart, too."""
    width = len(str(len(labels)))
    names: dict[int, str] = {}
    taken: set[str] = set()
    for place, (node, label) in enumerate(sorted(labels.items()), start=1):
        name = label or f"client {place:0{width}}"
        while _look(name) in taken:
            name = f"{name} ({place:0{width}})"
        taken.add(_look(name))
        names[node] = name
    return names


def _look(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _ask(
    grid: Grid,
    nodes: Iterable[int],
    agreed: Schema | None,
    cuts: Mapping[str, Cuts],
    timeout: float | None,
) -> dict[int, Message]:
    """Node id -> its answer to the question for its columns; a given schema is told with it."""
    task = ConfigRecord({"round": 0, "fedbn": fedbn.__version__})
    if agreed is not None:
        task["text"], task["hash"] = schema_to_text(agreed), agreed.hash
    if cuts:
        task["cuts"] = json.dumps(cuts_text(cuts))
    requests = [Message(RecordDict({"task": task}), node, MessageType.QUERY) for node in nodes]
    return replies_by_node(grid, requests, timeout)


def _schemas(
    clients: Mapping[int, str], answers: Mapping[int, Message], limits: Limits
) -> tuple[dict[str, Schema], dict[str, str]]:
    """Client -> its schema, and client -> reason for those without a good answer."""

    def read(content: RecordDict, _: str) -> Schema:
        told = SCHEMA.read(content.get(SCHEMA.name))
        return schema_from_text(told["text"], told["hash"], limits=limits)

    schemas, reasons = read_replies(answers, clients, read)
    for reason in reasons.values():
        LOG.warning("refused: %s", reason)
    return schemas, {client: f"handshake: {reason}" for client, reason in reasons.items()}


def _report(grid: Grid, agreement: Agreement, clients: Mapping[int, str]) -> None:
    """Tell each site that does not match how it differs, and wait until it has heard."""
    messages = []
    for node, client in clients.items():
        if client not in agreement.mismatches:
            continue
        words = f"this site {agreement.mismatches[client].words()}"
        LOG.warning("%s: %s", client, words)
        content = RecordDict({"report": ConfigRecord({"text": words})})
        messages.append(Message(content, node, REPORT))
    if messages:
        list(grid.send_and_receive(messages, timeout=REPORT_SECONDS))


def _require_contracts(refused: Mapping[str, str]) -> None:
    """Raise SchemaError, naming them, where sites have other contracts than the run wants."""
    others = sorted(client for client, reason in refused.items() if reason.endswith(CONTRACT))
    if others:
        have = "has another contract" if len(others) == 1 else "have other contracts"
        raise SchemaError(
            f"{count_of(len(others), 'client')} {have}: {list_some(others, SHOWN)}; their own logs "
            "show how they differ (--set on-mismatch=leave-out continues without them)"
        )


def _warn_of_left_out(run: Experiment, schemas: Mapping[str, Schema]) -> None:
    """Say which columns a run over deployed sites leaves out that none of them has told: they are
    left out there already, or mistyped."""
    if run.data.client_count is not None:
        return
    told = {name for schema in schemas.values() for name in schema.names}
    for name in run.tables.preparation().leave_out:
        if name not in told:
            LOG.warning(
                "leave-out names column %r, which no site sent: it has no effect%s",
                name,
                did_you_mean(name, sorted(told)),
            )


def _label(reply: Message | None) -> str | None:
    if reply is None or not reply.has_content():
        return None
    label = diagnostic(reply.content, "label", str)
    return printable(label, 60).strip() or None if label else None
