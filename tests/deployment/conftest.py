"""Tables of three sites, and what a simulation makes of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.tables import write_table
from fedbn.federation.settings import Experiment
from fedbn.graphs.files import structure_text
from fedbn.networks.catalog import load_network
from simulations.run import run_experiment

SITES = ("east", "north", "south")


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Site -> its table."""
    folder, network = tmp_path_factory.mktemp("tables"), load_network("asia")
    paths = {site: folder / f"{site}.csv" for site in SITES}
    for seed, path in enumerate(paths.values()):
        write_table(network.sample(500, np.random.default_rng(seed)), path)
    return paths


@pytest.fixture(scope="session", autouse=True)
def _kernels_are_cached(tables: dict[str, Path]) -> None:
    """No client process has to compile while the server waits for it."""
    files = tuple(str(table) for table in tables.values())
    run_experiment(Experiment.of(sites=files, engine="in-process"))


Simulated = Callable[[Experiment, list[str]], str]


@pytest.fixture
def simulated(tables: dict[str, Path]) -> Simulated:
    """The text of consensus.json that the simulation of some of the sites gives."""

    def run(experiment: Experiment, sites: list[str]) -> str:
        files = tuple(str(tables[site]) for site in sites)
        ran = run_experiment(experiment.change(sites=files, engine="in-process"))
        return structure_text(ran.result.consensus.dag, ".json")

    return run
