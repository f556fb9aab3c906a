"""Groups in `fuse`, `simulate` and results folders."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbn.errors import ConfigError
from fedbn.federation.settings import ConsensusSettings
from fedbn.graphs.writing import write_structure
from fedbn.groups.fusing import GroupFusion
from fedbn.groups.profiles import SiteStructures
from simulations.cli import app
from simulations.commands.groups_output import read_groups
from tests.groups.test_groups import two_populations


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Structures of six and four sites of two populations."""
    for entry in two_populations((6, 4), seed=2, moved=20):
        write_structure(entry.dags[0], tmp_path / f"{entry.site}.json")
    return sorted(map(str, tmp_path.glob("s*.json")))


def fuse(*arguments: str) -> str:
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


def test_simulate_finds_groups_where_sites_differ(tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "simulate",
        "--network",
        "asia",
        "--clients",
        "4",
        "--rows",
        "200",
        "--out",
        str(out),
    ]
    result = CliRunner().invoke(
        app,
        [*arguments, "--engine", "in-process", "--groups", "2", "--set", "share-diagnostics=true"],
    )
    assert result.exit_code == 0, result.output
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["settings"]["groups"] == "2"
    assert run["groups"]["rows_told"] is True
    assert len(run["groups"]["groups"]) == 2
    assert "2 groups of 4 sites" in result.stdout
