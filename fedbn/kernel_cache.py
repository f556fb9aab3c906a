"""Whether a kernel has been compiled for this machine, or will be when it is first called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["is_compiled"]


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
