"""A deployed site in this process: its table, its file, and whoever asks it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from numpy.typing import NDArray

from clients.door import REFUSED
from fedbn.data.dataset import Schema
from fedbn.errors import FedbnError
from fedbn.federation.family_message import (
    REQUEST_KEYS,
    FamilyAnswer,
    FamilyRequest,
    answer_from_arrays,
    request_to_arrays,
)
from fedbn.federation.npy import arrays_of_npy
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
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
        families = {key: Array(arrays[key]) for key in REQUEST_KEYS}
        content["families"] = ArrayRecord(families)
        reply = self.send(run, "query.counts", content)
        if reply.has_error():
            return None, word(reply)
        found = arrays_of(reply, "counts")
        return answer_from_arrays(found, request, run.learner.ess), ANSWERED


def prepared_nodes(folder: Path, names: Iterable[str]) -> list[dict[str, str]]:
    """The nodes of sites NAME.csv and NAME.toml, prepared as far as they can be."""
    nodes = []
    for name in names:
        table, file = folder / f"{name}.csv", folder / f"{name}.toml"
        with suppress(FedbnError):
            renew(table, read_site_file(file), confirmed=True)
        nodes.append({"data-path": str(table), "policy": str(file)})
    return nodes


def known_to_each_other(folder: Path, names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Name -> the first lines and the last ones of a site's file, with identities made here."""
    identities = {name: Ed25519PrivateKey.generate() for name in names}
    lines = {
        name: key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
        for name, key in identities.items()
    }
    found = {}
    for name, key in identities.items():
        private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
        (folder / f"{name}.identity").write_bytes(private)
        peers = "".join(f'{p} = "{line}"\n' for p, line in lines.items() if p != name)
        first = f'name = "{name}"\nidentity-key = "{name}.identity"\n'
        found[name] = (first, f"[peers]\n{peers}")
    return found


def task(schema: Schema, number: int = 1) -> RecordDict:
    """The record that names the agreed schema."""
    said = {"text": schema_to_text(schema), "hash": schema.hash, "round": number}
    return RecordDict({"task": ConfigRecord(said)})


def arrays_of(reply: Message, name: str) -> dict[str, NDArray[np.generic]]:
    """The arrays of a record of a reply."""
    record = reply.content[name]
    return dict(arrays_of_npy([(key, array.data) for key, array in record.items()], tuple(record)))


def word(reply: Message) -> str:
    """The word of a reply: "answered", "failed", or that of a refusal."""
    if not reply.has_error():
        return ANSWERED
    return str(reply.error.reason).removeprefix(f"{REFUSED}: ")
