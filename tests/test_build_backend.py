"""Building where the machine has no C++ compiler: zig's takes its place, in one line."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def backend() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_backend", ROOT / "tools/build_backend.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    return tmp_path


def test_without_a_compiler_zig_is_asked_for_and_named(backend, only, capsys) -> None:
    assert "ziglang" in backend.get_requires_for_build_wheel()
    assert "ziglang" in backend.get_requires_for_build_editable()
    before = dict(os.environ)
    with backend.some_compiler():
        script = Path(os.environ["CXX"])
        assert script.read_text().splitlines()[1] == f'exec "{sys.executable}" -m ziglang c++ "$@"'
        assert os.access(script, os.X_OK)
        assert f"-DCMAKE_AR={script.parent / 'ar'}" in os.environ["CMAKE_ARGS"]
    assert dict(os.environ) == before
    assert not script.exists()
    assert capsys.readouterr().out == (
        "fedbn: no C++ compiler found, compiling with the package ziglang\n"
    )


def test_a_compiler_of_the_machine_is_used(backend, only: Path, monkeypatch, capsys) -> None:
    compiler = only / "g++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    assert "ziglang" not in backend.get_requires_for_build_wheel()
    compiler.unlink()
    monkeypatch.setenv("CXX", "my-compiler")
    assert "ziglang" not in backend.get_requires_for_build_editable()
    with backend.some_compiler():
        assert os.environ["CXX"] == "my-compiler"
    assert capsys.readouterr().out == ""
