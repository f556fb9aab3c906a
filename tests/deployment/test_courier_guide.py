"""docs/courier.md, executed to the letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.warm import run_warm

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs" / "courier.md"


@pytest.mark.slow
def test_the_guide_gives_the_bytes_of_the_simulation(tmp_path: Path) -> None:
    script = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE.read_text("utf-8"), flags=re.DOTALL))
    done = run_warm(["bash", "-euo", "pipefail", "-c", script], tmp_path)
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "has ended: its results are in" in done.stdout
    assert "there is no such site" in done.stdout
    assert "deleted; it is not answered again" in done.stdout
    assert "fedbn: refused: client 3: no reply" in done.stderr
