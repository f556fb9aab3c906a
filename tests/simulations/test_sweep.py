"""A sweep: every case once, resumed, in processes, in one table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import fedbn as fb
from fedbn.errors import ConfigError
from fedbn.federation.settings import Experiment
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from simulations.cli import main
from simulations.run import run_experiment
from simulations.sweeps.plan import read_plan

PLAN = """
network = "cancer"
clients = 2
[grid]
rows = [60, 90]
seed = [1, 2]
[[case]]
learner = "hc"
[[case]]
learner = "ges"
fusion = "vote"
"""


def write(folder: Path, text: str = PLAN) -> Path:
    file = folder / "study.toml"
    file.write_text(text, "utf-8")
    return file


def fedbn(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """What the command prints with --json, and its exit status."""
    with pytest.raises(SystemExit) as end:
        main([*map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return {**json.loads(printed.out), "status": end.value.code, "told": printed.err}


def test_the_cases_are_all_combinations_each_with_a_hash_of_its_own(tmp_path: Path) -> None:
    cases = read_plan(write(tmp_path))
    seen = [(c.varied["learner"], c.varied["rows"], c.varied["seed"]) for c in cases]
    assert seen == [
        (learner, rows, seed) for learner in ("hc", "ges") for rows in (60, 90) for seed in (1, 2)
    ]
    assert len({case.digest for case in cases}) == 8
    assert cases[0].experiment.data.clients == 2


def test_a_hash_is_of_what_is_run_and_not_of_how_it_is_said(tmp_path: Path) -> None:
    said = read_plan(write(tmp_path, 'network = "asia"\n[grid]\nrows = [50]\nlearner = ["ges"]\n'))
    other = read_plan(write(tmp_path, '[[case]]\nrows = 50\nnetwork = "asia"\nseed = 1\n'))
    assert [case.digest for case in said] == [case.digest for case in other]
    twice = read_plan(write(tmp_path, 'network = "asia"\n[grid]\ness = [1, 1.0, 2]\n'))
    assert [case.experiment.learner.ess for case in twice] == [1.0, 2.0]


def test_a_table_counts_by_its_bytes(tmp_path: Path) -> None:
    plan = write(tmp_path, 'table = "t.csv"\n[grid]\nclients = [2]\n')
    digests = []
    for text in ("a,b\n0,1\n1,0\n", "a,b\n0,1\n1,1\n"):
        (tmp_path / "t.csv").write_text(text)
        digests.append(read_plan(plan)[0].digest)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "t.csv").rename(tmp_path / "elsewhere" / "t.csv")
    moved = write(tmp_path / "elsewhere", plan.read_text())
    assert digests[0] != digests[1] == read_plan(moved)[0].digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('network = "asia"\n', "needs a .grid. or a ..case.."),
        ('network = "asia"\n[grid]\nrows = 5\n', "a list of values for every key"),
        ('network = "asia"\n[grid]\nrows = []\n', "a list of values for every key"),
        ('network = "asia"\nrows = 5\n[grid]\nrows = [5]\n', "'rows' is varied and said"),
        ("[grid]\nseed = [1]\n[[case]]\nseed = 2\n", "'seed' is in .grid. and in a ..case"),
        ("[grid]\nseed = [1]\n", "case seed=1: name the data: network"),
        ('network = "asia"\n[grid]\nrosw = [1]\n', "unknown setting 'rosw'.*'rows'"),
        (
            'network = "asia"\n[grid]\nengine = ["flower"]\n',
            "engine must not be in the file of a sweep",
        ),
        (
            'network = "asia"\n[grid]\nout-dir = ["x"]\n',
            "out-dir must not be in the file of a sweep",
        ),
        ('network = "asia"\n[gird]\nrows = [1]\n', "'gird' is a table; is it .grid."),
        ('network = "asia"\n[grid]\nrows = [0]\n', "case rows=0: rows must be at least 1, not 0"),
    ],
)
def test_a_wrong_plan_is_said_before_anything_runs(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_plan(write(tmp_path, text))


def test_every_case_is_run_once_and_tells_what_its_simulation_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, out = write(tmp_path), tmp_path / "out"
    first = fedbn(capsys, "sweep", plan, "--out", out, "--minutes", 0)
    assert (first["done"], first["run"], first["status"]) == (0, 0, 0)
    whole = fedbn(capsys, "sweep", plan, "--out", out)
    assert (whole["cases"], whole["done"], whole["run"], whole["failed"]) == (8, 8, 8, 0)
    tables = [(out / f"results.{kind}").read_bytes() for kind in ("csv", "parquet")]
    again = fedbn(capsys, "sweep", plan, "--out", out)
    assert (again["done"], again["run"]) == (8, 0)
    assert tables == [(out / f"results.{kind}").read_bytes() for kind in ("csv", "parquet")]

    frame = fb.read_results(out)
    empty = [name for name in frame.columns if frame[name].isna().all()]
    from_csv = fb.read_results(out / "results.csv").drop(columns=empty)  # of no type in CSV
    pd.testing.assert_frame_equal(frame.drop(columns=empty), from_csv, check_dtype=False)
    assert set(frame.fusion) == {"mcbnc", "vote"}
    row = frame[(frame.learner == "hc") & (frame.rows == 90) & (frame.seed == 2)].iloc[0]
    same = Experiment.of(
        network="cancer", clients=2, rows=90, seed=2, learner="hc", engine="in-process"
    )
    consensus = run_experiment(same).result.consensus  # type: ignore[union-attr]
    assert row.edges == consensus.dag.n_edges
    assert row.mean_smhd == float(consensus.mean_smhd)
    assert row.smhd_to_gold == smhd(consensus.dag, load_network("cancer").dag)

    write(tmp_path, PLAN.replace("[1, 2]", "[1, 2, 3]"))
    grown = fedbn(capsys, "sweep", plan, "--out", out)
    assert (grown["cases"], grown["run"]) == (12, 4)


def test_a_case_that_fails_costs_itself_and_is_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n0,0\n")
    plan = write(tmp_path, 'table = "t.csv"\n[grid]\nclients = [1, 9]\n')
    out = tmp_path / "out"
    for run in (2, 1):
        with pytest.raises(SystemExit) as end:
            main(["sweep", str(plan), "--out", str(out), "--quiet"])
        assert end.value.code == 1
        assert "1 case of 2 failed" in capsys.readouterr().err
        assert len((out / "rows.jsonl").read_text().splitlines()) == (2 if run == 2 else 3)
    frame = fb.read_results(out)
    assert frame.error.isna().tolist() == [True, False]


@pytest.mark.slow
def test_processes_give_the_same_rows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = write(tmp_path)
    fedbn(capsys, "sweep", plan, "--out", tmp_path / "one")
    fedbn(capsys, "sweep", plan, "--out", tmp_path / "two", "--jobs", 2)
    one, two = (fb.read_results(tmp_path / name) for name in ("one", "two"))
    own = ["cpu_seconds", "source"]
    pd.testing.assert_frame_equal(one.drop(columns=own), two.drop(columns=own))
