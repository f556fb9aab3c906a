"""Parameters from sums over sites: those of the pooled rows, and refusals that end well."""

import logging
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.linear_gaussian import LinearGaussianNetwork
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.parameter_sources import ParameterSources, held_back_in
from server.server_app import Federated, federate
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs
from simulations.sites.tables import simulation
from tests.clients.deployed import prepared_nodes
from tests.naive_regression import fit_linear_gaussian

WANTED = {"parameters": "federated", "rows": 150, "seed": 3}


def run(experiment: Experiment) -> Federated:
    nodes = node_configs(experiment.data.clients)
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        return federate(grid, experiment)


def pooled(experiment: Experiment, federated: Federated) -> Dataset:
    schema = federated.result.schema
    tables = [site.dataset.with_schema(schema).table for site in simulation(experiment).sites]
    return Dataset(schema, np.concatenate(tables))


@pytest.mark.parametrize("clients", [1, 3])
def test_summed_counts_give_the_tables_of_the_pooled_rows(clients: int) -> None:
    experiment = Experiment.of(network="asia", clients=clients, **WANTED)
    federated = run(experiment)
    expected = fit_parameters(federated.result.consensus.dag, pooled(experiment, federated))
    assert isinstance(federated.network, BayesianNetwork)
    assert federated.network == expected
    found = [cpt.tobytes() for cpt in federated.network.cpts]
    assert found == [cpt.tobytes() for cpt in expected.cpts]


def test_pooled_moments_give_the_regressions_of_the_pooled_rows() -> None:
    experiment = Experiment.of(
        network="random-gaussian:5:6", clients=3, score="gaussian-bic", **WANTED
    )
    federated = run(experiment)
    expected = fit_linear_gaussian(federated.result.consensus.dag, pooled(experiment, federated))
    assert isinstance(federated.network, LinearGaussianNetwork)
    for field in ("coefficients", "intercepts", "standard_deviations"):
        found = getattr(federated.network, field)
        np.testing.assert_allclose(found, getattr(expected, field), rtol=1e-9, atol=1e-12)


def test_a_site_without_permission_leaves_its_rows_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rng = np.random.default_rng(0)
    for name, allowed in (("north", "true"), ("south", "false")):
        rows = "".join(f"{a},{b}\n" for a, b in rng.integers(0, 2, (40, 2)))
        (tmp_path / f"{name}.csv").write_text("a,b\n" + rows)
        (tmp_path / f"{name}.toml").write_text(f"[policy]\ncounts = {allowed}\n")
    nodes = prepared_nodes(tmp_path, ("north", "south"))
    experiment = Experiment.of(parameters="federated")
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        both = federate(grid, experiment)
    assert isinstance(both.network, BayesianNetwork)
    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("parameters are without the rows of client 2" in words for words in said)
    with InProcessGrid(to_run_config(experiment), nodes[1:]) as grid:
        none = federate(grid, experiment)
    assert none.network is None
    assert none.result.consensus.dag.n == 2


def test_a_family_with_a_small_count_is_held_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`b` is 1 in two rows of the south: its table is that of the north, `a`'s of both."""
    tables = {"north": [(0, 0)] * 20 + [(1, 1)] * 9 + [(0, 1)] * 7 + [(1, 0)] * 4, "south": []}
    tables["south"] = [(0, 0)] * 8 + [(1, 0)] * 16 + [(1, 1)] * 2
    for name, rows in tables.items():
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
        (tmp_path / f"{name}.toml").write_text(
            '[policy]\ncounts = true\nmin-cell = 5\nallow-states = ["b"]\n'
        )
    nodes = prepared_nodes(tmp_path, ("north", "south"))
    experiment = Experiment.of(parameters="federated", max_parents=0)
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        federated = federate(grid, experiment)
    network, sources = federated.network, federated.sources
    assert sources == ParameterSources(("client 1", "client 2"), held_back=(("b", ("client 2",)),))
    assert held_back_in({"parameters": sources.to_dict()}, "run.json") == {"b": ("client 2",)}
    assert isinstance(network, BayesianNetwork)
    assert network.dag.n_edges == 0
    found = [cpt[0].tolist() for cpt in network.cpts]
    assert found == [[pytest.approx((35 + 0.5) / 67), pytest.approx((31 + 0.5) / 67)],
                     [pytest.approx((24 + 0.5) / 41), pytest.approx((16 + 0.5) / 41)]]  # fmt: skip
    said = [record.getMessage() for record in caplog.records]
    assert "the table of 'b' is without the rows of client 2: min-cell" in said
    log = (tmp_path / "south.csv.disclosures.jsonl").read_text()
    assert "exact counts of 1 family, 2 cells; 1 family held back" in log
    with InProcessGrid(to_run_config(experiment), nodes[1:]) as grid:
        nobody = federate(grid, experiment)
    assert nobody.network is None
    assert nobody.sources is not None
    assert nobody.sources.failure == "nobody counted the family of 'b'"
    assert "no parameters: nobody counted the family of 'b'" in caplog.text
