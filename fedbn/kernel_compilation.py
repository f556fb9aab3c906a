"""What speeds the compilation of kernels up."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_collection"]


@contextmanager
def without_collection() -> Iterator[None]:
    """Inside, no cyclic garbage is looked for.

    A compiler makes millions of objects that stay; looking for garbage among them is an eighth of
    the time that it takes to compile kernels.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
