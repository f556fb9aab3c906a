"""Hypothesis gives the same examples in every run, so that a commit passes or fails everywhere.

FEDBN_NEW_EXAMPLES=1 python -m pytest tests/...     looks for new ones

Files whose tests wait for processes of Flower come first: one worker waits while the others
compute, and no worker is left waiting alone at the end (`--dist worksteal`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No test looks at a clock, so none fails for being slow on a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("new", deadline=None)
settings.load_profile("new" if os.environ.get("FEDBN_NEW_EXAMPLES") else "repeatable")

WAITING = (
    "deployment/test_faults.py",
    "deployment/test_guide.py",
    "deployment/test_private_run.py",
    "simulations/test_folder_run.py",
    "deployment/test_demo.py",
    "test_parity.py",
    "simulations/test_different_variables.py",
    "test_example_plugin.py",
    "simulations/test_mixed_run.py",
    "simulations/test_ray_cluster.py",
    "simulations/test_mixed_parameters.py",
)
"""The longest first."""

PLACES = {Path(__file__).parent / file: place for place, file in enumerate(WAITING)}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files of `WAITING` first; all others keep their order."""
    items.sort(key=lambda item: PLACES.get(item.path, len(WAITING)))
