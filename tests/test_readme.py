"""The README's commands and program, run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm import run_warm

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_what_leaves_a_site_is_said_in_full() -> None:
    from simulations.cli import app

    words = "structures, column names and states leave a site"
    for text in (README, str(app.info.help)):
        assert words in " ".join(text.split())


@pytest.mark.slow
def test_the_commands_run_in_order_in_an_empty_folder(tmp_path: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line]
    commands = [line for line in lines if line.startswith("fedbn ")]
    assert len(commands) >= 10
    done = run_warm(["bash", "-ex", "-c", "\n".join(commands)], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "results" / "asia" / "consensus.bif").is_file()
    assert (tmp_path / "results" / "fused" / "path.csv").is_file()


def test_make_has_the_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = [
        line.split()[1]
        for block in blocks("sh")
        for line in block.splitlines()
        if line.startswith("make ")
    ]
    assert targets == ["demo", "test"]
    assert all(f"\n{target}:" in makefile for target in targets)


@pytest.mark.slow
def test_the_program_runs() -> None:
    (program,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 120
