"""A lock on a file, and every module on a system that has no `fcntl` and no `resource`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fedbn.locked_file import last_byte, lock

ROOT = Path(__file__).parents[1]
ELSEWHERE = """
import pkgutil, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
import clients, fedbn, server, simulations
for package in (fedbn, clients, server, simulations):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        apart = ("simulations.benchmarks", "simulations.studies", "fedbn._core")
        if not module.name.startswith(apart) and not module.name.endswith("__main__"):
            __import__(module.name)
"""


@pytest.mark.parametrize("write", [b"", b"a", b"a\n", b"line\nb"])
def test_the_last_byte_and_what_is_appended_after_it(tmp_path: Path, write: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(write)
    file = os.open(path, os.O_RDWR | os.O_APPEND)
    assert last_byte(file) == write[-1:]
    os.write(file, b"end")
    os.close(file)
    assert path.read_bytes() == write + b"end"


def test_a_lock_keeps_others_out_until_the_file_is_closed(tmp_path: Path) -> None:
    first, second = (os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT) for _ in range(2))
    lock(first)
    with pytest.raises(BlockingIOError):
        lock(second, wait=False)
    os.close(first)
    lock(second, wait=False)
    os.close(second)


@pytest.mark.slow
def test_every_module_loads_where_fcntl_and_resource_are_missing() -> None:
    subprocess.run([sys.executable, "-c", ELSEWHERE], cwd=ROOT, check=True)
