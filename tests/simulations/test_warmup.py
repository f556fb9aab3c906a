"""What is compiled for this machine, and the command that compiles it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from fedbn.kernel_cache import is_compiled
from simulations.commands import warmup
from simulations.compilation import kernels_below, tell_of_kernels

KERNEL = """
from numba import njit

@njit(cache=True)
def twice(x):
    return 2 * x

@njit(cache=True)
def four_times(x):
    return twice(twice(x))
"""


def module_at(file: Path) -> Any:
    """The module of a file with KERNEL."""
    file.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def test_a_kernel_is_compiled_from_its_first_call_until_its_source_changes(tmp_path: Path) -> None:
    file = tmp_path / "kernel_of_a_test.py"
    module = module_at(file)
    assert not is_compiled(module.twice)
    assert module.twice(2) == 4
    assert is_compiled(module.twice)
    later = file.stat().st_mtime + 60
    os.utime(file, (later, later))
    assert not is_compiled(module.twice)


def test_kernels_below_a_door_are_counted_as_they_are_compiled(tmp_path: Path) -> None:
    module = module_at(tmp_path / "counted_kernels_of_a_test.py")
    assert kernels_below([module.four_times]) == {module.four_times, module.twice}
    told: list[int] = []
    with tell_of_kernels(told.append):
        assert module.four_times(2) == 8
    assert told == [1, 2]


def test_only_doors_that_are_not_compiled_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbn.kernel_cache.is_compiled", lambda kernel: "climb" in str(kernel))
    assert warmup.doors_to_compile() == ["fuse: deletions", "fuse: readings"]


def test_every_door_can_be_opened() -> None:
    for door in warmup.DOORS.values():
        door()
