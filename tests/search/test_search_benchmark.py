"""The benchmark command, without other programs and with one that is not installed."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from simulations.benchmarks import peers
from simulations.benchmarks.search import main


def test_the_command_writes_table_and_plot(tmp_path: Path) -> None:
    main(["--networks", "asia", "--rows", "100,200", "--no-peers", "--output", str(tmp_path)])
    with (tmp_path / "search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["program"] for row in rows] == [
        "fedbn ges",
        "fedbn ges, turning",
        "fedbn xges0",
        "fedbn hill climbing",
    ] * 2
    assert all(float(row["seconds"]) < 60 and float(row["score"]) < 0 for row in rows)
    assert (tmp_path / "seconds.png").stat().st_size > 1000


def test_endpoints_of_causal_learn() -> None:
    graph = np.array([[0, -1, 0], [1, 0, -1], [0, -1, 0]])
    found = peers._from_endpoints(graph)
    assert found.astype(int).tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
