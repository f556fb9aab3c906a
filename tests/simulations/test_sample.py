"""`fedbn sample` from a results folder, and from noisy counts, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedbn.data.tables import read_dataset, write_schema, write_table
from fedbn.networks.catalog import load_network
from fedbn.networks.json_file import write_json_network
from fedbn.privacy.ledger import Ledger
from tests.simulations.conftest import Fedbn

ASIA = load_network("asia")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a run leaves, as far as it matters here."""
    out = tmp_path / "results"
    out.mkdir()
    (out / "run.json").write_text('{"parameters": {"held_back": {"smoke": ["north"]}}}')
    content = {"nodes": ASIA.names, "edges": ASIA.dag.edges}
    (out / "consensus.json").write_text(json.dumps(content))
    write_json_network(ASIA, out / "network.json")
    write_schema(ASIA.schema, out / "schema.json")
    return out


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_rows_of_a_consensus(fedbn: Fedbn, folder: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    ran = fedbn("sample", folder, "--rows", 50, "--seed", 3, "--out", one)
    assert "the table of 'smoke' is without the rows of north" in ran.err
    fedbn("sample", "asia", "--rows", 50, "--seed", 3, "--out", two, "-q")
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.filterwarnings("ignore:.*is constant")
def test_rows_of_noisy_counts_are_written_down_first(
    fedbn: Fedbn, folder: Path, tmp_path: Path
) -> None:
    import numpy as np

    table, out, ledger = (tmp_path / name for name in ("t.csv", "like.csv", "ledger.jsonl"))
    write_table(ASIA.sample(300, np.random.default_rng(0)), table)
    asked = ("sample", folder, "--table", table, "--epsilon", "1", "--rows", 40)
    facts = fedbn(*asked, "--ledger", ledger, "--out", out, "--json").json
    assert facts["privacy"].startswith("ε 1 at δ 1e-06 per row (add or remove), against")
    assert read_dataset(out, "categorical").n_rows == facts["rows"] == 40
    (entry,) = Ledger.read(ledger).entries
    assert (entry.mechanism, entry.run) == ("noisy-counts", "sample")
    again = fedbn(*asked, "--out", out)
    assert "of the structure nothing is said" in again.err
    assert len(Ledger.read(tmp_path / "t.csv.privacy.jsonl").entries) == 1


@pytest.mark.filterwarnings("ignore:.*is constant")
def test_wrong_inputs_spend_nothing(fedbn: Fedbn, folder: Path, tmp_path: Path) -> None:
    table, ledger = tmp_path / "t.csv", tmp_path / "ledger.jsonl"
    table.write_text(",".join(ASIA.names) + "\n" + ",".join(["maybe"] * 8) + "\n")
    asked = ("sample", folder, "--table", table, "--ledger", ledger)
    assert "--table and --epsilon go together" in fedbn(*asked).error
    assert "ε must be positive" in fedbn(*asked, "--epsilon", "-1").error
    assert "'maybe'" in fedbn(*asked, "--epsilon", "1").error
    missing = fedbn("sample", "asia", "--table", table, "--epsilon", "1", "--ledger", ledger).error
    assert "--epsilon needs --schema" in missing
    assert "go with --table" in fedbn("sample", "asia", "--ledger", ledger).error
    assert not ledger.exists()
