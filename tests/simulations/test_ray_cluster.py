"""A sweep on two nodes of Ray, of which one is killed, and as an array job of SLURM."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pandas as pd
import pytest

from fedbn.errors import ConfigError
from simulations import ray_cluster
from simulations.benchmarks.clusters import cluster, run_sweep
from simulations.cli import main
from simulations.ray_cluster import require_address
from simulations.study_cases import origin, run_cases
from simulations.sweeps.slurm import Share, array_script
from tests.warm import run_warm

PLAN = """
network = "cancer"
clients = 2
rows = 60
[grid]
seed = [1, 2, 3, 4, 5, 6, 7, 8]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "study.toml"
    file.write_text(PLAN, "utf-8")
    return file


@pytest.mark.slow
def test_a_node_that_is_killed_costs_time_and_changes_no_hash(plan: Path, tmp_path: Path) -> None:
    here, _ = run_sweep(plan, tmp_path / "here")
    with cluster(2) as (address, nodes):
        there, _ = run_sweep(plan, tmp_path / "there", address, victim=nodes[1])
    assert len(here) == 8
    assert there == here


def status(*words: object) -> int:
    with pytest.raises(SystemExit) as end:
        main([*map(str, words)])
    return int(end.value.code or 0)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert status("sweep", *words) == 1
    return capsys.readouterr().err


@pytest.mark.slow
def test_the_lines_of_the_array_job_make_the_table_of_one_process(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    script.write_text(array_script(plan, tmp_path / "array", 2, "fedbn"))
    assert "#SBATCH --array=0-1\n" in script.read_text()
    for task in (1, 0, 0):
        done = run_warm(["bash", script], Path("/"), {"SLURM_ARRAY_TASK_ID": str(task)})
        assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in (tmp_path / "array").glob("rows-*.jsonl"))
    assert files == [f"rows-{k}-of-2.jsonl" for k in range(2)]
    assert not (tmp_path / "array" / "results.csv").exists()
    assert status("sweep", plan, "--out", tmp_path / "array") == 0
    assert "0 run now" in capsys.readouterr().out
    assert status("sweep", plan, "--out", tmp_path / "one") == 0
    frames = [pd.read_csv(tmp_path / name / "results.csv") for name in ("array", "one")]
    assert len(frames[0]) == 8
    assert frames[0][["case", "seed", "consensus"]].equals(frames[1][["case", "seed", "consensus"]])


def test_the_script_is_written_and_nothing_runs(
    plan: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "job.sh"
    assert status("sweep", plan, "--slurm", script, "--out", tmp_path / "array") == 0
    assert "8 tasks; submit it with: sbatch" in capsys.readouterr().out
    text = script.read_text()
    assert "#SBATCH --array=0-7\n" in text
    assert text.rstrip().endswith('--share "$SLURM_ARRAY_TASK_ID/8"')
    assert os.access(script, os.X_OK)
    assert not (tmp_path / "array").exists()


def test_the_shares_are_all_cases_each_once() -> None:
    cases = list(range(11))
    shares = [Share(k, 4).of(cases) for k in range(4)]
    assert sorted(case for share in shares for case in share) == cases
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--share", "3/3"), "0 <= K < N, not '3/3'"),
        (("--share", "one"), "not 'one'"),
        (("--ray-address", "somewhere"), "HOST:PORT or auto, not 'somewhere'"),
        (("--ray-address", "h:1", "--jobs", "2"), "--jobs is for this machine"),
        (("--slurm-tasks", "2"), "--slurm-tasks is for --slurm"),
        (("--slurm", "a.sh", "--share", "0/2"), "only writes a script"),
        (("--slurm", "a.sh", "--slurm-tasks", "1001"), "between 1 and 1000, not 1001"),
    ],
)
def test_what_does_not_fit_is_refused(
    plan: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told in refused(capsys, plan, "--out", "out", *words)
    assert not (tmp_path / "a.sh").exists()


def test_a_ray_cluster_is_for_the_engine_flower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--network", "cancer", "--rows", 50, "--engine", "in-process", "--out", tmp_path / "o")
    assert status("simulate", *words, "--ray-address", "10.0.0.1:6379") == 1
    assert "is for the engine flower, not in-process" in capsys.readouterr().err


def test_an_address_is_a_host_and_a_port_where_something_answers() -> None:
    require_address("auto")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        require_address(address)
    for wrong, words in (
        (":6379", "not ':6379'"),
        (address, f"a Ray cluster at {address}: "),
        ("127.0.0.1:99999", "a Ray cluster at 127.0.0.1:99999: "),
    ):
        with pytest.raises(ConfigError, match=words):
            require_address(wrong)


def test_a_node_with_other_versions_ends_the_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"seed": 1, **origin(), "fedbn": "0.0.9", "machine": "another"}
    monkeypatch.setattr(ray_cluster, "on_cluster", lambda *_: iter([(0, row)]))
    with pytest.raises(ConfigError, match=r"must have fedbn .*, but one .* has '0\.0\.9'"):
        list(run_cases([{"seed": 1}], lambda case: {}, 1, None, None, "10.0.0.1:6379"))
