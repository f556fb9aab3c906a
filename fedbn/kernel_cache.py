"""Whether kernels have been compiled for this machine; what speeds their compilation up."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["is_compiled", "without_collection"]


def is_compiled(kernel: Callable[..., Any]) -> bool:
    """Whether numba's cache on disk holds the kernel as its source file is now.

    Parameters
    ----------
    kernel : a function under `njit(cache=True)`. A kernel that takes several kinds of arguments
        counts as compiled when it is for one of them.
    """
    function = inspect.unwrap(kernel)
    source = Path(inspect.getfile(function))
    folder = Path(kernel.stats.cache_path)  # type: ignore[attr-defined]
    name = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}.py*.nbi"
    written = [found.stat().st_mtime for found in folder.glob(name)]
    return bool(written) and max(written) >= source.stat().st_mtime


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
