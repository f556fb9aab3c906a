"""Tables of three sites, and what a simulation makes of them."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.tables import write_schema, write_table
from fedbn.federation.settings import Experiment
from fedbn.graphs.writing import structure_text
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
    write_schema(network.schema, folder / "states.json")
    return paths


@pytest.fixture(scope="session")
def schema(tables: dict[str, Path]) -> str:
    """The file of the agreed columns and states: some are too rare for a site to name them."""
    return str(tables["east"].with_name("states.json"))


Simulated = Callable[[Experiment, list[str]], str]


@pytest.fixture
def simulated(tables: dict[str, Path], schema: str) -> Simulated:
    """The text of consensus.json that the simulation of some of the sites gives."""

    def run(experiment: Experiment, sites: list[str]) -> str:
        files = tuple(str(tables[site]) for site in sites)
        here = experiment.change(sites=files, schema=schema, engine="in-process")
        ran = run_experiment(here)
        return structure_text(ran.result.consensus.dag, ".json")

    return run
