"""The consensus benchmark: its generator, the study that goes on, and its tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbn.graphs.dag import DAG
from fedbn.graphs.writing import structure_text
from simulations.benchmarks.consensus import appendix_b
from simulations.benchmarks.consensus.__main__ import main
from simulations.benchmarks.consensus.inputs import around_network, around_random, learn
from simulations.benchmarks.consensus.walk import walked_inputs


def is_connected(dag: DAG) -> bool:
    around = dag.adjacency | dag.adjacency.T | np.eye(dag.n, dtype=bool)
    return bool(np.linalg.matrix_power(around.astype(float), dag.n).all())


@pytest.mark.parametrize("seed", range(4))
def test_walked_inputs_keep_the_limits(seed: int) -> None:
    base, dags = walked_inputs(12, 5, np.random.default_rng(seed))
    assert base.n_edges <= 30
    assert len(dags) == 5
    for dag in [base, *dags]:
        assert dag.adjacency.sum(axis=0).max() <= 3
        assert dag.adjacency.sum(axis=1).max() <= 4
        assert is_connected(dag)
        different = int((dag.adjacency != base.adjacency).sum())
        assert different <= 2 * 9  # 0.75 n steps, a reversal changes two entries


def test_inputs_are_reproducible() -> None:
    for make in (
        lambda: around_random("walk", 10, 3, None, 5),
        lambda: around_random("changes", 10, 3, 2, 5),
        lambda: around_network("asia", None, 3, 2, 5),
        lambda: learn("asia", None, 2, 200, 5),
    ):
        assert make().dags == make().dags


def test_the_study_goes_on_where_it_was(tmp_path: Path, monkeypatch) -> None:
    file = tmp_path / "walk.csv"
    told: list[str] = []

    def study(seeds: int) -> list[appendix_b.Point]:
        return appendix_b.study(
            "walk", [(8, 4)], seeds, file, lambda done, total, at: told.append(at)
        )

    first = study(1)
    assert len(first) == 2 * len(appendix_b.THETAS) + 2
    again = study(2)
    assert [p for p in again if p.seed == 0] == first
    monkeypatch.setattr(appendix_b, "run", None)  # nothing is run again
    assert study(2) == again


def test_appendix_b_writes_table_and_figure(tmp_path: Path, capsys) -> None:
    arguments = ["--appendix-b", "--n", "10", "--r", "30", "--seeds", "2", "--out", str(tmp_path)]
    main(arguments)
    header, row, *_ = capsys.readouterr().out.splitlines()
    values = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert float(values["search"]) <= 1
    for name in ("walk.csv", "walk-medians.csv", "walk.png"):
        assert (tmp_path / name).stat().st_size


def test_speed_and_methods(tmp_path: Path, capsys) -> None:
    names = ["a", "b", "c"]
    text = "\n".join(["nodes a,b,c", *(f"dag {k}\na,b\nb,c\n" for k in range(3))])
    file, gold = tmp_path / "three.txt", tmp_path / "gold.json"
    file.write_text(text)
    gold.write_text(structure_text(DAG.from_edges(names, [("a", "b")]), ".json"))
    main(["--files", str(file), "--r", "2", "3", "4", "--out", str(tmp_path / "speed")])
    assert len((tmp_path / "speed" / "consensus.csv").read_text().splitlines()) == 3
    main(["--n", "8", "--changes", "1", "--r", "9", "--seeds", "1", "--quorum", "1", "3"])
    header, *rows = (row.split("\t") for row in capsys.readouterr().out.splitlines())
    few = [dict(zip(header, row, strict=True)) for row in rows if row[0].startswith("1 change")]
    assert int(few[0]["union_edges"]) > int(few[1]["union_edges"])
    main(
        [
            "--methods",
            "--files",
            str(file),
            "--gold",
            str(gold),
            "--r",
            "3",
            "--only",
            "mcbnc",
            "vote",
        ]
    )
    rows = capsys.readouterr().out.splitlines()
    assert any(row.startswith("three\t3\tvote") for row in rows)
