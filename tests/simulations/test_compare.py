"""`fedbn compare` as a user calls it."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.data.tables import read_dataset
from fedbn.graphs.adjustment import adjustment_distances, sid
from fedbn.graphs.dag import DAG
from fedbn.graphs.writing import write_structure
from fedbn.networks.catalog import load_network
from fedbn.networks.fitting import fit_parameters
from fedbn.networks.likelihood import log_likelihood
from tests.simulations.conftest import Fedbn

ASIA = load_network("asia")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    write_structure(DAG.empty(ASIA.names), tmp_path / "empty.json")
    return tmp_path / "empty.json"


@pytest.mark.filterwarnings("ignore:.*is constant")
def test_effects_and_likelihood(fedbn: Fedbn, empty: Path, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    fedbn("sample", "asia", "--rows", 400, "--out", table, "-q")
    found = fedbn("compare", empty, "asia", "--test-rows", table, "--fit", table, "--json").json
    dag = DAG.empty(ASIA.names)
    assert found["sid"] == sid(dag, ASIA.dag)
    assert found["oset_aid"] == adjustment_distances(dag, ASIA.dag).oset_aid
    assert (found["orientation_precision"], found["orientation_recall"]) == (1.0, 0.0)
    rows = read_dataset(table, "categorical")
    assert found["log_likelihood"] == log_likelihood(fit_parameters(dag, rows), rows)
    inside = rows.with_schema(ASIA.schema)
    assert found["log_likelihood_of_second"] == log_likelihood(ASIA, inside)
    shown = fedbn("compare", empty, "asia").out
    assert "effects that are wrong if every arrow is a cause" in shown


def test_wrong_inputs(fedbn: Fedbn, empty: Path, tmp_path: Path) -> None:
    table = tmp_path / "rows.csv"
    fedbn("sample", "cancer", "--rows", 400, "--seed", 4, "--out", table, "-q")
    assert "use --fit TABLE" in fedbn("compare", empty, "asia", "--test-rows", table).error
    assert "--fit goes with --test-rows" in fedbn("compare", empty, "asia", "--fit", table).error
    wrong = ("compare", empty, "asia", "--test-rows", table, "--fit", table)
    assert "variables" in fedbn(*wrong).error
    assert "No such file" in fedbn("compare", tmp_path / "no.bif", "asia").error
