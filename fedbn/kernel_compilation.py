"""What speeds the compilation of kernels up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["is_compiling", "quick_compilation", "without_collection"]

MANY_OBJECTS = 10_000
"""So many new objects mean that something was compiled, or imported."""

_inside = False
"""Whether a thread is inside `quick_compilation`."""


@contextmanager
def quick_compilation() -> Iterator[None]:
    """Inside, kernels are compiled in three quarters of the time; what they do is the same.

    One thread at a time is inside, and no other compiles meanwhile.
    """
    from numba.core.compiler_lock import global_compiler_lock

    global _inside
    with global_compiler_lock, without_collection(), _options_compared_as_set():
        before, _inside = _inside, True
        try:
            yield
        finally:
            _inside = before


def is_compiling() -> bool:
    """Whether this process compiles kernels now."""
    return _inside


@contextmanager
def without_collection() -> Iterator[None]:
    """No cyclic garbage is looked for; what was made inside, if much, counts as old at once.

    A compiler makes millions of objects that stay; looking for garbage among them is an eighth of
    the time that it takes to compile kernels. Modules that are imported stay, too. Nothing is kept
    from being collected later on.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            if gc.get_count()[0] > MANY_OBJECTS and gc.get_freeze_count() == 0:
                gc.freeze()  # together: all objects move to the oldest generation, not looked at
                gc.unfreeze()
            gc.enable()


@contextmanager
def _options_compared_as_set() -> Iterator[None]:
    """Options of numba that were set alike are equal without a look at all that were not set.

    numba compares its options whenever it looks for what it has compiled already. Reading all of
    them, by their names, is another eighth of the time.
    """
    from numba.core import targetconfig

    TargetConfig: Any = targetconfig.TargetConfig
    whole_hash, whole_equality = TargetConfig.__hash__, TargetConfig.__eq__

    def by_names(self: Any) -> int:
        return hash(tuple(sorted(self.options)))  # what numba's own comes to

    def equal(self: Any, other: Any) -> Any:
        if type(self) is not type(other):
            return whole_equality(self, other)
        if self._values == other._values:
            return True
        names = self._values.keys() | other._values.keys()
        return all(getattr(self, name) == getattr(other, name) for name in names)

    TargetConfig.__hash__, TargetConfig.__eq__ = by_names, equal
    try:
        yield
    finally:
        TargetConfig.__hash__, TargetConfig.__eq__ = whole_hash, whole_equality
