"""Kernels that a test writes into a file of its own, whose cache is beside it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["load", "write_and_load"]


def write_and_load(file: Path, text: str) -> ModuleType:
    """The module of this text."""
    file.write_text(text)
    return load(file)


def load(file: Path) -> ModuleType:
    """The module of a file, made anew."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module
