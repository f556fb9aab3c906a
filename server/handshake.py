"""Before the first round: who takes part, under which names, and the schema they agree on."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flwr.app import ConfigRecord, Message, MessageType, RecordDict
from flwr.serverapp import Grid

from fedbn.data.dataset import Schema, union_schema
from fedbn.errors import MessageError
from fedbn.message import Limits, schema_from_text
from fedbn.rounds import ServerState, require_quorum
from fedbn.settings import ConsensusSettings
from server.replies import LOG, content_of, diagnostic, printable


@dataclass(frozen=True)
class Handshake:
    """Node id -> client name of those that take part, and the state before the first round."""

    clients: Mapping[int, str]
    state: ServerState


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
    settings: ConsensusSettings,
    *,
    agreed: Schema | None = None,
    limits: Limits | None = None,
    timeout: float | None = None,
) -> Handshake:
    """Ask every node for its columns and settle names and schema.

    Parameters
    ----------
    grid, nodes : whom to ask.
    settings : the quorum.
    agreed : the schema of the run, if it was given; else the union of the clients' states is it.
    limits : what a reply may hold at most.
    timeout : seconds to wait for replies.

    Raises
    ------
    SchemaError : columns or kinds differ, or a client has a column or state that `agreed` lacks.
    QuorumError : there are too few good replies.
    """
    asked = sorted(nodes)
    requests = [
        Message(RecordDict({"task": ConfigRecord({"round": 0})}), node, MessageType.QUERY)
        for node in asked
    ]
    answers = {
        reply.metadata.src_node_id: reply
        for reply in grid.send_and_receive(requests, timeout=timeout)
    }
    clients = client_names({node: _label(answers.get(node)) for node in asked})
    schemas: dict[str, Schema] = {}
    refused: list[tuple[str, str]] = []
    for node, client in clients.items():
        try:
            schemas[client] = _schema(answers.get(node), client, limits)
        except MessageError as error:
            LOG.warning("refused: %s", error)
            refused.append((client, f"handshake: {error}"))
    require_quorum(len(schemas), len(asked), settings, refused)
    state = ServerState(settle(schemas, agreed), len(asked), tuple(sorted(refused)))
    return Handshake({node: name for node, name in clients.items() if name in schemas}, state)


def settle(schemas: Mapping[str, Schema], agreed: Schema | None) -> Schema:
    """The agreed schema, within which every client must be, or else the union of theirs."""
    if agreed is None:
        return union_schema(schemas)
    for client in sorted(schemas):
        agreed.require_within(schemas[client], f"client {client!r}")
    return agreed


def client_names(labels: Mapping[int, str | None]) -> dict[int, str]:
    """A distinct name for every node: the label it shares, or its place among the node ids."""
    width = len(str(len(labels)))
    names: dict[int, str] = {}
    for place, (node, label) in enumerate(sorted(labels.items()), start=1):
        name = label or f"client {place:0{width}}"
        names[node] = name if name not in names.values() else f"{name} ({place:0{width}})"
    return names


def _label(reply: Message | None) -> str | None:
    if reply is None or not reply.has_content():
        return None
    label = diagnostic(reply.content, "label", str)
    return printable(label)[:60] if label else None


def _schema(reply: Message | None, client: str, limits: Limits | None) -> Schema:
    if reply is None:
        raise MessageError(f"{client}: no reply")
    record = content_of(reply, client).get("schema")
    if not isinstance(record, ConfigRecord):
        raise MessageError(f"{client}: a reply must hold a schema")
    return schema_from_text(record.get("text"), record.get("hash"), limits=limits, sender=client)
