"""The command `credible`, through typer."""

import csv
import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from fedbn.errors import ConfigError, FedbnWarning, SearchError
from simulations.cli.credible import credible
from tests import naive_credible as naive

app = typer.Typer()
app.command()(credible)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    data = naive.table(np.random.default_rng(3), 60, [2, 3, 2, 2], copied=False)
    file = tmp_path_factory.mktemp("credible") / "table.csv"
    with file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(data.names)
        writer.writerows(
            [data.schema.states[j][code] for j, code in enumerate(row)]
            for row in data.codes.tolist()
        )
    return file


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def test_json_has_the_counts_and_posteriors(path) -> None:
    content = json.loads(run(path, "--bf", 150, "--json", "--list", 3).stdout)
    assert content["complete"] is True
    assert content["opt"] > 0
    assert content["dags"] >= content["classes"] >= 1
    assert content["parent_sets"] >= 4
    assert all(0 < edge["posterior"] <= 1 for edge in content["edges"])
    assert len(content["structures"]) == min(3, content["dags"])
    assert content["structures"][0]["excess"] == 0.0
    counted = json.loads(run(path, "--bf", 150, "--count", "--json").stdout)
    assert "edges" not in counted
    assert counted["dags"] == content["dags"]
    assert counted["classes"] == content["classes"]


def test_text_and_files(path, tmp_path) -> None:
    text = run(path, "--score", "bdeu", "--k-best", 2, "--per-class", "-q").stdout
    assert text.startswith("parent,child,posterior\n")
    run(path, "--out", tmp_path / "edges.csv", "-q")
    run(path, "--out", tmp_path / "net.dot", "-q")
    assert (tmp_path / "edges.csv").read_text().startswith("parent,child,posterior\n")
    assert (tmp_path / "net.dot").read_text().startswith("digraph credible {")


def test_options_that_exclude_each_other(path) -> None:
    for options in (("--count", "--list", 2), ("--list", 2, "--k-best", 2), ("--samples", 9)):
        with pytest.raises(ConfigError):
            run(path, *options)
    with pytest.raises(ConfigError, match=r"\.csv or \.dot"):
        run(path, "--out", "x.png")


def test_averages_of_other_functions(path) -> None:
    listed = json.loads(run(path, "--bf", 20, "--ancestors", "--v-structures", "--json").stdout)
    drawn = json.loads(run(path, "--bf", 20, "--ancestors", "--samples", 300, "--json").stdout)
    exact = {(row["ancestor"], row["descendant"]): row["posterior"] for row in listed["ancestors"]}
    for row in drawn["ancestors"]:
        pair = (row["ancestor"], row["descendant"])
        assert row["posterior"] == pytest.approx(exact[pair], abs=0.15)
    edges = {(row["parent"], row["child"]): row["posterior"] for row in listed["edges"]}
    assert all(exact[pair] >= share - 1e-9 for pair, share in edges.items())
    assert all(0 < row["posterior"] <= 1 for row in listed["v_structures"])
    text = run(path, "--ancestors", "--v-structures", "--list", 2, "-q").stdout
    tables = [table.splitlines() for table in text.split("\n\n")]
    assert [table[0] for table in tables] == [
        "parent,child,posterior",
        "ancestor,descendant,posterior",
        "parent,child,other_parent,posterior",
        "rank,excess,edges",
    ]
    assert tables[3][1].startswith("1,0,")
    assert all(
        len(row) == len(table[0].split(",")) for table in tables for row in csv.reader(table)
    )


def test_one_of_a_thing_is_said_so(tmp_path) -> None:
    (tmp_path / "one.csv").write_text("a\n0\n1\n0\n")
    said = run(tmp_path / "one.csv").stderr
    assert "1 parent set; 1 graph in 1 class within a Bayes factor of 20" in said


def test_figures_scores_and_the_papers_numbers(path, tmp_path) -> None:
    scores = tmp_path / "scores.jkl"
    options = ("--bf", 20, "--paper", "--figures", tmp_path / "figures", "--scores", scores)
    content = json.loads(run(path, *options, "--json").stdout)
    assert content["paper_parent_sets"] >= content["parent_sets"]
    assert content["paper_classes"] >= content["classes"]
    assert sorted(file.name for file in (tmp_path / "figures").iterdir()) == [
        "edges.png",
        "edges.svg",
        "ranks.png",
        "ranks.svg",
    ]
    again = json.loads(run(scores, "--bf", 20, "--json").stdout)
    assert again["dags"] == content["dags"]
    assert again["classes"] == content["classes"]
    with pytest.raises(ConfigError, match="new folder"):
        run(path, "--figures", tmp_path / "figures")


def test_limits_and_what_is_too_much(path) -> None:
    text = run(path, "--seconds", 60, "--memory", 1, "--count", "-q").stderr
    assert "complete: true; every credible graph is counted" in text
    with pytest.raises(SearchError, match="raise --bf"):
        run(path, "--bf", 20, "--k-best", 100_000)
    with pytest.raises(FedbnWarning, match="20 or more"):
        run(path, "--bf", 3)
    capped = json.loads(run(path, "--max-parents", 0, "--count", "--json").stdout)
    assert capped["complete"] is False
    assert "at most 0 parents" in capped["proof"]
    assert capped["limit"] == "the parent limit"


def test_a_file_of_scores_has_its_own_score(path, tmp_path) -> None:
    run(path, "--scores", tmp_path / "local.jkl", "--count", "--bf", 150)
    content = json.loads(run(tmp_path / "local.jkl", "--json", "--bf", 150).stdout)
    assert content["score"] == "as in the file"
    for option in (("--score", "bic"), ("--ess", 2), ("--max-parents", 2), ("--paper",)):
        with pytest.raises(ConfigError, match=f"{option[0]} is for tables"):
            run(tmp_path / "local.jkl", *option)


def test_ess_is_for_bdeu(path) -> None:
    with pytest.raises(ConfigError, match="--ess is for the score bdeu"):
        run(path, "--score", "bic", "--ess", 5)
