"""Groups in `fuse`, `simulate` and results folders."""

from __future__ import annotations

import csv
import json
import shutil
import warnings
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fedbn.data.schema import Schema
from fedbn.data.tables import write_table
from fedbn.errors import ConfigError, FedbnError, FedbnWarning, ResultsError
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.writing import write_structure
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.given import groups_of_sites, read_groups
from fedbn.groups.profiles import SiteStructures
from fedbn.networks.catalog import load_network
from fedbn.networks.network import BayesianNetwork
from simulations.cli import app
from simulations.commands.answers import read_group
from simulations.studies.groups.populations import base_network, move_edges, tables_of
from tests.groups.test_groups import two_populations


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Structures of six and four sites of two populations."""
    for entry in two_populations((6, 4), seed=2, moved=20):
        write_structure(entry.dags[0], tmp_path / f"{entry.site}.json")
    return sorted(map(str, tmp_path.glob("s*.json")))


def fuse(*arguments: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)  # one of two populations has no say in all
        result = CliRunner().invoke(app, ["fuse", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_fuse_writes_groups_and_differences(files: list[str], tmp_path: Path) -> None:
    out = tmp_path / "out"
    lines = fuse(*files, "--groups", "2", "--out", str(out)).splitlines()[-3:]
    assert lines[0].startswith("2 groups of 10 sites")
    with (out / "groups.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows] == ["1"] * 6 + ["2"] * 4
    assert all(float(row["smhd_to_group"]) < float(row["smhd_to_other"]) for row in rows)
    with (out / "differences.csv").open(encoding="utf-8") as file:
        differences = list(csv.DictReader(file))
    assert {row["kind"] for row in differences} <= {"edge", "direction"}
    assert f"{sum(row['kind'] == 'edge' for row in differences)} edges (" in lines[2]
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["groups"][1] == ["s006", "s007", "s008", "s009"]
    own = json.loads((out / "groups" / "group-2.json").read_text(encoding="utf-8"))
    assert len(own["nodes"]) == 24
    assert "groups/core.csv" in (out / "README.txt").read_text(encoding="utf-8")


def test_the_consensus_of_all_does_not_depend_on_groups(files: list[str], tmp_path: Path) -> None:
    for how in ("no", "auto", "3"):
        fuse(*files, "--groups", how, "--out", str(tmp_path / how), "-q")
    texts = {(tmp_path / how / "consensus.json").read_bytes() for how in ("no", "auto", "3")}
    assert len(texts) == 1
    assert not (tmp_path / "no" / "groups.csv").exists()


def test_one_group_of_alike_sites_has_the_consensus_byte_for_byte(tmp_path: Path) -> None:
    names = []
    for entry in two_populations((8,), seed=1):
        names.append(str(tmp_path / f"{entry.site}.json"))
        write_structure(entry.dags[0], tmp_path / f"{entry.site}.json")
    out = tmp_path / "out"
    fuse(*names, "--groups", "auto", "--out", str(out), "-q")
    whole = json.loads((out / "consensus.json").read_text(encoding="utf-8"))
    assert _first_four(out / "groups" / "group-1.csv") == _first_four(out / "consensus.csv")
    assert whole == json.loads((out / "groups" / "group-1.json").read_text(encoding="utf-8"))


def _first_four(file: Path) -> list[list[str]]:
    """Parent, child, directed, support of all edges."""
    with file.open(newline="", encoding="utf-8") as text:
        return [row[:4] for row in csv.reader(text)]


def test_a_group_is_fused_as_if_it_were_alone(files: list[str], tmp_path: Path) -> None:
    grouped, alone = tmp_path / "grouped", tmp_path / "alone"
    fuse(*files, "--groups", "2", "--out", str(grouped), "-q")
    fuse(*files[6:], "--out", str(alone), "-q")
    group = _first_four(grouped / "groups" / "group-2.csv")
    assert group == _first_four(alone / "consensus.csv")


def test_given_groups(files: list[str], tmp_path: Path) -> None:
    given = tmp_path / "groups.csv"
    given.write_text("site,group\n" + "".join(f"s{i:03},{'ab'[i % 2]}\n" for i in range(10)))
    found = json.loads(fuse(*files, "--groups-file", str(given), "--json"))["grouping"]
    assert found["how"] == "given"
    assert found["groups"][0] == ["s000", "s002", "s004", "s006", "s008"]
    assert found["tests"] == []


def test_rows_that_are_told_are_used(files: list[str]) -> None:
    told = ["--site-rows", ",".join(["1000"] * 10)]
    found = json.loads(fuse(*files, "--groups", "auto", *told, "--json"))["grouping"]
    assert found["rows_told"] is True
    assert [len(group) for group in found["groups"]] == [6, 4]
    for wrong in ("1000", "0" + ",9" * 9, "x" + ",9" * 9):
        result = CliRunner().invoke(app, ["fuse", *files, "--site-rows", wrong])
        assert isinstance(result.exception, ConfigError) or "site-rows" in result.output


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("place,group\na,1\n", "site,group"),
        ("site,group\na,1\na,2\n", "line 3: site 'a' is there twice"),
        ("site,group\na\n", "line 2"),
        ("site,group\n", "no site"),
        ("", "site,group"),
    ],
)
def test_wrong_files_of_groups(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "groups.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_groups(path)


def test_settings_refuse_what_cannot_be() -> None:
    with pytest.raises(ConfigError, match="cannot be found from sums"):
        ConsensusSettings(groups="auto", aggregation="secure-sums")
    with pytest.raises(ConfigError, match="no, auto or a number"):
        ConsensusSettings(groups="many")


def test_shares_of_a_site_sum_to_its_weight() -> None:
    one, other = (entry.dags[0] for entry in two_populations((2,), seed=0))
    both = SiteStructures("a", (one, other), (Fraction(1, 3), Fraction(2, 3)))
    heavy = SiteStructures("b", (one,), (Fraction(1),))
    alone = [
        SiteStructures("a", (one,), (Fraction(1),)),
        SiteStructures("c", (other,), (Fraction(1),)),
    ]
    assert GroupFusion()([both, heavy]) == GroupFusion()(
        [SiteStructures("a", (one,), (Fraction(2),)), SiteStructures("c", (other,), (Fraction(1),))]
    )
    assert GroupFusion(quorum=9)(alone).names == one.names


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of a run of three sites of asia and three of asia with four edges moved, in which
    counts choose and parameters are wanted; its tables beside it."""
    folder = tmp_path_factory.mktemp("counted")
    rng = np.random.default_rng(3)
    asia = base_network("asia", rng)
    tables, _ = tables_of((asia, move_edges(asia, 4, rng)), (3, 3), (700,) * 6, rng)
    for i, table in enumerate(tables):
        write_table(table, folder / f"s{i}.csv")
    sites = [str(folder / f"s{i}.csv") for i in range(6)]
    simulate_sites(sites, folder / "out", "--groups", "2", "--set", "share-diagnostics=true")
    return folder


def simulate_sites(sites: list[str], out: Path, *arguments: str) -> str:
    fixed = ["--engine", "in-process", "--no-pooled", "--parameters", "federated"]
    command = ["simulate", "--sites", *sites, "--out", str(out), "--choose", "counts"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)  # of rare states, and of two groups
        result = CliRunner().invoke(app, [*command, *fixed, *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_simulate_finds_groups_where_sites_differ(counted: Path) -> None:
    run = json.loads((counted / "out" / "run.json").read_text(encoding="utf-8"))
    assert run["settings"]["groups"] == "2"
    assert run["groups"]["rows_told"] is True
    assert run["groups"]["groups"] == [["s0", "s1", "s2"], ["s3", "s4", "s5"]]
    assert [told["sites"] for told in run["groups"]["parameters"]] == run["groups"]["groups"]
    assert "By counts, the parents differ for" in run["groups"]["lines"][2]


@pytest.mark.parametrize("learner", ["bootstrap", "credible"])
def test_what_stands_for_rows_that_are_not_told(
    counted: Path, tmp_path: Path, learner: str
) -> None:
    """Of the run and of its updates; credible sets, which are cut, do not show rows, and nobody
    knows of which samples the structures of a file are."""
    sites = [str(counted / f"s{i}.csv") for i in range(6)]
    own = ["--set", "share-diagnostics=false"]
    own += ["--set", "replicates=5"] if learner == "bootstrap" else []
    run = ["simulate", "--sites", *sites, "--engine", "in-process", "--no-pooled", "--groups"]
    new = tmp_path / "new.json"
    commands = (
        [*run, "auto", "--learner", learner, *own, "--out", str(tmp_path / "run")],
        ["update", str(tmp_path / "run"), "--remove", "client 6", "--out", str(tmp_path / "less")],
        ["update", str(tmp_path / "run"), "--add", str(new), "--out", str(tmp_path / "more")],
    )
    for command in commands:
        if "update" in command:
            kept = json.loads((tmp_path / "run" / "state.json").read_text(encoding="utf-8"))
            names = list(Schema.from_dict(kept["schema"]).names)
            chain = {"nodes": names, "edges": list(map(list, pairwise(names)))}
            new.write_text(json.dumps([chain, {"nodes": names, "edges": []}]), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FedbnWarning)
            result = CliRunner().invoke(app, [*command, "-q"])
        assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "more" / "run.json").read_text(encoding="utf-8"))["groups"]
    assert "variety" not in told["lines"][1]
    for folder in ("run", "less"):
        told = json.loads((tmp_path / folder / "run.json").read_text(encoding="utf-8"))["groups"]
        assert told["rows_told"] is False
        assert ("whose variety takes the place of its number of rows" in told["lines"][1]) == (
            learner == "bootstrap"
        )
        assert "several structures" in told["lines"][1]


def test_a_group_of_a_run_is_a_run_of_its_sites(counted: Path) -> None:
    sites = [str(counted / f"s{i}.csv") for i in range(3, 6)]
    alone = counted / "alone"
    simulate_sites(sites, alone, "-q")
    own = counted / "out" / "groups"
    alone_dag = json.loads((alone / "consensus.json").read_text(encoding="utf-8"))
    assert json.loads((own / "group-2.json").read_text(encoding="utf-8")) == alone_dag
    one, other = (
        load_network(str(file)) for file in (own / "network-2.json", alone / "network.json")
    )
    assert isinstance(one, BayesianNetwork)
    assert isinstance(other, BayesianNetwork)
    assert one.dag == other.dag
    assert [cpt.shape for cpt in one.cpts] == [cpt.shape for cpt in other.cpts]
    assert all(np.array_equal(a, b) for a, b in zip(one.cpts, other.cpts, strict=True))


def test_families_are_counted_in_all_groups(counted: Path) -> None:
    with (counted / "out" / "families.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert {row["differs"] for row in rows} == {"structure", "parameters", "nothing"}
    for row in rows:
        if row["differs"] != "structure":
            assert row["structure"] == "" or float(row["structure"]) <= float(row["parameters"])


def test_query_asks_a_group(counted: Path) -> None:
    command = ["query", str(counted / "out"), "--ask", "lung", "--json"]
    answers = [
        CliRunner().invoke(app, [*command, *more]).stdout
        for more in ([], ["--group", "1"], ["--group", "2"])
    ]
    assert len(set(answers)) == 3
    file = str(counted / "out" / "groups" / "network-2.json")
    assert answers[2] == CliRunner().invoke(app, ["query", file, *command[2:]]).stdout


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--group", "3"], "groups 1 to 2; none is '3'"),
        (["--group", "east"], "none is 'east'"),
        (["--group", "1", "--average"], "--group is for one results folder"),
    ],
)
def test_query_refuses_groups_that_are_not_there(
    counted: Path, more: list[str], words: str
) -> None:
    result = CliRunner().invoke(app, ["query", str(counted / "out"), "--ask", "lung", *more])
    assert isinstance(result.exception, FedbnError)
    assert words in str(result.exception)


def test_query_of_results_without_groups_or_parameters(files: list[str], tmp_path: Path) -> None:
    for how, words in (("no", "has no groups of sites"), ("2", "no parameters of group 1")):
        fuse(*files, "--groups", how, "--out", str(tmp_path / how), "-q")
        with pytest.raises(ResultsError, match=words):
            read_group(str(tmp_path / how), "1")
    with pytest.raises(ResultsError, match=r"asia has no run\.json"):
        read_group("asia", "1")


def test_query_says_why_a_group_has_no_parameters(counted: Path, tmp_path: Path) -> None:
    shutil.copytree(counted / "out", tmp_path / "out")
    (tmp_path / "out/groups/network-2.json").unlink()
    run = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))
    run["groups"]["parameters"] = [{}, {"failure": "nobody counted the family of 'lung'"}]
    (tmp_path / "out/run.json").write_text(json.dumps(run), encoding="utf-8")
    words = "no parameters of group 2: nobody counted the family of 'lung'; policies of sites"
    with pytest.raises(ResultsError, match=words):
        read_group(str(tmp_path / "out"), "2")


@pytest.fixture(scope="module")
def given(counted: Path) -> Path:
    """Results of the same sites in groups that are known by name."""
    names = counted / "names.csv"
    lines = [f"s{i},{'west' if i < 3 else 'east'}" for i in range(6)]
    names.write_text("\n".join(["site,group", *lines, "absent,east"]), encoding="utf-8")
    sites = [str(counted / f"s{i}.csv") for i in range(6)]
    simulate_sites(sites, counted / "given", "--groups-file", str(names))
    return counted / "given"


def test_groups_that_are_given_have_names_and_are_run_alike(given: Path, counted: Path) -> None:
    run = json.loads((given / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["names"] == ["west", "east"]
    assert run["groups"]["how"] == "given"
    assert run["settings"]["groups-file"] == "names.csv"
    for name in ("groups/network-2.json", "families.csv", "consensus.json"):
        assert (given / name).read_bytes() == (counted / "out" / name).read_bytes()
    assert read_group(str(given), "east").dag == read_group(str(given), "2").dag
    with pytest.raises(ResultsError, match="none is 'north'"):
        read_group(str(given), "north")


def test_an_update_keeps_groups_that_were_given(given: Path, tmp_path: Path) -> None:
    command = ["update", str(given), "--remove", "s5", "--out", str(tmp_path / "less"), "-q"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    run = json.loads((tmp_path / "less" / "run.json").read_text(encoding="utf-8"))
    assert run["groups"]["groups"] == [["s0", "s1", "s2"], ["s3", "s4"]]
    assert run["groups"]["names"] == ["west", "east"]


def test_an_update_with_groups_alone(counted: Path, given: Path, tmp_path: Path) -> None:
    command = ["update", str(counted / "out"), "--out", str(tmp_path / "named"), "-q"]
    with pytest.raises(ConfigError, match="--knowledge FILE or --groups-file FILE"):
        CliRunner().invoke(app, command, catch_exceptions=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FedbnWarning)
        result = CliRunner().invoke(app, [*command, "--groups-file", str(counted / "names.csv")])
    assert result.exit_code == 0, result.output
    found, wanted = (
        json.loads((folder / "run.json").read_text(encoding="utf-8"))["groups"]
        for folder in (tmp_path / "named", given)
    )
    for key in ("names", "groups", "how"):
        assert found[key] == wanted[key]


def test_every_site_of_a_run_needs_a_group(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("site,group\na,1\nb,2\n", encoding="utf-8")
    assert groups_of_sites(path, ["b"]) == ({"b": "2"}, ("a",))
    path.write_text("site,group,group_name\na,1,\nb,2,'=b\n", encoding="utf-8")
    assert groups_of_sites(path, ["a", "b"])[0] == {"a": "1", "b": "=b"}
    path.write_text("site,group\na,1\nb,2\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="no group for site 'c', only for 'a', 'b'"):
        groups_of_sites(path, ["a", "c"])


def test_groups_that_are_given_exclude_what_contradicts_them() -> None:
    with pytest.raises(ConfigError, match="use one of them"):
        ConsensusSettings(groups="auto", groups_file="g.csv")
