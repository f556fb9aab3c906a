"""docs/courier.md, executed to the letter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "courier.md"


@pytest.fixture
def fedbn_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the command, warm."""
    folder = tmp_path_factory.mktemp("warm")
    warm = subprocess.Popen([sys.executable, "-m", "tests.deployment.warm", folder], cwd=ROOT)
    try:
        until = time.monotonic() + 120
        while not os.access(folder / "fedbn", os.X_OK) and time.monotonic() < until:
            assert warm.poll() is None
            time.sleep(0.1)
        yield folder
    finally:
        warm.kill()
        warm.wait()


@pytest.mark.slow
def test_the_guide_gives_the_bytes_of_the_simulation(tmp_path: Path, fedbn_folder: Path) -> None:
    script = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.DOTALL))
    path = f"{fedbn_folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has ended: its results are in" in done.stdout
    assert "there is no such site" in done.stdout
    assert "deleted; it is not answered again" in done.stdout
    assert "fedbn: refused: client 3: no reply" in done.stderr
