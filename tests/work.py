"""What code costs, counted: calls of functions and bytes at the peak. Never seconds.

A machine may be busy, so a test that bounds time fails for reasons that are not in the code. The
number of calls is the same on every machine; what runs inside one call of NumPy is bounded by the
bytes that it holds.
"""

from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest


@dataclass
class Work:
    """Calls of functions, Python's and compiled ones, and most bytes held at one time."""

    calls: int = 0
    peak: int = 0


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of this thread inside the block; the result is filled in at its end."""
    work = Work()

    def note(frame: Any, event: str, argument: Any) -> None:
        work.calls += event in ("call", "c_call")

    before = sys.getprofile()
    tracemalloc.start()
    sys.setprofile(note)
    try:
        yield work
    finally:
        sys.setprofile(before)
        work.peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()


def clock_that_counts(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    """Let the modules see a clock that goes one second on whenever somebody looks at it.

    A time limit then bounds the number of looks, which is the same on every machine.
    """
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(looks)))
    for module in modules:
        monkeypatch.setattr(f"{module}.time", clock)
