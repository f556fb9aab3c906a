"""Three sites and a server in four folders, and who carries files between them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

import fedbn
from fedbn.data.tables import write_schema, write_table
from fedbn.federation.courier_run import CourierRun, read_run
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.networks.catalog import load_network
from server.server_app import run_and_write
from simulations.deployment.courier_server import Step, begin, go_on
from simulations.deployment.courier_site import Answered, answer
from simulations.deployment.executor import site_config
from simulations.deployment.keys import make_keys
from simulations.in_process_grid import Fault, InProcessGrid

SERVER = "flower.example.org"

SITE = """name = "{site}"
table = "{table}"
schema = "states.json"

[policy]
counts = true
diagnostics = true

[courier]
key = "{site}.key"
authority = "ca.pem"
server = "{server}"
"""

Change = Callable[[str], str]


def write_tables(folder: Path) -> dict[str, Path]:
    """Site -> its table of five columns; states.json with the agreed states lies beside them."""
    folder.mkdir()
    network = load_network("cancer")
    paths = {site: folder / f"{site}.csv" for site in ("east", "north", "south")}
    for seed, path in enumerate(paths.values()):
        write_table(network.sample(300, np.random.default_rng(seed)), path)
    write_schema(network.schema, folder / "states.json")
    return paths


class Couriers:
    """A server, three sites, and what one of them has at hand: its table, its keys, its file."""

    def __init__(
        self, folder: Path, tables: Mapping[str, Path], schema: str | Path, change: Change = str
    ) -> None:
        self.folder = folder
        self.keys, self.run = folder / "keys", folder / "server" / "run"
        self.sites = tuple(sorted(tables))
        make_keys(self.keys, [SERVER], self.sites)
        for site, table in tables.items():
            place = folder / site
            place.mkdir()
            for file in (table, Path(schema), self.keys / f"{site}.key", self.keys / "ca.pem"):
                shutil.copy(file, place)
            text = SITE.format(site=site, table=table.name, server=SERVER)
            self.file(site).write_text(change(text))
            decided = read_site_file(self.file(site))
            renew(str(decided.table), decided)

    def file(self, site: str) -> Path:
        """A site's own file."""
        return self.folder / site / f"{site}.toml"

    def begin(self, experiment: Experiment) -> Step:
        """Begin the run."""
        self.run.parent.mkdir(exist_ok=True)
        named = experiment.change(couriers=self.sites)
        return begin(named, self.run, self.keys, days=30)

    def state(self) -> CourierRun:
        """The run as it is on disk."""
        return read_run(self.run, fedbn.__version__)

    def request(self, site: str) -> Path:
        """What is to be carried to a site, once it is there."""
        (file,) = (self.run / "requests").glob(f"{site}-*.request.fedbn")
        return Path(shutil.copy(file, self.folder / site))

    def answer(self, site: str) -> Answered:
        """Carry a request to its site, answer it there, and leave the reply beside it."""
        request = self.request(site)
        answered = answer(request, self.file(site))
        self.reply(site).write_bytes(answered.data)
        return answered

    def reply(self, site: str) -> Path:
        """A site's reply, which waits to be carried."""
        return self.folder / site / "reply.fedbn"

    def carry(self, sites: Iterable[str] = ()) -> Step:
        """One round: to the sites, of these or of all that are asked something, and back."""
        there = [
            site
            for site in sites or self.sites
            if sites or list((self.run / "requests").glob(f"{site}-*.request.fedbn"))
        ]
        for site in there:
            self.answer(site)
        return go_on(self.run, [self.reply(site) for site in there])

    def carry_all(self) -> Path:
        """Round by round to the results, which are in the folder that is returned."""
        for _ in range(60):
            step = self.carry()
            if step.run.results:
                return Path(step.run.results)
        raise AssertionError("a run must end")

    def by_network(self, experiment: Experiment, fault: Fault | None = None) -> Path:
        """The results of the same run over the in-process grid, with the same sites' files."""
        configs = [site_config(self.file(site)) for site in self.sites]
        out = self.folder / "by-network"
        here = experiment.change(out_dir=str(out), reply_seconds=1.0)
        run_and_write(InProcessGrid(to_run_config(here), configs, fault=fault), here, 1)
        return out


RUN_ALONE = ("run.json", "report.json", "report.html")
"""Results that say the run's id, its settings and its times."""


def contents(results: Path) -> dict[str, object]:
    """The files of a results folder but RUN_ALONE; of the state all but the settings."""
    found: dict[str, object] = {
        str(path.relative_to(results)): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file() and path.name not in RUN_ALONE
    }
    if (results / "state.json").exists():
        state = json.loads((results / "state.json").read_text())
        assert state.pop("settings")
        assert state.pop("sha256")
        found["state.json"] = state
    return found
