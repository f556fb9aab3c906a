"""Doors of kernels: what Python calls, compiled once for a machine and kept on disk.

numba keeps a compiled function as long as the file that it stands in is unchanged. A door is
compiled with all that it calls, and much of that stands in other files: whoever changed or upgraded
one of those would go on with the old machine code. So what is kept of a door counts only as long as
its own file and all files of kernels and states that it imports are what they were.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["door", "is_compiled", "sources"]

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent
_IMPORT = re.compile(r"(?m)^\s*from fedbn\.([\w.]+) import (\([^)]*\)|[^\n]*)")


def door(function: Function) -> Function:
    """njit for a kernel that Python calls: cached on disk, without the interpreter's lock."""
    kernel: Any = njit(cache=True, nogil=True)(function)
    cache = kernel._cache._cache_file
    cache._source_stamp = (cache._source_stamp, _digest(Path(inspect.getfile(function)).resolve()))
    return cast(Function, kernel)


def is_compiled(kernel: Any) -> bool:
    """Whether machine code of this door is on disk, made of its sources as they are now.

    A door that takes several kinds of arguments counts when it is compiled for one of them.
    """
    return bool(kernel._cache._cache_file._load_index())


@lru_cache
def _digest(path: Path) -> str:
    """Of everything that the kernels of a file are made of."""
    found = hashlib.sha256()
    for source in sources(path):
        found.update(_content(source))
    return found.hexdigest()


def sources(path: Path) -> list[Path]:
    """The file, and all files of fedbn's kernels, their parts and states that it imports, sorted.

    Imports of imports count; files without an underscore or "kernel_" in front hold no kernels.
    """
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            waiting += _imports(source)
    return sorted(found)


@lru_cache
def _imports(path: Path) -> list[Path]:
    named = []
    for module, names in _IMPORT.findall(_content(path).decode("utf-8")):
        parts = module.split(".")
        named.append(_PACKAGE.joinpath(*parts).with_suffix(".py"))
        named += [_PACKAGE.joinpath(*parts, f"{name}.py") for name in re.findall(r"\w+", names)]
    return [file for file in named if file.name.startswith(("_", "kernel_")) and file.is_file()]


@lru_cache
def _content(path: Path) -> bytes:
    return path.read_bytes()
