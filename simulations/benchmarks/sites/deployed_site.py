"""A deployed site in this process: its table, its file, and whoever asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from numpy.typing import NDArray

from clients.door import REFUSED
from fedbn.data.schema import Schema
from fedbn.errors import FedbnError
from fedbn.federation.family_message import (
    REQUESTS,
    FamilyAnswer,
    FamilyRequest,
    answer_from_arrays,
    request_to_arrays,
)
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.graphs.dag import DAG
from fedbn.wire.npy import arrays_of_npy
from simulations.in_process_grid import InProcessGrid

ANSWERED = "answered"


class DeployedSite:
    """A site with a table of its own; every message may be of another run."""

    def __init__(self, folder: Path, table: str, site_file: str = "") -> None:
        self.table = folder / "north.csv"
        self.table.write_text(table, encoding="utf-8")
        self.file = folder / "site.toml"
        self.file.write_text(site_file, encoding="utf-8")
        self.node = {"data-path": str(self.table), "policy": str(self.file)}
        self.refusal = self.prepare()

    def prepare(self, *, confirmed: bool = False) -> str:
        """Do what `fedbn site prepare` does; returns what it says where it does nothing."""
        try:
            renew(self.table, read_site_file(self.file), confirmed=confirmed)
        except FedbnError as error:
            return ": ".join(map(str, error.args))
        return ""

    def send(self, run: Experiment, kind: str, content: RecordDict | None = None) -> Message:
        """The reply to one message, by the client app with all that is around it."""
        grid = InProcessGrid(to_run_config(run), [self.node])
        (node,) = grid.get_node_ids()
        (reply,) = grid.send_and_receive([Message(content or RecordDict(), node, kind)])
        return reply

    def counts(self, run: Experiment, request: FamilyRequest) -> tuple[FamilyAnswer | None, str]:
        """The counts of families that the site gives, and its word."""
        content = task(request.tables.schema)
        arrays = request_to_arrays(request)
        families = {key: Array(arrays[key]) for key in REQUESTS.keys}
        content["families"] = ArrayRecord(families)
        reply = self.send(run, "query.counts", content)
        if reply.has_error():
            return None, word(reply)
        found = arrays_of(reply, "counts")
        return answer_from_arrays(found, request, run.learner.ess), ANSWERED


def task(schema: Schema, number: int = 1) -> RecordDict:
    """The record that names the agreed schema."""
    said: dict[str, Any] = {"text": schema_to_text(schema), "hash": schema.hash, "round": number}
    return RecordDict({"task": ConfigRecord(said)})


def any_dag(schema: Schema, rng: np.random.Generator) -> ArrayRecord:
    """A consensus of random arcs."""
    order = rng.permutation(schema.n)
    arcs = [
        (schema.names[order[i]], schema.names[order[j]])
        for j in range(schema.n)
        for i in range(j)
        if rng.random() < 0.5
    ]
    return dag_record(schema, arcs)


def dag_record(schema: Schema, arcs: list[tuple[str, str]]) -> ArrayRecord:
    """The record of a consensus with these arcs."""
    dag = DAG.from_edges(schema.names, arcs)
    sent = to_arrays(StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete"))
    return ArrayRecord({key: Array(array) for key, array in sent.items()})


def arrays_of(reply: Message, name: str) -> dict[str, NDArray[np.generic]]:
    """The arrays of a record of a reply."""
    record = reply.content[name]
    assert isinstance(record, ArrayRecord)
    return dict(arrays_of_npy([(key, array.data) for key, array in record.items()], tuple(record)))


def word(reply: Message) -> str:
    """The word of a reply: "answered", "failed", or that of a refusal."""
    if not reply.has_error():
        return ANSWERED
    return str(reply.error.reason).removeprefix(f"{REFUSED}: ")


class RunAtSite:
    """One node's messages of one run, whose state Flower keeps between them."""

    def __init__(self, site: DeployedSite, run: Experiment) -> None:
        self.grid = InProcessGrid(to_run_config(run), [site.node])

    def send(self, kind: str, content: RecordDict) -> Message:
        """The reply to one message of the run."""
        (node,) = self.grid.get_node_ids()
        (reply,) = self.grid.send_and_receive([Message(content, node, kind)])
        return reply
