"""What is compiled for this machine, and the command that compiles it."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest

from fedbn.kernel_door import is_compiled
from fedbn.kernel_sources import sources
from simulations.commands import warmup
from simulations.compilation import kernels_below, tell_of_kernels

KERNEL = """
from fedbn.kernel_door import door

@door
def twice(x):
    return 2 * x

@door
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


def test_a_door_is_compiled_from_its_first_call_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel_of_a_test.py"
    door = module_at(file).twice
    assert not is_compiled(door)
    assert door(2) == 4
    assert is_compiled(door)
    assert is_compiled(module_at(file).twice)
    monkeypatch.setattr("fedbn.kernel_door.digest_of", lambda path: "of another release")
    door = module_at(file).twice
    assert not is_compiled(door)
    assert door(2) == 4
    assert is_compiled(module_at(file).twice)


def test_a_door_has_the_sources_of_all_that_it_calls() -> None:
    """The twin: the modules of the kernels that its code names, directly or not."""
    for kernels in warmup.kernels_of_doors().values():
        for kernel in kernels:
            called = {inspect.getfile(inspect.unwrap(each)) for each in kernels_below([kernel])}
            found = sources(Path(inspect.getfile(inspect.unwrap(kernel))))
            assert called <= set(map(str, found))
            assert found == sorted(found)


def test_kernels_below_a_door_are_counted_as_they_are_compiled(tmp_path: Path) -> None:
    module = module_at(tmp_path / "counted_kernels_of_a_test.py")
    assert kernels_below([module.four_times]) == {module.four_times, module.twice}
    told: list[int] = []
    with tell_of_kernels(told.append):
        assert module.four_times(2) == 8
    assert told == [1, 2]


def test_only_doors_that_are_not_compiled_are_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbn.kernel_door.is_compiled", lambda kernel: "climb" in str(kernel))
    assert warmup.doors_to_compile() == ["fuse: deletions", "fuse: readings"]


def test_every_door_can_be_opened() -> None:
    for door in warmup.DOORS.values():
        door()
