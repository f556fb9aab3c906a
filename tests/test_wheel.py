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
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import fedbn

ROOT = Path(__file__).resolve().parent.parent
APPS = ("clients", "server", "simulations")
STRANGER = "raise ImportError('this is the package of somebody else')\n"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree: what `make install` compiled is not compiled again."""
    folder = tmp_path_factory.mktemp("dist")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the studies and benchmarks."""
    source = tmp_path_factory.mktemp("studies")
    for folder in ("studies", "benchmarks"):
        shutil.copytree(
            ROOT / "simulations" / folder,
            source / folder,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    options = ("--no-deps", "--no-build-isolation")
    pip("wheel", *options, "--wheel-dir", source / "dist", source / "studies")
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


def test_every_file_of_the_tree_is_in_one_of_the_two_wheels(wheel: Path, studies: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    kinds = {".py", ".toml", ".json", ".md", ".typed", ".css", ".js", ".java"}
    here = {
        path.relative_to(ROOT)
        for folder in ("fedbn", *APPS)
        for path in (ROOT / folder).rglob("*")
        if path.suffix in kinds
    }
    expected = {str(p) if p.parts[0] == "fedbn" else f"fedbn_apps/{p}" for p in here}
    compiled = {name for name in packed if name.startswith("fedbn/_core.")}
    assert len(compiled) == 1
    with zipfile.ZipFile(studies) as archive:
        apart = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert not packed & apart
    assert (packed - compiled) | apart == expected | {"fedbn_apps/__init__.py"}
    rooms = ("fedbn_apps/simulations/studies/", "fedbn_apps/simulations/benchmarks/")
    assert all(name.startswith(rooms) for name in apart)


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


def test_studies_are_an_installation_of_their_own(environment: Path, studies: Path) -> None:
    command = [environment / "bin" / "fedbn", "reproduce", "pooling", "--help"]
    without = subprocess.run([*command[:-1], "--smoke"], capture_output=True, text=True)
    assert without.returncode == 1
    assert without.stderr == (
        "fedbn: error: fedbn reproduce is not installed: in a checkout of fedbn's repository, "
        "run pip install ./simulations/studies\n"
    )
    python = environment / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", studies)
    assert subprocess.run(command, capture_output=True).returncode == 0


def test_the_version_is_the_same_everywhere() -> None:
    own = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    project = tomllib.loads((ROOT / "simulations/studies/pyproject.toml").read_text())["project"]
    assert project["version"] == own
    assert f"fedbn[all]=={own}" in project["dependencies"]
    assert fedbn.__version__ == own
    assert f"version: {own}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"version = {{{own}}}" in (ROOT / "docs/cite.md").read_text()
    assert f"\n## {own}" in (ROOT / "CHANGELOG.md").read_text()
