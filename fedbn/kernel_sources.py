"""What the kernels of a file are made of: the file, and what it imports of fedbn's kernels."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path

__all__ = ["digest_of", "sources"]

_PACKAGE = Path(__file__).resolve().parent
_IMPORT = re.compile(r"(?m)^\s*from fedbn\.([\w.]+) import (\([^)]*\)|[^\n]*)")


@lru_cache
def digest_of(path: Path) -> str:
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
