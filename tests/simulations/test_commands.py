"""`fedbn learn`, `sample`, `compare`, `networks`, and the help."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulations.conftest import Fedbn

COMMANDS = ("simulate", "learn", "fuse", "sample", "compare", "networks")


@pytest.fixture
def table(tmp_path: Path, fedbn: Fedbn) -> Path:
    path = tmp_path / "asia.csv.gz"
    assert fedbn("sample", "asia", "--rows", 2000, "--out", path, "--quiet").status == 0
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples(fedbn: Fedbn, command: str) -> None:
    ran = fedbn(command, "--help")
    assert ran.status == 0
    assert f"fedbn {command}" in ran.out.split("Examples")[1]


@pytest.mark.parametrize(
    ("command", "words"),
    [("learn", "A table"), ("fuse", "DAGs"), ("compare", "A DAG file"), ("sample", "A network")],
)
def test_help_explains_the_arguments(fedbn: Fedbn, command: str, words: str) -> None:
    assert words in fedbn(command, "--help").out.split("Arguments")[1].split("Options")[0]


def test_no_command_shows_the_help(fedbn: Fedbn) -> None:
    ran = fedbn()
    assert ran.status == 2
    assert all(command in ran.out + ran.err for command in COMMANDS)


def test_the_installed_command_gives_one_line_and_status_1() -> None:
    program = "from simulations.cli import main; main(['learn', 'nowhere.csv', '--quiet'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("fedbn: error: ")
    assert done.stderr.count("\n") == 1
    assert "nowhere.csv" in done.stderr


def test_sample_is_reproducible(fedbn: Fedbn, tmp_path: Path) -> None:
    first = fedbn("sample", "cancer", "--rows", 5, "--seed", 3)
    assert first.out == fedbn("sample", "cancer", "--rows", 5, "--seed", 3).out
    assert first.out != fedbn("sample", "cancer", "--rows", 5, "--seed", 4).out
    assert first.out.splitlines()[0] == "Cancer,Dyspnoea,Pollution,Smoker,Xray"
    assert len(first.out.splitlines()) == 6
    out = tmp_path / "t.csv"
    facts = fedbn("sample", "cancer", "--rows", 5, "--seed", 3, "--out", out, "--json").json
    assert out.read_text() == first.out
    assert (facts["rows"], len(facts["columns"])) == (5, 5)


def test_learn_finds_most_of_asia(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "learned.json"
    content = fedbn("learn", table, "--json", "--out", out).json
    assert {"nodes", "edges", "score", "seconds", "startup_seconds"} <= set(content)
    assert content["score"] < 0
    distances = fedbn("compare", out, "asia", "--json").json
    assert list(distances)[:5] == ["smhd", "shd", "precision", "recall", "f1"]
    assert distances["shd"] <= 5


def test_learn_gives_the_class(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    ran = fedbn("learn", table, "--score", "bic", "--class")
    assert ran.out.startswith("from,to,directed\n")
    assert ",open\n" in ran.out
    assert "directions are not determined" in ran.err
    fedbn("learn", table, "--score", "bic", "--class", "--out", tmp_path / "class.json")
    content = json.loads((tmp_path / "class.json").read_text())
    assert set(content) == {"nodes", "directed", "undirected"}
    assert content["undirected"]


def test_learn_prints_edges_alone_on_standard_output(fedbn: Fedbn, table: Path) -> None:
    ran = fedbn("learn", table, "--score", "bic")
    lines = ran.out.splitlines()
    assert lines[0] == "parent,child,directed"
    assert {line.split(",")[2] for line in lines[1:]} == {"compelled", "open"}
    assert "2000 rows, 8 columns" in ran.err
    assert fedbn("learn", table, "--score", "bic", "--quiet").err == ""


def test_learn_says_what_is_wrong(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    assert "unknown learner 'gse'" in fedbn("learn", table, "--learner", "gse").error
    assert "unknown score 'bdue'" in fedbn("learn", table, "--score", "bdue").error
    assert "must be above 0 and at most" in fedbn("learn", table, "--ess", "0").error
    assert "finite number" in fedbn("learn", table, "--score", "gaussian-bic").error
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "is empty" in fedbn("learn", empty).error
    states = tmp_path / "states.json"
    states.write_text('{"asia": ["no"]}')
    assert "asia" in fedbn("learn", table, "--schema", states).error
    assert "must end in" in fedbn("learn", table, "--out", tmp_path / "x.xls").error


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_warnings_are_one_line_too(fedbn: Fedbn, tmp_path: Path) -> None:
    constant = tmp_path / "constant.csv"
    constant.write_text("a,b\n" + "0,x\n1,x\n" * 20)
    ran = fedbn("learn", constant, "--json")
    assert ran.json["edges"] == []
    assert ran.err.startswith("fedbn: warning: ")
    assert "'b' is constant" in ran.err


def test_compare_reads_files_and_names(fedbn: Fedbn, tmp_path: Path) -> None:
    same = fedbn("compare", "asia", "asia", "--json").json
    assert set(same.values()) == {0, 1.0}
    assert (same["smhd"], same["sid"], same["f1"]) == (0, 0, 1.0)
    edges = tmp_path / "edges.csv"
    edges.write_text("a,c\nb,c\n")
    chain = tmp_path / "chain.txt"
    chain.write_text("nodes a,b,c\ndag one\na,c\nc,b\n")
    distances = fedbn("compare", edges, chain, "--nodes", "a,b,c", "--json").json
    assert (distances["smhd"], distances["shd"]) == (1, 2)
    assert "F1" in fedbn("compare", "asia", "asia").out
    assert "missing" in fedbn("compare", "asia", "cancer").error
    assert "did you mean 'alarm'" in fedbn("compare", "alram", "asia").error
    assert "nowhere.json" in fedbn("compare", "nowhere.json", "asia").error


@pytest.mark.slow
def test_networks_are_listed(fedbn: Fedbn) -> None:
    listed = {fact["name"]: fact for fact in fedbn("networks", "--json").json["networks"]}
    asia = listed["asia"]
    assert (asia["nodes"], asia["edges"], asia["parameters"]) == (8, 8, 18)
    assert {"alarm", "child", "hepar2", "win95pts", "water", "munin4"} <= set(listed)
    assert len(listed) == 24
    assert "must be a folder" in fedbn("networks", "--network-dir", "nowhere").error


def test_too_little_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fedbn.networks import catalog
    from simulations.cli import main

    def greedy(*_: object) -> None:
        raise MemoryError("Unable to allocate 9.9 TiB")

    monkeypatch.setattr(catalog, "load_network", greedy)
    with pytest.raises(SystemExit) as ended:
        main(["sample", "asia", "--quiet"])
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        "fedbn: error: memory is not enough: Unable to allocate 9.9 TiB\n"
    )
