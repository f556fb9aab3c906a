"""`fedbn simulate` on the in-process engine, from every source of data, and its wrong inputs."""

import csv
import json
import os
from pathlib import Path

import pytest

from fedbn.networks.catalog import load_network
from tests.simulations.conftest import Fedbn

HERE = ("--engine", "in-process", "--json")
SMALL = ("--network", "asia", "--clients", "3", "--rows", "400")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def table_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def tables(tmp_path: Path, fedbn: Fedbn) -> list[Path]:
    paths = [tmp_path / f"{name}.csv" for name in ("north", "east", "south")]
    for seed, path in enumerate(paths):
        assert fedbn("sample", "survey", "--rows", 300, "--seed", seed, "--out", path).status == 0
    return paths


def test_a_network_is_sampled_learned_fused_and_reported(fedbn: Fedbn, tmp_path: Path) -> None:
    content = fedbn("simulate", *SMALL, "--test-rows", 200, *HERE).json
    out = tmp_path / "results" / "asia"
    assert content["out"] == str(out)
    assert len(content["clients"]) == 3
    assert {"theta", "mean_smhd", "lower_bound", "path", "seconds"} <= set(content)
    assert content["held_out"] < 0
    assert len(table_of(out / "clients.csv")) == 3
    assert all(int(row["rows"]) == 400 for row in table_of(out / "clients.csv"))
    written = load_network(out / "consensus.bif").dag
    assert [list(edge) for edge in written.edges] == content["edges"]
    run = json.loads((out / "run.json").read_text())
    assert run["settings"]["network"] == "asia"
    assert run["seed"] == 1


@pytest.mark.slow
def test_the_result_may_be_replaced_and_its_bytes_stay(fedbn: Fedbn, tmp_path: Path) -> None:
    def contents() -> dict[str, bytes]:
        assert fedbn("simulate", *SMALL, *HERE, "--out", "again").status == 0
        files = sorted(path for path in (tmp_path / "again").rglob("*") if path.is_file())
        return {str(p): p.read_bytes() for p in files if p.name not in ("run.json", "clients.csv")}

    first = contents()
    assert len(first) >= 12
    assert contents() == first
    assert [path.name for path in tmp_path.iterdir()] == ["again"]


@pytest.mark.slow
def test_sites_are_files_space_separated(fedbn: Fedbn, tables: list[Path]) -> None:
    names = [path.name for path in tables]
    content = fedbn("simulate", "--sites", *names, "--score", "bic", *HERE).json
    assert {row["client"] for row in content["clients"]} == {"north", "east", "south"}
    assert content["smhd_to_gold"] is None
    repeated = [part for name in names for part in ("--sites", name)]
    again = fedbn("simulate", *repeated, "--score", "bic", "--gold", "survey", *HERE).json
    assert again["edges"] == content["edges"]
    assert again["smhd_to_gold"] >= 0


def test_a_table_is_divided(fedbn: Fedbn, tables: list[Path]) -> None:
    options = ("--partition", "dirichlet", "--partition-column", "S", "--alpha", "2")
    content = fedbn("simulate", "--table", tables[0], "--clients", 2, *options, *HERE).json
    assert sum(row["rows"] for row in content["clients"]) == 300


def test_float_columns_have_no_bif(fedbn: Fedbn, tmp_path: Path) -> None:
    lines = ["a,b", *(f"{i % 7},{(i % 7) * 2 + (i * 37 % 11) / 5}" for i in range(200))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    options = ("--clients", 2, "--score", "gaussian-bic")
    content = fedbn("simulate", "--table", "t.csv", *options, *HERE).json
    assert len(content["edges"]) == 1
    assert not (Path(content["out"]) / "consensus.bif").exists()


@pytest.mark.slow
def test_rounds_and_settings_by_key(fedbn: Fedbn) -> None:
    options = ("--rounds", 3, "--set", "k-max=3", "--set", "reading=search")
    content = fedbn("simulate", *SMALL, *options, *HERE).json
    settings = json.loads((Path(content["out"]) / "run.json").read_text())["settings"]
    assert (settings["rounds-limit"], settings["k-max"]) == (3, 3)
    assert content["reading"] == "search"


def test_the_table_says_what_happened(fedbn: Fedbn) -> None:
    ran = fedbn("simulate", *SMALL, "--engine", "in-process", "--test-rows", 100)
    for words in ("3 clients", "SMHD to the gold network", "gap", "treewidth", "held-out"):
        assert words in ran.out
    assert f"Results are in results{os.sep}asia" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name the data: --network"),
        (("--network", "alram"), "did you mean 'alarm'"),
        (("--network", "asia", "--table", "t.csv"), "network and table are given"),
        ((*SMALL, "--clients", "0"), "clients must be at least 1, not 0"),
        ((*SMALL, "--learner", "gse"), "unknown learner 'gse'"),
        ((*SMALL, "--score", "bdue"), "unknown score 'bdue'"),
        ((*SMALL, "--score", "gaussian-bic"), "gaussian"),
        ((*SMALL, "--engine", "ray"), "unknown engine 'ray': it must be"),
        ((*SMALL, "--reading", "bset"), "did you mean 'best'"),
        ((*SMALL, "--partition", "idd"), "did you mean 'iid'"),
        ((*SMALL, "--partition", "column"), "partition-column"),
        ((*SMALL, "--set", "lerner=ges"), "did you mean 'learner'"),
        ((*SMALL, "--config", "nowhere.toml"), "cannot read nowhere.toml"),
        ((*SMALL, "--schema", "nowhere.json"), "nowhere.json"),
        (("--table", "north.csv", "--rows", "5"), "--rows is for --network"),
        (("--sites", "north.csv", "--clients", "5"), "--clients is for"),
        (("--table", "nowhere.csv"), "nowhere.csv"),
        (("--table", "north.csv", "--clients", "301"), "301"),
        (("--sites", "north.csv", "narrow.csv"), "column"),
        (("--sites", "north.csv", "nan.csv"), "nan.csv: column 'A', row 1"),
    ],
)
def test_wrong_inputs_are_one_line(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    (tmp_path / "narrow.csv").write_text("A,E\n" + "old,uni\nyoung,high\n" * 5)
    lines = tables[1].read_text().splitlines()
    (tmp_path / "nan.csv").write_text("\n".join([lines[0], "," + lines[1].split(",", 1)[1]]) + "\n")
    error = fedbn("simulate", *HERE, *arguments).error
    assert words in error
    assert not (tmp_path / "results").exists() or not any((tmp_path / "results").iterdir())


def test_unknown_states_are_refused_where_a_schema_is_given(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path
) -> None:
    states = load_network("survey").schema.to_dict() | {"T": ["car", "train"]}
    (tmp_path / "states.json").write_text(json.dumps(states))
    error = fedbn("simulate", "--sites", *tables, "--schema", "states.json", *HERE).error
    assert "'T'" in error
    assert "'other'" in error


def test_results_are_refused_before_anything_runs(fedbn: Fedbn, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    assert "not a result of fedbn" in fedbn("simulate", *SMALL, *HERE, "--out", "mine").error
    assert "cannot write" in fedbn("simulate", *SMALL, *HERE, "--out", "mine/thesis.tex/deep").error
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_wrong_usage_has_status_2(fedbn: Fedbn) -> None:
    assert fedbn("simulate", "stray").status == 2
    assert fedbn("simulate", *SMALL, "--set", "nothing").status == 2
    assert fedbn("simulate", "--rows", "many").status == 2


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_a_table_without_some_rows_is_told_once(
    fedbn: Fedbn, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """By the command, which says it of every engine; the server's log is silent in this process."""
    for name, few in (("north", 9), ("south", 2)):
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "0,0\n1,0\n" * 20 + "0,1\n" * few)
        policy = '[policy]\ncounts = true\nmin-cell = 5\nallow-states = ["b"]\n'
        (tmp_path / f"{name}.toml").write_text(f'table = "{name}.csv"\n{policy}')
    sites = ("--sites", "north.toml", "south.toml")
    done = fedbn("simulate", *sites, "--max-parents", 0, "--engine", "in-process", "--no-pooled")
    assert done.status == 0
    words = "the table of 'b' is without the rows of client 2"
    assert (done.err + caplog.text).count(words) == 1
    assert f"fedbn: warning: {words}: min-cell\n" in done.err
