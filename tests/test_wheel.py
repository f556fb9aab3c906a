"""The wheel beside packages that are called as its apps are: it overwrites and packs none of them.

Nothing is downloaded: what fedbn needs is that of the environment which runs the tests.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APPS = ("clients", "server", "simulations")
STRANGER = "raise ImportError('this is the package of somebody else')\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built outside it."""
    source = tmp_path_factory.mktemp("source")
    for folder in ("fedbn", "fedbn_apps", "core", "tools", *APPS):
        shutil.copytree(
            ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__")
        )
    for file in ("pyproject.toml", "CMakeLists.txt", "README.md"):
        shutil.copy(ROOT / file, source)
    for file in ROOT.glob("LICENSE*"):
        shutil.copy(file, source)
    options = ("--no-deps", "--no-build-isolation", "--config-settings=cmake.build-type=Debug")
    pip("wheel", *options, "--wheel-dir", source / "dist", source)
    (built,) = (source / "dist").iterdir()
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty environment with a package `clients` of somebody else and then the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    stranger(site / "clients")
    (site / "rest.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", "--force-reinstall", wheel)
    return folder


def pip(*arguments: object) -> None:
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def stranger(folder: Path) -> None:
    folder.mkdir()
    (folder / "__init__.py").write_text(STRANGER)


def test_the_wheel_has_two_packages_and_both_licences(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        told = archive.read(metadata).decode()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"fedbn", "fedbn_apps"}
    assert "License-Expression: MIT AND CC-BY-SA-3.0" in told
    for licence in ROOT.glob("LICENSE*"):
        assert any(name.endswith(f".dist-info/licenses/{licence.name}") for name in names)


def test_every_file_of_the_tree_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    kinds = {".py", ".toml", ".json", ".md", ".typed", ".css", ".js"}
    here = {
        path.relative_to(ROOT)
        for folder in ("fedbn", *APPS)
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds
    }
    expected = {str(p) if p.parts[0] == "fedbn" else f"fedbn_apps/{p}" for p in here}
    compiled = {name for name in packed if name.startswith("fedbn/_core.")}
    assert len(compiled) == 1
    assert packed - compiled == expected | {"fedbn_apps/__init__.py"}


def test_learn_simulate_and_app_run_beside_strangers(environment: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in APPS:
        stranger(mine / name)
    variables = os.environ | {"PYTHONPATH": str(mine)}

    def fedbn(*arguments: object) -> str:
        done = subprocess.run(
            [environment / "bin" / "fedbn", *map(str, arguments)],
            cwd=mine, env=variables, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    table, out, app = tmp_path / "t.csv", tmp_path / "out", tmp_path / "app"
    fedbn("sample", "cancer", "--rows", 50, "--seed", 1, "--out", table)
    learned = json.loads(fedbn("learn", table, "--json"))
    assert len(learned["nodes"]) == 5
    run = ["--network", "cancer", "--clients", 2, "--rows", 50, "--engine", "in-process"]
    fedbn("simulate", *run, "--processes", 2, "--out", out, "-q")
    assert (out / "consensus.json").is_file()
    fedbn("app", app)
    for name in ("clients", "server"):
        ours = {p.name: p.read_text() for p in (ROOT / name).glob("*.py")}
        assert {p.name: p.read_text() for p in (app / name).glob("*.py")} == ours
    (left,) = environment.glob("lib/*/site-packages/clients/__init__.py")
    assert left.read_text() == STRANGER
