"""The app of a folder as `flwr run` runs it, with a status and no process left."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from fedbn.errors import ConfigError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from simulations.flower.bundle import write_bundle
from simulations.flower.folder_run import nodes_of, settings_of

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = Experiment.of(network="cancer", rows=50, clients=3, out_dir="results/{run}")


def fedbn(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [Path(sysconfig.get_path("scripts")) / "fedbn", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_a_checkout_fits_the_two_nodes_of_a_fresh_flower_home() -> None:
    from flwr.supercore.constant import DEFAULT_SIMULATION_CONFIG

    experiment = settings_of(ROOT, {})
    assert experiment.data.client_count == DEFAULT_SIMULATION_CONFIG.num_supernodes
    assert experiment.output.out_dir == "results/flower-{run}"


def test_nodes_are_one_per_client() -> None:
    assert nodes_of(SMALL, None) == nodes_of(SMALL, 3) == 3
    assert nodes_of(Experiment.of(sites_dir="tables"), 4) == 4
    with pytest.raises(ConfigError, match="there are 2 nodes and 3 clients.*--set clients=2"):
        nodes_of(SMALL, 2)
    with pytest.raises(ConfigError, match="give --nodes"):
        nodes_of(Experiment.of(sites_dir="tables"), None)
    with pytest.raises(ConfigError, match=r"docs/deployment\.md"):
        nodes_of(Experiment.of(), 2)


def test_what_is_no_app_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*pyproject\.toml: No such file"):
        settings_of(tmp_path, {})
    (tmp_path / "pyproject.toml").write_text("[tool]\n")
    with pytest.raises(ConfigError, match=r"must have a \[tool\.flwr\.app\.config\]"):
        settings_of(tmp_path, {})


@pytest.mark.slow
def test_a_run_leaves_its_results_and_no_process(tmp_path: Path) -> None:
    write_bundle(tmp_path / "app", to_run_config(SMALL))
    wrong = fedbn(tmp_path, "flower-run", "app", "--nodes", 2)
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "there are 2 nodes and 3 clients" in wrong.stderr
    done = fedbn(tmp_path, "flower-run", "app", "--set", "clients=2", "--nodes", 2)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "results").iterdir()
    assert (folder / "consensus.json").is_file()
    assert f"the results of run {folder.name} are in {folder}" in done.stdout
    assert not children_in(tmp_path)
    failing = fedbn(tmp_path, "flower-run", "app", "--set", "min-replies=4")
    assert failing.returncode == 1
    assert "at least 4 good replies" in failing.stderr
    assert not children_in(tmp_path)


def children_in(folder: Path) -> list[str]:
    """Processes whose working directory is the folder: those that the run started have it."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cwd"):
        try:
            at = os.readlink(entry)
        except OSError:
            continue
        if at == str(folder) and entry.parent.name != str(os.getpid()):
            found.append(entry.parent.name)
    return found
