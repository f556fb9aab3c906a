"""Hypothesis gives the same examples in every run, so that a commit passes or fails everywhere.

FEDBN_NEW_EXAMPLES=1 python -m pytest tests/...     looks for new ones

Files whose tests wait for processes of Flower come first: one worker waits while the others
compute, and no worker is left waiting alone at the end (`--dist worksteal`).
"""

from __future__ import annotations

import gc
import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from fedbn.consensus.pooling import select_among
from fedbn.federation import fusions
from fedbn.groups import fusing
from fedbn.search import child_process
from fedbn.search.cg_dca import in_child_process as cg_dca
from fedbn.search.optimal import in_child_process as optimal
from simulations.flower import processes
from tests.warm import run_warm

# No test looks at a clock, so none fails for being slow on a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("FEDBN_NEW_EXAMPLES") else "repeatable")
if not os.environ.get("FEDBN_NEW_EXAMPLES"):
    # Hypothesis draws constants of all local modules that are loaded, too: which ones these are
    # depends on the tests that this worker ran before. It has no setting for that.
    providers._get_local_constants = lambda: providers._local_constants

WAITING = (
    "deployment/test_faults.py",
    "deployment/test_guide.py",
    "simulations/test_folder_run.py",
    "deployment/test_demo.py",
    "test_parity.py",
    "test_example_plugin.py",
    "simulations/test_ray_cluster.py",
)
"""The longest first."""

FEW_FIGURES = ("deployment", "groups", "server", "simulations")
"""Folders whose tests write results in this process and look at no figures: to draw those of a run
takes about a CPU second."""

DRAWN = (
    "simulations/test_folder_readme.py",
    "simulations/test_fuse.py",
    "simulations/test_simulate_sums.py",
)
"""Files there that draw: for fused files, different variables, secure sums, every kind of run."""

ROOT = Path(__file__).parent

PLACES = {ROOT / file: place for place, file in enumerate(WAITING)}


@pytest.fixture(scope="module", autouse=True)
def _few_figures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Figures are compared in tests/results."""
    file = request.path.relative_to(ROOT)
    with pytest.MonkeyPatch.context() as patch:
        if file.parts[0] in FEW_FIGURES and file.as_posix() not in DRAWN:
            patch.setattr("fedbn.results.plots.write_figures", lambda *_: None)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of `WAITING` first; all others keep their order."""
    items.sort(key=lambda item: PLACES.get(item.path, len(WAITING)))


def pytest_collection_finish() -> None:
    """What was imported stays: to look through it for garbage again and again is in vain."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def warm_flwr(monkeypatch: pytest.MonkeyPatch) -> None:
    """`flwr` by forks, one after the other: starting it costs two seconds."""
    alone = threading.Lock()

    def command(home: processes.Home, *arguments: str) -> subprocess.CompletedProcess[str]:
        with alone:
            return run_warm(["flwr", *arguments], home.folder, home.environment)

    monkeypatch.setattr(processes, "flwr_command", command)


@pytest.fixture
def solvers_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact learners' solvers in this process: starting Python for each costs a second.

    How they are kept apart is tested in tests/search_optimal/test_in_child_process.py.
    """

    def answer_by(module: ModuleType) -> Callable[..., child_process.Answer]:
        def answer_of(child: object, task: Any, *_: object) -> child_process.Answer:
            return child_process.run_timed(module._learn, task)

        return answer_of

    for module in (optimal, cg_dca):
        monkeypatch.setattr(module, "answer_of", answer_by(module))
    monkeypatch.setattr(optimal, "_limit_memory", lambda memory: None)


@pytest.fixture
def chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open runs choose as runs under masks must: by the distance to all sites alone, although sites
    have different variables (docs/different-variables.md)."""
    once = partial(select_among, by_judges=False)
    for module in (fusions, fusing):
        monkeypatch.setattr(module, "select_among", lambda *given: once(*given[:5]))
