"""Run an experiment on one of two engines; both give the same bytes.

`flower` is a real Flower run (`flwr run`, Ray simulation) in processes of its own. `in-process`
calls the same apps in this process, for sweeps and tests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedbn.errors import ConfigError
from fedbn.extras import require_installed
from fedbn.federation.agreement import negotiate
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ENGINES, Experiment
from fedbn.graphs.graph import positions
from fedbn.networks.conditional_gaussian import Network
from fedbn.setting import require_one_of as one_of
from server.server_app import Federated, agreed_schema, federate
from simulations.in_process_grid import InProcessGrid
from simulations.sites.divided_table import Simulation
from simulations.sites.tables import simulation, with_found_cuts

if TYPE_CHECKING:
    from fedbn.federation.grouped_sums import GroupedSums
    from fedbn.federation.secure_rounds import SecureResult
    from fedbn.federation.state import FederationResult
    from fedbn.graphs.dag import DAG
    from fedbn.groups.grouping import Grouping
    from fedbn.networks.parameter_sources import ParameterSources

Notify = Callable[[str], None]
Count = Callable[[int, int], None]


@dataclass(frozen=True)
class ExperimentRun:
    """A finished experiment.

    Attributes
    ----------
    result : of the federation.
    simulation : the tables of the clients that match the agreed schema; only a simulation has them.
    seconds : CPU seconds of the fusions: order, maps, union, path, readings.
    network : the consensus with parameters, if the run wanted them and sites gave them.
    sources : whose rows these are of; None where nobody was asked.
    grouping : the groups of the sites, if the run wanted them.
    wall_seconds : name of a stage -> wall-clock seconds.
    """

    result: FederationResult | SecureResult | GroupedSums
    simulation: Simulation
    seconds: float
    network: Network | None
    sources: ParameterSources | None
    grouping: Grouping | None
    wall_seconds: Mapping[str, float]


def run_experiment(
    experiment: Experiment,
    notify: Notify | None = None,
    count: Count | None = None,
    *,
    gold: DAG | None = None,
    ray_address: str | None = None,
) -> ExperimentRun:
    """Make the clients' tables, let the engine run the federation, return everything.

    Parameters
    ----------
    experiment : with its data and its engine, and absolute paths where it has files.
    notify : called with a few words whenever a stage begins.
    count : called with how many of how many sites have answered a request.
    gold : the structure that the result will be compared with; its variables are checked first.
    ray_address : of a Ray cluster for the engine flower; None: Flower starts Ray on this machine.

    Raises
    ------
    FedbnError
        Whatever is wrong with the input or goes wrong in the run; both engines raise the same.
    """
    one_of("engine", experiment.engine, ENGINES)
    if experiment.couriers.names:
        raise ConfigError("couriers are for sites with tables of their own: see fedbn courier")
    if ray_address is not None:
        _require_ray(experiment, ray_address)
    say = notify or (lambda _: None)
    say("making the clients' tables")
    began = time.monotonic()
    experiment = with_found_cuts(experiment)
    tables = simulation(experiment)
    matching = _matching(tables, experiment)
    if gold is not None:
        names = set().union(*(site.dataset.names for site in matching.sites))
        positions(tuple(sorted(names)), gold.names)
    ready = time.monotonic()
    tell = count or (lambda done, total: None)
    federated = (
        _flower(experiment, tables, say, tell, ray_address)
        if experiment.engine == "flower"
        else _in_process(experiment, tables, say, tell)
    )
    return ExperimentRun(
        result=federated.result,
        simulation=matching,
        seconds=federated.seconds,
        network=federated.network,
        sources=federated.sources,
        grouping=federated.grouping,
        wall_seconds={"tables": ready - began, "federation": time.monotonic() - ready},
    )


def _require_ray(experiment: Experiment, address: str) -> None:
    from simulations.ray_cluster import require_address

    if experiment.engine != "flower":
        raise ConfigError(f"--ray-address is for the engine flower, not {experiment.engine}")
    require_address(address)


def _matching(tables: Simulation, experiment: Experiment) -> Simulation:
    """Without the clients that the run will leave out; raises SchemaError if it will not start."""
    schemas = {site.label: site.dataset.schema for site in tables.sites}
    agreement = negotiate(
        schemas,
        agreed_schema(experiment),
        spellings=experiment.tables.spellings,
        variables=experiment.consensus.variables,
        min_sites=experiment.consensus.min_sites,
    )
    if experiment.federation.on_mismatch == "stop":
        agreement.require_all()
    sites = tuple(site for site in tables.sites if site.label not in agreement.mismatches)
    return replace(tables, sites=sites)


def node_configs(n_clients: int) -> list[dict[str, int]]:
    """What a simulation tells each node: which part of the data is its own."""
    return [{"partition-id": i, "num-partitions": n_clients} for i in range(n_clients)]


def _in_process(experiment: Experiment, tables: Simulation, say: Notify, count: Count) -> Federated:
    grid = InProcessGrid(
        to_run_config(experiment),
        node_configs(len(tables.sites)),
        processes=experiment.processes,
        count=count,
    )
    say("the sites learn, then the server fuses: sites")
    with (
        quiet_flower(),
        at_least("fedbn.server.parameters", logging.ERROR),
        at_least("fedbn.server.remarks", logging.ERROR),
        stages_to(say),
        grid,
    ):
        return federate(grid, experiment)


def _flower(
    experiment: Experiment,
    tables: Simulation,
    say: Notify,
    count: Count,
    ray_address: str | None,
) -> Federated:
    from simulations.flower.run import flower_run

    require_installed("ray")
    return flower_run(experiment, len(tables.sites), say, count, ray_address)


@contextmanager
def quiet_flower() -> Iterator[None]:
    """Flower's log on this process's standard error, from warnings upwards only."""
    with at_least("flwr", logging.WARNING):
        yield


@contextmanager
def stages_to(say: Notify) -> Iterator[None]:
    """Inside, what the server says that it does now is said as a stage."""
    log, told = logging.getLogger("fedbn.server.stages"), logging.Handler(logging.INFO)
    told.emit = lambda record: say(record.getMessage())  # type: ignore[method-assign]
    before = log.level, log.propagate
    log.addHandler(told)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(told)
        log.level, log.propagate = before


@contextmanager
def at_least(name: str, level: int) -> Iterator[None]:
    """Inside, this log tells only what is so grave."""
    log = logging.getLogger(name)
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)
