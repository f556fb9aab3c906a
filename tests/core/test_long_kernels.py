"""Long kernels end by Ctrl-C, and let other threads of Python run meanwhile.

Each is a call that would take many minutes: `HANGS` is the guard against one that does not end, and
says nothing about speed.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.core.long_kernels import COUNTS, LONG

HANGS = 120.0  # seconds


def outcome(what: str, name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.core.long_kernels", what, name],
        capture_output=True, text=True, timeout=HANGS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_it(name: str) -> None:
    assert outcome("interrupt", name) == "interrupted"


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_other_threads_run_meanwhile(name: str) -> None:
    assert outcome("count", name) == f"counted to {COUNTS}"
