"""What doors and parts of kernels promise: one compilation, shared; errors and memory as usual."""

from __future__ import annotations

import gc
import itertools
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numba.core import event
from numba.core.compiler import Compiler, Flags
from numba.core.errors import TypingError
from numba.core.runtime import _nrt_python, rtsys

from fedbn.kernel_compilation import (
    MANY_OBJECTS,
    is_compiling,
    quick_compilation,
    without_collection,
)
from tests.kernel_files import load, write_and_load

KERNELS = """
import numpy as np

from fedbn.kernel_door import door, door_to_sets
from fedbn.kernel_parts import inner, inner_in_place, inner_with_arrays


@inner
def plus(a, b):
    return a + b if b else a


@inner_in_place
def twice(a):
    return 2 * plus(a, 0)


@inner_with_arrays
def row(n):
    made = np.zeros(n, dtype=np.int64)
    if n > 3:
        raise ValueError("no more than three")
    return made


@door
def first(a):
    return twice(a) + plus(a, 1) + plus(a, True) + plus(a, False)


@door_to_sets
def second(a):
    return plus(a, 2) + first(a)


@door
def rows(n, times):
    total = 0
    for i in range(times):
        made = row(n)
        made[0] = i
        total += made.sum()
    return total


@door
def with_too_few(a):
    return plus(a)


@inner
def down(a):
    return 0 if a <= 0 else 1 + down(a - 1)


@door
def count_down(a):
    return down(a)
"""

NAMES = itertools.count()


def kernels_in(folder: Path, text: str = KERNELS) -> Any:
    """A module with these kernels and a cache of its own."""
    return write_and_load(folder / f"kernels_of_a_test_{next(NAMES)}.py", text)


class Compiled(event.Listener):
    """The names of the functions that are compiled, in order."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, event: Any) -> None:
        pass

    def on_end(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)


def test_a_part_is_compiled_once_for_all_doors_and_numbers_written_into_calls(
    tmp_path: Path,
) -> None:
    module = kernels_in(tmp_path)
    with event.install_listener("numba:compile", Compiled()) as compiled:
        assert module.first(5) == 10 + 6 + 6 + 5
        assert compiled.names.count("plus") == 2  # b as an int and as a bool
        assert module.second(5) == 7 + 27
    assert compiled.names.count("plus") == 2
    assert compiled.names.count("twice") == 1
    assert compiled.names[-1] == "second"


def test_a_door_on_disk_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = kernels_in(tmp_path)
    expected = module.second(5)
    again = load(Path(module.__file__))
    monkeypatch.setattr("fedbn.kernel_lowering.quick_compilation", None)  # nor is it said to
    with event.install_listener("numba:compile", Compiled()) as compiled:
        assert again.second(5) == expected
    assert compiled.names == []


def test_a_changed_source_is_compiled_anew(tmp_path: Path) -> None:
    module = kernels_in(tmp_path)
    assert module.first(5) == 27
    changed = kernels_in(tmp_path, KERNELS.replace("return a + b", "return a - b"))
    Path(module.__file__).write_text(Path(changed.__file__).read_text())
    assert load(Path(module.__file__)).first(5) == 10 + 4 + 4 + 5


def test_an_error_passes_through_a_part_and_arrays_of_parts_are_freed(tmp_path: Path) -> None:
    rows = kernels_in(tmp_path).rows
    assert rows(3, 4) == 6
    _nrt_python.memsys_enable_stats()
    try:
        before = rtsys.get_allocation_stats()
        assert rows(2, 100) == 4950
        after = rtsys.get_allocation_stats()
        with pytest.raises(ValueError, match="no more than three"):
            rows(4, 2)
    finally:
        _nrt_python.memsys_disable_stats()
    assert after.alloc - before.alloc == 100
    assert after.free - before.free == 100


def test_a_wrong_number_of_arguments_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypingError, match="missing a required argument: 'b'"):
        kernels_in(tmp_path).with_too_few(5)


def test_a_part_may_call_itself(tmp_path: Path) -> None:
    assert kernels_in(tmp_path).count_down(5) == 5


def test_numba_is_as_it_was_after_kernels_were_compiled_in_threads_or_not_at_all(
    tmp_path: Path,
) -> None:
    pipelines, equality = Compiler.define_pipelines, Flags.__eq__
    modules = [kernels_in(tmp_path) for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(lambda module: module.first(5), modules)] == [27] * 4
    with pytest.raises(TypingError):
        modules[0].with_too_few(5)
    assert (Compiler.define_pipelines, Flags.__eq__) == (pipelines, equality)
    assert gc.isenabled()
    assert njit(lambda a: a + 1)(2) == 3


OPTIONS = st.dictionaries(
    st.sampled_from(["nrt", "no_compile", "release_gil", "forceinline", "boundscheck"]),
    st.booleans(),
)


@given(OPTIONS, OPTIONS)
def test_options_compared_as_set_are_equal_when_numba_says_so(
    first: dict[str, bool], second: dict[str, bool]
) -> None:
    flags = [Flags(), Flags()]
    for made, options in zip(flags, (first, second), strict=True):
        for name, value in options.items():
            setattr(made, name, value)
    expected = flags[0] == flags[1]
    with quick_compilation():
        assert (flags[0] == flags[1]) == expected
        assert hash(flags[0]) == hash(flags[1])


def test_it_is_known_when_kernels_are_compiled() -> None:
    assert not is_compiling()
    with quick_compilation():
        with quick_compilation():
            assert is_compiling()
        assert is_compiling()
    assert not is_compiling()


class _Cycle:
    """What only the collector can find, for it refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def _generation(sought: object) -> int:
    return next(i for i in range(3) if any(each is sought for each in gc.get_objects(i)))


def test_what_was_made_without_collection_is_old_if_it_was_much() -> None:
    gc.collect()
    with without_collection():
        few: list[list[int]] = [[] for _ in range(10)]
    assert _generation(few) == 0
    with without_collection():
        assert not gc.isenabled()
        many: list[list[int]] = [[] for _ in range(2 * MANY_OBJECTS)]
    assert _generation(many) == 2
    assert gc.isenabled()


def test_what_was_made_without_collection_is_collected_later() -> None:
    before, kept = _Cycle(), gc.get_freeze_count()
    seen = [weakref.ref(before)]
    with without_collection():
        made = [_Cycle() for _ in range(2 * MANY_OBJECTS)]
        seen.append(weakref.ref(made[0]))
    assert gc.get_freeze_count() == kept
    del before, made
    gc.collect()
    assert [each() for each in seen] == [None, None]
