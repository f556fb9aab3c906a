"""`fedbn simulate --aggregation`: what is printed and written where the server saw sums only."""

from pathlib import Path

import pandas as pd
import pytest

from fedbn.federation.settings import Experiment
from simulations.run import run_experiment
from tests.simulations.conftest import Fedbn
from tests.simulations.test_mixed_run import NUMBERS, patients

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


@pytest.mark.usefixtures("packed_flower")
def test_masked_parameters_depend_neither_on_the_engine_nor_on_the_order_of_sites() -> None:
    files = []
    for seed in range(4):
        files.append(f"{seed}.csv")
        Path(files[-1]).write_text(patients(seed))
    experiment = Experiment.of(
        score="mixed-bic",
        numbers=NUMBERS,
        choose="climb",
        parameters="federated",
        aggregation="secure-sums",
        engine="in-process",
        sites=tuple(files),
    )
    found = run_experiment(experiment).network
    assert found is not None
    for change in ({"engine": "flower"}, {"sites": tuple(files[::-1])}):
        assert run_experiment(experiment.change(**change)).network == found


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_parameters_of_both_kinds_are_a_default_and_are_asked_as_in_the_open(
    fedbn: Fedbn, tmp_path: Path
) -> None:
    for seed in range(3):
        Path(f"{seed}.csv").write_text(patients(seed))
    tables = [f"{seed}.csv" for seed in range(3)]
    told = fedbn(
        *("simulate", "--sites", *tables, "--score", "mixed-bic", "--numbers", "age,crp"),
        *("--engine", "in-process", "--aggregation", "secure-sums", "--out", "sums"),
    )
    assert "For the parameters it learned of each number" in told.out
    assert "of each number's family" in (tmp_path / "sums" / "learned.txt").read_text()
    asked = ("query", "sums", "--ask", "crp", "--given", "sex=m")
    assert "quantile 0.5" in fedbn(*asked).out
    assert "sites alone know" in fedbn(*asked, "--site", "0").error
