"""`fedbn simulate --aggregation`: what is printed and written where the server saw sums only."""

from pathlib import Path

import pandas as pd
import pytest

from tests.simulations.conftest import Fedbn

ASIA = ("simulate", "--network", "asia", "--clients", 3, "--rows", 300, "--engine", "in-process")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_the_same_consensus_as_in_the_open_and_what_the_sums_cost(fedbn: Fedbn) -> None:
    opened = fedbn(*ASIA, "--json", "--out", "open").json
    summed = fedbn(*ASIA, "--aggregation", "secure-sums", "--json", "--out", "sums").json
    for key in ("nodes", "edges", "theta", "mean_smhd", "lower_bound", "path", "smhd_to_gold"):
        assert summed[key] == opened[key], key
    assert "clients" not in summed
    assert summed["sums"]["cost"]["rounds"] > 3
    for name in ("json", "graphml", "bif"):
        files = [Path(folder, f"consensus.{name}").read_bytes() for folder in ("open", "sums")]
        assert files[0] == files[1]
    tables = [pd.read_csv(Path(folder, "consensus.csv")) for folder in ("open", "sums")]
    assert tables[1].pop("sites").isna().all()  # nobody knows how many sites join a pair
    assert tables[0].drop(columns="sites").equals(tables[1])


@pytest.mark.slow
def test_words_for_people(fedbn: Fedbn) -> None:
    told = fedbn(*ASIA, "--aggregation", "secure-sums", "--look-ahead", 0, "--set", "vote-quorum=2")
    assert "Secure sums: " in told.out
    assert "ms CPU per site and round" in told.out
    assert "Semi-honest server" in told.out
    assert "not that of the open run" in told.out
    voted = fedbn(*ASIA, "--aggregation", "moral-votes")
    assert "Secure sums: 2 rounds" in voted.out
    assert "minimum cuts" not in voted.out
