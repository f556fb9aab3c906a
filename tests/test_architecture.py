"""The house rules that a machine can hold: imports go one way, importing is cheap."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment

ROOT = Path(__file__).resolve().parent.parent


def test_import_contracts() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def modules_after(statement: str) -> set[str]:
    program = f"{statement}; import sys, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name.split(".")[0] for name in json.loads(done.stdout)}


@pytest.mark.parametrize(
    "module",
    [
        "fedbn",
        "fedbn.federation.rounds",
        "fedbn.consensus.mcbnc",
        "fedbn.search.ges",
        "fedbn.data.tables",
    ],
)
def test_the_library_loads_neither_flower_nor_ray_nor_pgmpy(module: str) -> None:
    loaded = modules_after(f"import {module}")
    assert not loaded & {"flwr", "ray", "pgmpy", "torch"}


def test_help_loads_no_heavy_library() -> None:
    loaded = modules_after("import simulations.cli")
    assert not loaded & {"flwr", "ray", "pgmpy", "numba", "matplotlib", "pandas"}


def test_the_flower_app_has_every_setting_with_its_default() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["flwr"]["app"]["config"] == to_run_config(Experiment.of(network="alarm"))
