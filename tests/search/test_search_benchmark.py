"""The benchmark command, without other programs and with a stand-in for one."""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from fedbn.errors import ConfigError
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from simulations.benchmarks import peers, search
from simulations.benchmarks.search_programs import chosen_own, chosen_peers, peer_result, sample_of
from simulations.benchmarks.search_report import HEADER, RACE_HEADER, Row, race_rows, table_rows


def test_the_command_writes_table_and_plot(tmp_path: Path) -> None:
    options = ["--networks", "asia", "--rows", "100,200", "--no-peers", "--output", str(tmp_path)]
    assert search.main(options) == 0
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["program"] for row in rows] == [
        "fedbn ges",
        "fedbn ges, turning",
        "fedbn xges0",
        "fedbn xges",
        "fedbn ils",
        "fedbn boss",
        "fedbn hill climbing",
    ] * 2
    assert all(float(row["score"]) < 0 for row in rows)
    assert (tmp_path / "seconds.png").stat().st_size > 1000
    assert "| asia | 200 | fedbn xges0 | 1 of 1 |" in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_what_other_programs_gave_is_kept(tmp_path: Path, monkeypatch) -> None:
    limits: list[float] = []

    def stand_in(sample, program, score, pythons, limit):
        limits.append(limit)
        if limit < 20:
            return {"note": f"more than {limit:g} s"}
        return {"seconds": 1.0, "score": -1e9, "shd": 3, "cpdag": []}

    monkeypatch.setattr(search, "peer_result", stand_in)
    network = ["--networks", "random-gaussian:4:3:{sample}", "--score", "gaussian-bic"]
    options = [*network, "--rows", "50", "--peers", "ges", "--output", str(tmp_path)]
    for limit, samples in ((10, 1), (5, 1), (20, 1), (10, 2), (30, 2)):
        search.main([*options, "--limit", str(limit), "--samples", str(samples)])
    assert limits == [10, 20, 10, 30]
    last = (tmp_path / "report.md").read_text().splitlines()
    assert any("| ges | 2 of 2 | 1.0000 | -1000000000.00 |" in line for line in last)
    lines = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    classes = {str(row["cpdag"]) for row in lines if row["program"] == "fedbn ges"}
    assert len(classes) == 2


@pytest.mark.slow
def test_names_of_random_networks_are_shown_as_they_are(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    options = ["--networks", "random-gaussian:100:9", "--score", "gaussian-bic", "--no-peers"]
    search.main([*options, "--rows", "200", "--output", str(tmp_path)])
    assert "random-gaussian:100:9" in capsys.readouterr().out


def test_means_are_over_the_samples_with_a_figure() -> None:
    def row(sample: int, program: str, score: float | None, note: str = "") -> Row:
        seconds = None if score is None else 2.0
        common = {"score_name": "bdeu", "seed": 1, "nodes": 8, "limit": 5.0, "note": note}
        return Row("asia", 100, sample, program, seconds=seconds, score=score, shd=0, **common)

    rows = [row(k, "fedbn ges", score) for k, score in enumerate((-10.0, -20.0, -30.0))]
    rows += [row(0, "other", -11.0), row(1, "other", -18.0), row(2, "other", None, "too long")]
    line = dict(zip(HEADER, table_rows(rows)[1], strict=True))
    assert line["samples"] == "2 of 3"
    assert line["over ges"] == "+0.50"
    assert line["at most ges"] == 1
    assert line["note"] == "1: too long"


def test_the_race_is_told_by_its_worst_sample() -> None:
    common = {"score_name": "bic", "seed": 1, "nodes": 8, "limit": 5.0, "shd": 0}
    rows = [
        Row("asia", 100, k, program, seconds=seconds, score=score, **common)
        for program, figures in {
            "fedbn ils": [(0.1, -10.0), (0.2, -20.0), (0.1, -30.0)],
            "other": [(1.0, -13.0), (3.0, -19.0), (2.0, -30.0)],
        }.items()
        for k, (seconds, score) in enumerate(figures)
    ]
    line = dict(zip(RACE_HEADER, race_rows(rows)[1], strict=True))
    assert (line["CPU s"], line["most CPU s"]) == ("2.0000", "3.0000")
    assert (line["ils over it"], line["least"], line["ils not below"]) == ("+0.67", "-1.00", 2)


def test_slow_programs_may_get_fewer_samples() -> None:
    assert chosen_peers("bnlearn tabu; pgmpy hill climbing: 2", "bic", 10) == {
        "bnlearn tabu": 10,
        "pgmpy hill climbing": 2,
    }
    with pytest.raises(ConfigError, match="samples of at least 1, not 'x'"):
        chosen_peers("bnlearn hc:x", "bdeu", 10)


def test_some_of_the_own_searches(tmp_path: Path, capsys) -> None:
    assert chosen_own("fedbn xges0") == ["fedbn ges", "fedbn xges0"]
    assert search.main(["--own", "fedbn best", "--output", str(tmp_path)]) == 1
    assert "no search 'fedbn best' of fedbn" in capsys.readouterr().err.replace("\n", "")


def test_a_program_that_is_not_known_is_an_error(tmp_path: Path, capsys) -> None:
    assert search.main(["--peers", "none", "--output", str(tmp_path)]) == 1
    assert "no program 'none'" in capsys.readouterr().err


def test_an_interpreter_without_the_program_is_named() -> None:
    sample = sample_of("random-gaussian:4:3", None, 50, 0, 1, "gaussian-bic")
    found = peer_result(sample, "xges (xges-0)", "gaussian-bic", [sys.executable], 60.0)
    assert found["note"].startswith("not installed")


def test_endpoints_of_causal_learn() -> None:
    graph = np.array([[0, -1, 0], [1, 0, -1], [0, -1, 0]])
    found = peers._from_endpoints(graph)
    assert found.astype(int).tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]


def test_the_vectorised_score_is_bdeu_with_a_prior() -> None:
    data = load_network("child").sample(2000, np.random.default_rng(0))
    ours, theirs = make_score("bdeu", data), peers.VectorisedBDeu(data.codes)
    rng = np.random.default_rng(1)
    assert theirs.arities == data.cardinalities.tolist()
    for size in (0, 1, 2, 3, 5, 8):
        node, *parents = rng.permutation(data.n)[: size + 1].tolist()
        prior = size * math.log(1 / 19) + (19 - size) * math.log(18 / 19)
        expected = ours.local_score(node, tuple(parents)) + prior
        assert theirs(data.codes, node, parents) == pytest.approx(expected, rel=1e-10)


def test_subsets_come_smallest_first_and_know_what_they_include() -> None:
    subsets = peers.Subsets([4, 7, 9])
    assert subsets == [(), (4,), (7,), (9,), (4, 7), (4, 9), (7, 9), (4, 7, 9)]
    for chosen in subsets:
        expected = [float(set(chosen) <= set(subset)) for subset in subsets]
        assert peers.including(chosen, subsets).tolist() == expected
    assert peers.including((), peers.Subsets([])).tolist() == [1.0]
