"""`flwr run FOLDER` with an end: its status is the run's, and no process of Flower stays.

`flwr run` submits and ends with status 0 whatever becomes of the run, and on a fresh Flower home
it leaves a SuperLink behind. Here the same app runs in a private Flower home, with as many nodes as
its settings have clients.
"""

from __future__ import annotations

import shutil
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fedbn.bounded_file import MAX_SETTINGS, read_bounded
from fedbn.errors import ConfigError, FlowerRunError
from fedbn.extras import require_installed
from fedbn.federation.run_config import from_run_config
from fedbn.federation.settings import Experiment
from simulations.flower.bundle import SIMULATED_APP
from simulations.flower.processes import app_log, require_running, run_status, submit, tail
from simulations.flower.run import SUPERLINK, Runtime, superlink

OURS = " fedbn: "
"""What is in the lines of a run's log that fedbn's apps wrote."""


def settings_of(folder: Path, overrides: Mapping[str, Any]) -> Experiment:
    """The settings of the app in a folder, with others in place of some.

    Raises
    ------
    ConfigError : it is no folder of fedbn's app, a setting is not as it must be, or data are to be
        simulated by the app of deployed sites.
    """
    file = folder / "pyproject.toml"
    try:
        content = tomllib.loads(read_bounded(file, MAX_SETTINGS).decode("utf-8"))
        app = content["tool"]["flwr"]["app"]
        config, clientapp = app["config"], app["components"]["clientapp"]
    except OSError as error:
        raise ConfigError(f"cannot read {file}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"{file} must have a [tool.flwr.app.config], see fedbn app") from None
    experiment = from_run_config({**config, **overrides})
    if experiment.data.is_named and clientapp != SIMULATED_APP:
        raise ConfigError(
            f"{folder} was written for deployed sites, its client app is {clientapp}: write "
            "it anew with --set network, table or sites"
        )
    return experiment


def nodes_of(experiment: Experiment, wanted: int | None) -> int:
    """How many nodes a simulation of the settings has.

    Raises
    ------
    ConfigError : there is no telling, or it is not the number that is wanted.
    """
    clients = experiment.data.client_count
    if clients is None:
        raise ConfigError(
            "the settings name no network, table or sites to simulate: a deployed run is "
            "submitted by flwr run, see docs/deployment.md"
        )
    if wanted is not None and clients and wanted != clients:
        raise ConfigError(
            f"there must be one node per client, but there are {wanted} nodes and {clients} "
            f"clients: leave --nodes out, or use --set clients={wanted}"
        )
    nodes = wanted or clients
    if not nodes:
        raise ConfigError("the number of clients is known only from the data: give --nodes")
    return nodes


def run_folder(
    folder: Path, nodes: int, overrides: Mapping[str, Any], say: Callable[[str], None]
) -> list[str]:
    """Run the app in a folder; returns what fedbn's apps logged.

    Results folders are relative to where this process is. `say` is called with every stage.

    Raises
    ------
    FlowerRunError : the run failed, with the end of its log; its folder is kept and named.
    """
    require_installed("ray")
    home = Path(tempfile.mkdtemp(prefix="fedbn-"))
    federation = f"num-supernodes={nodes} client-resources-num-cpus=1"
    options = ["--federation-config", federation]
    for key, value in overrides.items():
        options += ["--run-config", f"{key}={_toml(value)}"]
    kept = False
    try:
        say("starting Flower")
        with superlink(home, {}, Path.cwd()) as running:
            run_id = submit(running.home, folder.resolve(), *options)
            say(f"run {run_id} on {nodes} nodes")
            return _lines_at_the_end(running, run_id)
    except FlowerRunError as error:
        kept = True
        raise FlowerRunError(f"{error}\n(all logs are kept in {home})") from None
    finally:
        if not kept:
            shutil.rmtree(home, ignore_errors=True)


def _lines_at_the_end(running: Runtime, run_id: str) -> list[str]:
    """Follow the run's log to the run's end; the lines that are fedbn's."""
    status = ""
    while not status.startswith("finished"):
        log = app_log(running.home, run_id, follow=True)
        require_running(running.home, SUPERLINK, running.superlink)
        status, details = run_status(running.home, run_id)
    if status != "finished:completed":
        raise FlowerRunError(f"the Flower run ended as {status}: {details}\n{tail(log)}")
    return [line for line in log.splitlines() if OURS in line]


def _toml(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()
