"""What is compiled for this machine, and the command that compiles it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from fedbn.kernel_door import is_compiled
from fedbn.kernel_sources import sources
from simulations.commands import warmup
from simulations.compilation import kernels_below, tell_of_kernels
from tests.kernel_files import write_and_load

KERNEL = """
from fedbn.kernel_door import door

@door
def twice(x):
    return 2 * x

@door
def four_times(x):
    return twice(twice(x))
"""


def test_a_door_is_compiled_from_its_first_call_until_a_source_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "kernel_of_a_test.py"
    door = write_and_load(file, KERNEL).twice
    assert not is_compiled(door)
    assert door(2) == 4
    assert is_compiled(door)
    assert is_compiled(write_and_load(file, KERNEL).twice)
    monkeypatch.setattr("fedbn.kernel_door.digest_of", lambda path: "of another release")
    door = write_and_load(file, KERNEL).twice
    assert not is_compiled(door)
    assert door(2) == 4
    assert is_compiled(write_and_load(file, KERNEL).twice)


def test_a_door_has_the_sources_of_all_that_it_calls() -> None:
    """The twin: the modules of the kernels that its code names, directly or not."""
    for kernels in warmup.kernels_of_doors().values():
        for kernel in kernels:
            called = {inspect.getfile(inspect.unwrap(each)) for each in kernels_below([kernel])}
            found = sources(Path(inspect.getfile(inspect.unwrap(kernel))))
            assert called <= set(map(str, found))
            assert found == sorted(found)


def test_kernels_below_a_door_are_counted_as_they_are_compiled(tmp_path: Path) -> None:
    module = write_and_load(tmp_path / "counted_kernels_of_a_test.py", KERNEL)
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
