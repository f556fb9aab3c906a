"""docs/deployment.md, executed to the letter: front, TLS, authenticated nodes, isolated apps; an
unknown key, a request for Control from outside and a bundle with another client app are refused."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from simulations.flower.processes import free_ports, stop
from tests.warm import run_warm

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")


def script() -> str:
    """The guide's commands, on ports that are free here."""
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL))
    front, superlink, stranger = free_ports(3)
    commands = commands.replace("port=9600\n", f"port={consecutive(3)}\n")
    for port, free in (("9600", front), ("9604", stranger), ("9610", superlink)):
        commands = commands.replace(port, str(free))
    return commands


def consecutive(count: int) -> int:
    """A port after which so many are free just now."""
    (port,) = free_ports(1)
    return min(port, 65000 - count)


@pytest.mark.slow
def test_the_guide_gives_the_bytes_of_the_simulation(tmp_path: Path) -> None:
    try:
        guide = run_warm(["bash", "-euo", "pipefail", "-c", script()], tmp_path)
    finally:
        stop(tmp_path, [])
    printed = guide.stdout + guide.stderr
    assert guide.returncode == 0, printed
    assert "the stranger is refused" in printed
    assert "Control is refused from outside" in printed
    assert "Exit Code: 305" in (tmp_path / "stranger.log").read_text()
    left = json.loads((tmp_path / "results/deployed/run.json").read_text())
    assert left["refused"] == []
    assert left["summary"]["clients"] == 3
    log = (tmp_path / "north.csv.disclosures.jsonl").read_text()
    assert "1 DAG with" in log
    assert printed.count("the bundle's client app is not that of this site's fedbn") >= 3
    assert "the bundle's client app is not that of this site's fedbn" in log
    assert not (tmp_path / "touched").exists()
    digests = re.findall(r"^([0-9a-f]{64})  its bundle", printed, flags=re.MULTILINE)
    executor = (tmp_path / "north.executor.log").read_text()
    assert len(digests) == 2
    assert f"a message; bundle {digests[0]}" in executor
    assert str(tmp_path) not in log
