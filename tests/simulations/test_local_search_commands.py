"""`fedbn learn` with background knowledge, limits and a start; `fedbn bootstrap`."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.simulations.conftest import Fedbn


@pytest.fixture
def table(fedbn: Fedbn, tmp_path: Path) -> Path:
    path = tmp_path / "asia.csv"
    assert fedbn("sample", "asia", "--rows", 2000, "--seed", 1, "--out", path).status == 0
    return path


@pytest.mark.parametrize("learner", ["ges", "xges0", "xges", "ils", "boss", "hc"])
def test_knowledge_decides_directions(
    fedbn: Fedbn, table: Path, tmp_path: Path, learner: str
) -> None:
    known = tmp_path / "known.toml"
    for parent, child in (("smoke", "bronc"), ("bronc", "smoke")):
        known.write_text(f'required = [["{parent}", "{child}"]]\n')
        content = fedbn("learn", table, "--knowledge", known, "--learner", learner, "--json").json
        assert [parent, child] in content["edges"]


def test_contradictory_knowledge_names_the_edge(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    known.write_text('{"required": [["smoke", "lung"]], "tiers": [["lung"], ["smoke"]]}')
    error = fedbn("learn", table, "--knowledge", known).error
    assert "smoke -> lung is required, but the tiers put lung first" in error
    known.write_text('{"required": [["smoke", "lung"]]}')
    states = tmp_path / "states.json"
    fedbn("schema", table, "--out", states)
    private = ("--learner", "dp-ges", "--epsilon", 1, "--schema", states)
    options = (*private, "--knowledge", known)
    assert "knowledge is for ges" in fedbn("learn", table, *options).error
    options = ("--learner", "optimal", "--start-dag", known)
    assert "--start-dag is for ges" in fedbn("learn", table, *options).error


def test_limits_and_start(fedbn: Fedbn, table: Path, tmp_path: Path) -> None:
    free = fedbn("learn", table, "--json").json
    start = tmp_path / "start.json"
    fedbn("learn", table, "--out", start)
    again = fedbn("learn", table, "--start-dag", start, "--turning", "--repeat", "--json").json
    assert again["score"] >= free["score"] - 1e-6
    small = fedbn("learn", table, "--memory-mb", 1, "--max-t", 0, "--max-parents", 1, "--json").json
    assert small["score"] <= free["score"]
    assert small["status"] == "parent limit"
    kept = fedbn("learn", table, "--start-dag", start, "--max-parents", 0, "--json").json
    assert kept["edges"] == free["edges"]
    assert fedbn("learn", table, "--max-parents", 0, "--json").json["edges"] == []
    assert "max-t must be at least 0" in fedbn("learn", table, "--max-t", -1).error
    assert "memory-mb must be at least 1" in fedbn("learn", table, "--memory-mb", 0).error


def test_several_structures_report_the_score_of_the_one_shown(fedbn: Fedbn, table: Path) -> None:
    best = fedbn("learn", table, "--json").json
    options = ("--learner", "bootstrap", "--replicates", 5, "--json")
    content = fedbn("learn", table, *options).json
    assert content["score"] <= best["score"] + 1e-6
    if content["edges"] == best["edges"]:
        assert content["score"] == pytest.approx(best["score"])


def test_bootstrap_is_the_same_for_any_number_of_workers(
    fedbn: Fedbn, table: Path, tmp_path: Path
) -> None:
    texts = []
    for workers in (1, 3):
        strengths, out = tmp_path / f"s{workers}.csv", tmp_path / f"o{workers}.csv"
        options = ("--replicates", 12, "--workers", workers, "--strengths", strengths, "--out", out)
        assert fedbn("bootstrap", table, *options).status == 0
        texts.append((strengths.read_bytes(), out.read_bytes()))
    assert texts[0] == texts[1]
    rows = list(csv.DictReader((tmp_path / "s1.csv").open()))
    values = [float(row["strength"]) for row in rows]
    assert values == sorted(values, reverse=True)
    assert all(
        0 < value <= 1 and 0.5 <= float(row["direction"]) <= 1
        for value, row in zip(values, rows, strict=True)
    )


def test_bootstrap_reports_threshold_and_average(fedbn: Fedbn, table: Path) -> None:
    content = fedbn("bootstrap", table, "--replicates", 10, "--json").json
    strong = {
        (a, b) for a, b, strength, _ in content["strengths"] if strength > content["threshold"]
    }
    assert {frozenset(pair) for pair in strong} == {frozenset(edge) for edge in content["edges"]}
    sure = fedbn("bootstrap", table, "--replicates", 3, "--threshold", 1.0, "--json").json
    in_all = {frozenset((a, b)) for a, b, strength, _ in sure["strengths"] if strength == 1}
    assert {frozenset(edge) for edge in sure["edges"]} == in_all
    assert (
        "ges, xges0, xges, ils, boss or hc"
        in fedbn("bootstrap", table, "--learner", "credible").error
    )
