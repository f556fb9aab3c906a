"""Files of deployed sites."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from flwr.app import Context

from fedbn.errors import FedbnError
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from simulations.benchmarks.sites.deployed_site import RunAtSite


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


def next_run(series: RunAtSite, run: Experiment) -> None:
    """The same series of runs with other settings, as Flower keeps a node's state."""
    (node,) = series.grid.get_node_ids()
    before = series.grid._contexts[node]
    series.grid._contexts[node] = Context(
        before.run_id + 1, node, before.node_config, before.state, to_run_config(run)
    )
