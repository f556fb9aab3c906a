"""`fedbn query --do` as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from fedbn.errors import QueryError
from fedbn.inference import query_do, range_over_class
from fedbn.networks.catalog import load_network
from fedbn.networks.json_file import write_json_network
from fedbn.networks.linear_gaussian import LinearEquation, LinearGaussianNetwork
from simulations.commands.answers import say_differences
from tests.simulations.conftest import Fedbn

ASIA = load_network("asia")


def test_json_has_what_the_library_says(fedbn: Fedbn) -> None:
    asked = ("query", "asia", "--ask", "lung", "dysp", "--do", "smoke=yes", "--given", "xray=no")
    plain = query_do(ASIA, ["lung", "dysp"], {"smoke": "yes"}, {"xray": "no"})
    assert fedbn(*asked, "--json").json == plain
    ranges = range_over_class(ASIA, ["lung", "dysp"], {"smoke": "yes"}, {"xray": "no"})
    found = fedbn(*asked, "--class", "--json").json
    assert found["lung"]["yes"] == {
        "value": plain["lung"]["yes"],
        "least": ranges.least["lung"]["yes"],
        "greatest": ranges.greatest["lung"]["yes"],
    }
    assert found["lung"]["yes"]["least"] < found["lung"]["yes"]["greatest"]


def test_the_table_says_what_is_taken_for_granted(fedbn: Fedbn) -> None:
    out = fedbn("query", "asia", "--ask", "lung", "--do", "smoke=yes").out
    assert "Every arrow of this network is taken for cause and effect" in out
    out = fedbn("query", "asia", "--ask", "lung", "--do", "smoke=yes", "--class").out
    assert "they give smoke 3 different sets of parents" in out
    assert [line.split() for line in out.splitlines() if "yes" in line] == [
        ["lung", "yes", "0.1", "0.055", "0.1"]
    ]
    out = fedbn("query", "asia", "--ask", "lung", "--do", "either=no", "--class").out
    assert "the same parents" in out


def test_the_class_of_a_run_keeps_its_knowledge(fedbn: Fedbn, tmp_path: Path) -> None:
    write_json_network(ASIA, tmp_path / "network.json")
    known = json.dumps({"tiers": [["smoke"], ["lung", "bronc"]]})
    (tmp_path / "run.json").write_text(json.dumps({"settings": {"knowledge": known}}))
    out = fedbn("query", tmp_path, "--ask", "lung", "--do", "smoke=yes", "--class").out
    assert "keep the run's knowledge give smoke the same parents" in out


def test_differences_of_numbers_and_a_file_of_cases(fedbn: Fedbn, tmp_path: Path) -> None:
    chain = LinearGaussianNetwork.from_equations(
        {"a": LinearEquation({}, 1.0, 1.0), "b": LinearEquation({"a": 2.0}, 0.0, 1.0)}
    )
    file, out, cases = tmp_path / "chain.json", tmp_path / "out.csv", tmp_path / "cases.csv"
    write_json_network(chain, file)
    asked = ("query", file, "--ask", "b", "--do", "a=3", "--versus", "a=1")
    assert fedbn(*asked, "--json").json == {"b": {"effect": 4.0}}
    assert fedbn(*asked, "--class", "--json").json == {
        "b": {"effect": {"value": 4.0, "least": 0.0, "greatest": 4.0}}
    }
    cases.write_text("xray\nyes\nno\n")
    fedbn("query", "asia", "--ask", "lung", "--do", "smoke=no", "--given-file", cases, "--class",
          "--out", out)  # fmt: skip
    table = pd.read_csv(out)
    assert list(table.columns) == ["case", "variable", "key", "value", "least", "greatest"]
    assert table.case.tolist() == [1, 1, 2, 2]
    assert (table.least <= table.value).all()


def test_no_effect_from_tables_that_lack_rows(fedbn: Fedbn, tmp_path: Path) -> None:
    write_json_network(ASIA, tmp_path / "network.json")
    run = {"parameters": {"held_back": {"smoke": ["north"]}}}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    asked = ("query", tmp_path, "--ask", "lung")
    refused = "the table of 'smoke' is without the rows of north: min-cell; no effect is computed"
    assert refused in fedbn(*asked, "--do", "dysp=yes").error
    assert fedbn(*asked, "--do", "smoke=yes").status == 0  # its own table is cut away
    assert refused in fedbn(*asked, "--do", "smoke=yes", "--class").error
    run["parameters"]["held_back"]["lung"] = ["south"]
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    both = fedbn(*asked, "--do", "dysp=yes").error
    assert "'smoke' is without the rows of north" in both
    assert "'lung' is without the rows of south" in both


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--do", "smoke"), "--do must be variable=state, not 'smoke'"),
        (("--do", "smoke=yes", "--versus", "lung=no"), "--versus must have the variables of --do"),
        (("--do", "smok=yes"), "did you mean 'smoke'"),
        (("--do", "smoke=maybe"), "no state 'maybe'"),
        (("--class",), "--versus and --class go with --do"),
        (("--do", "smoke=yes", "--weights", "1"), "--do is for one network"),
        (("--do", "smoke=yes", "--given", "smoke=no"), "both set, to 'yes', and observed"),
    ],
)
def test_wrong_inputs(fedbn: Fedbn, arguments: tuple[str, ...], words: str) -> None:
    assert words in fedbn("query", "asia", "--ask", "lung", *arguments).error


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"against": ["bmi -> sex is forbidden"]}, "bmi -> sex is forbidden"),
        ({"added": [["sex", "age"]]}, "has 1 edge more than the consensus"),
    ],
)
def test_networks_whose_arrows_are_no_causes_answer_nothing_that_is_set(
    told: dict[str, object], words: str, tmp_path: Path
) -> None:
    """Those of a group, too; what is observed is answered."""
    groups = {"groups": [["a"], ["b"]], "names": [], "parameters": [{}, told]}
    run = {"parameters": told, "groups": groups}
    (tmp_path / "run.json").write_text(json.dumps(run), encoding="utf-8")
    for group in (None, "2"):
        say_differences(str(tmp_path), sets=False, group=group)
        with pytest.raises(QueryError, match=words):
            say_differences(str(tmp_path), sets=True, group=group)
    say_differences(str(tmp_path), sets=True, group="1")
