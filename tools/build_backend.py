"""How pip builds fedbn: scikit-build-core, with zig's C++ compiler where the machine has none.

The package `ziglang` on the package index holds a whole compiler. It is asked for only where
neither the variable CXX nor the path names a C++ compiler.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scikit_build_core import build as _build
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

COMPILERS = ("c++", "g++", "clang++", "cl")
TOOLS = {"cc": "cc", "c++": "c++", "ar": "ar", "ranlib": "ranlib"}


def has_compiler() -> bool:
    """Whether a C++ compiler is named by CXX or lies on the path."""
    return bool(os.environ.get("CXX")) or any(shutil.which(name) for name in COMPILERS)


def get_requires_for_build_wheel(settings=None):
    return [
        *_build.get_requires_for_build_wheel(settings),
        *([] if has_compiler() else ["ziglang"]),
    ]


def get_requires_for_build_editable(settings=None):
    return [
        *_build.get_requires_for_build_editable(settings),
        *([] if has_compiler() else ["ziglang"]),
    ]


def build_wheel(folder, settings=None, metadata=None):
    with some_compiler():
        return _build.build_wheel(folder, settings, metadata)


def build_editable(folder, settings=None, metadata=None):
    with some_compiler():
        return _build.build_editable(folder, settings, metadata)


@contextmanager
def some_compiler() -> Iterator[None]:
    """The machine's compiler, or scripts that call zig's."""
    if has_compiler():
        yield
        return
    print("fedbn: no C++ compiler found, compiling with the package ziglang", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        scripts = {name: Path(folder) / name for name in TOOLS}
        for name, tool in TOOLS.items():
            scripts[name].write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {tool} "$@"\n')
            scripts[name].chmod(0o755)
        before = dict(os.environ)
        options = f"-DCMAKE_AR={scripts['ar']} -DCMAKE_RANLIB={scripts['ranlib']}"
        os.environ.update(
            CC=str(scripts["cc"]),
            CXX=str(scripts["c++"]),
            CMAKE_ARGS=f"{os.environ.get('CMAKE_ARGS', '')} {options}".strip(),
        )
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)
