"""`fedbn deploy-demo`: a deployment of three sites, checked against the simulation.

Three tables are sampled from an embedded network; keys and certificates are made; a SuperLink
behind a front, three SuperNodes and, for each of these, a process for its apps run on 127.0.0.1,
over TLS with authenticated nodes, as docs/deployment.md has it; or, if it is told so, a SuperLink
and three SuperNodes alone. The same run in the simulation must give the same consensus, byte for
byte.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.columns import column_names
from fedbn.data.lacking import draw_columns
from fedbn.data.tables import read_schema, write_schema, write_table
from fedbn.errors import FlowerRunError
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.federation.state import FederationResult
from fedbn.graphs.writing import write_structure
from fedbn.networks.catalog import load_network
from fedbn.results.report import check_results_folder, results_folder
from fedbn.whole_file import write_whole
from fedbn.wording import count_of
from simulations.commands.new_site import LOOSENINGS, site_text
from simulations.deployment.deployment import Deployment
from simulations.flower.bundle import write_bundle
from simulations.run import run_experiment

SITES = ("east", "north", "south")
CONSENSUS = "consensus.json"
SCHEMA = "states.json"

Say = Callable[[str], None]


@dataclass(frozen=True)
class DemoResult:
    """SHA-256 (hex) of both consensus files, and wall-clock seconds of the whole demo."""

    deployed: str
    simulated: str
    seconds: float

    @property
    def same(self) -> bool:
        """Whether deployment and simulation gave the same bytes."""
        return self.deployed == self.simulated


def deploy_demo(experiment: Experiment, *, secure: bool, out: Path | None, say: Say) -> DemoResult:
    """Run the demo in a temporary folder, which is removed.

    Parameters
    ----------
    experiment : `network`, `rows` and `seed` make the sites' tables; the rest are settings of the
        run.
    secure : a front, TLS, authentication of nodes, isolated apps; else none of these.
    out : where the deployed run's results are copied to.
    say : called with a few words whenever a stage begins.

    Raises
    ------
    FlowerRunError : a process of Flower failed; then the folder with all logs is kept and named.
    """
    began = time.monotonic()
    if out is not None:
        check_results_folder(out)
    folder = Path(tempfile.mkdtemp(prefix="fedbn-deploy-"))
    kept = False
    try:
        with _terminable():
            results = _deploy(experiment, folder, secure, say)
            say("simulation of the same run on the same files")
            simulated = _simulate(experiment, folder)
        if out is not None:
            with results_folder(out) as place:
                shutil.copytree(results, place, dirs_exist_ok=True)
        seconds = time.monotonic() - began
        return DemoResult(_sha256(results / CONSENSUS), _sha256(simulated), seconds)
    except FlowerRunError as error:
        kept = True
        raise FlowerRunError(f"{error}\n(all logs are kept in {folder})") from None
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def _deploy(experiment: Experiment, folder: Path, secure: bool, say: Say) -> Path:
    """The results folder of the deployed run."""
    tables = _tables(experiment, folder)
    data = experiment.data
    say(
        f"tables of {count_of(len(tables), 'site')}, {count_of(data.rows, 'row')} each, of "
        f"{data.network}"
    )
    files = _prepare(tables, folder / SCHEMA)
    say("their files written, their tables prepared: a contract each")
    bundle, results = folder / "app", folder / "results"
    settings = _run_settings(experiment, folder).change(out_dir=str(results))
    write_bundle(bundle, to_run_config(settings))
    with Deployment(folder / "flower", folder / "keys" if secure else None) as deployment:
        if secure:
            _start_secure(deployment, files, say)
        else:
            deployment.start_superlink()
            say(f"SuperLink at 127.0.0.1:{deployment.port} (insecure)")
            for site, file in files.items():
                deployment.start_node(site, tables[site], file)
        say(f"SuperNodes {', '.join(tables)} started; flwr run")
        deployment.require_completed(deployment.submit(bundle), results.is_dir)
        say("run completed, its results fetched; stopping everything")
    return results


def _prepare(tables: Mapping[str, Path], schema: Path) -> dict[str, Path]:
    """Site -> its file, as `fedbn site new` writes it, after `fedbn site prepare`."""
    files = {}
    for site, table in tables.items():
        files[site] = table.with_suffix(".toml")
        own = read_schema(schema).restrict(column_names(table))
        text = site_text(table, name=site, schema=own, allow=LOOSENINGS)
        write_whole(files[site], text)
        renew(table, read_site_file(files[site]))
    return files


def _start_secure(deployment: Deployment, files: Mapping[str, Path], say: Say) -> None:
    """What the guide starts, with a file for every site."""
    deployment.make_keys(tuple(files))
    say("keys: a certificate authority, the server's certificates, a key pair per site")
    deployment.start_superlink()
    deployment.start_front()
    say(f"SuperLink at 127.0.0.1:{deployment.port}, its front at {deployment.front} (TLS)")
    deployment.register(files)
    say("public keys of the sites registered")
    for site, file in files.items():
        deployment.start_site(site, file)


def _run_settings(experiment: Experiment, folder: Path) -> Experiment:
    """What the run is told: columns and states, as agreed, and nothing of where the data are."""
    everyone = replace(experiment.consensus, min_replies=len(SITES))
    return experiment.change(
        network=None, missing_variables=0.0, schema=str(folder / SCHEMA), consensus=everyone
    )


def _tables(experiment: Experiment, folder: Path) -> dict[str, Path]:
    """Site -> its table, sampled from the network and written as CSV; beside them the schema."""
    assert experiment.data.network is not None
    network = load_network(experiment.data.network, experiment.data.network_dir)
    paths = {site: folder / f"{site}.csv" for site in SITES}
    lacking = np.random.default_rng([experiment.seed, len(SITES)])
    names = network.schema.names
    has = draw_columns(len(names), len(SITES), experiment.data.missing_variables, lacking)
    for stream, (path, row) in enumerate(zip(paths.values(), has, strict=True)):
        rng = np.random.default_rng([experiment.seed, stream])
        own = [name for name, there in zip(names, row, strict=True) if there]
        write_table(network.sample(experiment.data.rows, rng).select(own), path)
    write_schema(network.schema, folder / SCHEMA)
    return paths


def _simulate(experiment: Experiment, folder: Path) -> Path:
    """The consensus file of the simulation on the same files; of secure sums, that in the open."""
    files = tuple(str(folder / f"{site}.csv") for site in SITES)
    same = _run_settings(experiment, folder).change(sites=files, engine="in-process")
    if same.consensus.aggregation == "secure-sums":
        same = same.change(aggregation="open")
    run = run_experiment(same)
    file = folder / f"simulated-{CONSENSUS}"
    assert isinstance(run.result, FederationResult)
    write_structure(run.result.consensus.dag, file)
    return file


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@contextmanager
def _terminable() -> Iterator[None]:
    """Inside, SIGTERM ends the program as Ctrl-C does: everything started is stopped first."""
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def as_json(result: DemoResult) -> Mapping[str, Any]:
    """The JSON object of the command."""
    return {
        "deployed_sha256": result.deployed,
        "simulated_sha256": result.simulated,
        "same": result.same,
        "seconds": result.seconds,
    }
