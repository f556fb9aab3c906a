"""The package of examples/plugin, built and installed: in process, on Flower, and in the help.

Nothing is downloaded: what it needs is that of the environment which runs the tests.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pytest

import fedbn as fb
from fedbn.federation.fusions import FUSIONS
from fedbn.graphs.dag import DAG
from fedbn.learners import LEARNERS
from fedbn.registry import Registry
from fedbn.scores import SCORES

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, from its wheel."""
    folder = tmp_path_factory.mktemp("plugin")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder / "dist", EXAMPLE]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    target = folder / "site"
    install = [*pip, "install", "--no-deps", "--no-index", "--target", target, wheel]
    subprocess.run(install, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def here(installed: Path) -> Iterator[SimpleNamespace]:
    """The four functions in this process, found by their entry points, and gone afterwards."""
    registries: list[Registry[Any]] = [LEARNERS, SCORES, FUSIONS]
    before = [dict(registry._entries) for registry in registries]
    sys.path.insert(0, str(installed))
    importlib.invalidate_caches()
    yield SimpleNamespace(installed=installed)
    sys.path.remove(str(installed))
    for registry, entries in zip(registries, before, strict=True):
        registry._entries = entries
    for name in [name for name in sys.modules if name.partition(".")[0] == "fedbn_examples"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def tables() -> dict[str, fb.Table]:
    network = fb.load_network("asia")
    return {
        site: fb.Table(network.sample(400, np.random.default_rng(k)))
        for k, site in enumerate(("north", "south", "west"))
    }


def test_all_are_found_by_name(here: object, tables: dict[str, fb.Table]) -> None:
    assert {"chow-liu", "pc"} <= set(LEARNERS.names())
    tree = fb.learn(tables["north"], "chow-liu")
    assert tree.dag == widest_tree(tables["north"])
    strict = fb.learn(tables["north"], "ges", score="strict-bic")
    assert strict.dag.n_edges < fb.learn(tables["north"], "ges", score="aic").dag.n_edges
    loose, tight = (fb.learn(tables["north"], "pc", alpha=alpha) for alpha in (0.2, 1e-6))
    assert tight.dag.n_edges < loose.dag.n_edges
    with pytest.raises(fb.FedbnError, match="alpha must lie between 0 and 1, not 2"):
        fb.learn(tables["north"], "pc", alpha=2.0)


def widest_tree(table: fb.Table) -> DAG:
    """By trying which pairs a tree can have: Kruskal by hand, the widest first."""
    info = importlib.import_module("fedbn_examples.chow_liu").information
    pairs = itertools.combinations(range(len(table.names)), 2)
    ranked = sorted(pairs, key=lambda pair: -info(table, *pair))
    forest = nx.empty_graph(len(table.names))
    for i, j in ranked:
        if not nx.has_path(forest, i, j):
            forest.add_edge(i, j)
    arcs = nx.bfs_edges(forest, 0)
    return DAG.from_edges(table.names, [(table.names[i], table.names[j]) for i, j in arcs])


def test_a_federation_in_process(here: object, tables: dict[str, fb.Table]) -> None:
    rule = fb.ConsensusSettings(fusion="edge-vote", own=("share=0.5",))
    simulated = fb.simulate(tables, learner="chow-liu", consensus=rule)
    dags = [fb.learn(table, "chow-liu").dag for table in tables.values()]
    votes = {edge: sum(edge in dag.edges for dag in dags) for dag in dags for edge in dag.edges}
    assert set(simulated.dag.edges) <= {edge for edge, count in votes.items() if count >= 2}
    assert fb.fuse(dict(zip("abc", dags, strict=True)), fusion="edge-vote").dag == simulated.dag


def fedbn(installed: Path, folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sysconfig.get_path("scripts")) / "fedbn", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed), "COLUMNS": "200"},
        capture_output=True,
        text=True,
    )


def test_the_help_has_settings_of_plug_ins(installed: Path, tmp_path: Path) -> None:
    told = fedbn(installed, tmp_path, "simulate", "--help").stdout
    for words in ("--pc-alpha", "Level of PC's tests", "--edge-vote-share", "Of the learner pc"):
        assert words in told


RUN = ("--network", "asia", "--clients", 3, "--rows", 300, "--learner", "pc", "--no-pooled", "-q")
OWN = ("--pc-alpha", 0.01, "--fusion", "edge-vote", "--set", "edge-vote-share=0.6")


def test_settings_of_plug_ins_are_in_run_json(installed: Path, tmp_path: Path) -> None:
    done = fedbn(
        installed, tmp_path, "simulate", *RUN, *OWN, "--engine", "in-process", "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "r" / "run.json").read_text("utf-8"))["settings"]
    assert settings["learner-settings"] == ["alpha=0.01", 'test="chisq"']
    assert settings["fusion-settings"] == ["share=0.6"]
    wrong = fedbn(installed, tmp_path, "simulate", *RUN, "--pc-alpha", 3, "--engine", "in-process")
    assert wrong.returncode == 1
    assert "alpha must lie between 0 and 1, not 3" in wrong.stderr


@pytest.mark.slow
def test_flower_gives_the_same_bytes(installed: Path, tmp_path: Path) -> None:
    for engine in ("in-process", "flower"):
        done = fedbn(
            installed, tmp_path, "simulate", *RUN, *OWN, "--engine", engine, "--out", engine
        )
        assert done.returncode == 0, done.stderr
    for name in ("consensus.json", "state.json", "edges.csv"):
        ours, flowers = ((tmp_path / e / name).read_bytes() for e in ("in-process", "flower"))
        assert ours == flowers
