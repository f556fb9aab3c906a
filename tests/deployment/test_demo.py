"""`fedbn deploy-demo` as a user runs it, and as a user interrupts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbn.federation.run_config import from_run_config
from server.server_app import run_and_write
from simulations.deployment import demo
from simulations.deployment.deployment import Deployment
from simulations.in_process_grid import InProcessGrid
from tests.simulations.conftest import Fedbn, fedbn

__all__ = ["fedbn"]

FEDBN = str(Path(sys.executable).with_name("fedbn"))


def environment(folder: Path) -> dict[str, str]:
    """With a folder for temporary files, to know them and their processes by."""
    return {**os.environ, "TMPDIR": str(folder)}


def processes_of(folder: Path) -> list[str]:
    """Command lines of the processes whose Flower home is in the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"FLWR_HOME={folder}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


class Here(Deployment):
    """The nodes of a deployment in this process."""

    def start_superlink(self) -> None:
        self.tables: list[dict[str, str]] = []

    def start_node(self, name: str, table: Path, policy: Path | None = None, *_: object) -> None:
        self.tables.append({"data-path": str(table), "policy": str(policy)})

    def submit(self, bundle: Path, **_: object) -> str:
        project = tomllib.loads((bundle / "pyproject.toml").read_text("utf-8"))
        config = project["tool"]["flwr"]["app"]["config"]
        run_and_write(InProcessGrid(config, self.tables), from_run_config(config), 1)
        return "1"

    def require_completed(self, run_id: str, soon: Callable[[], bool] = lambda: False) -> None:
        assert soon()


def test_it_agrees_with_the_simulation(
    fedbn: Fedbn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the demo makes of its settings; its processes are in the next test."""
    monkeypatch.setattr(demo, "Deployment", Here)
    ran = fedbn("deploy-demo", "--insecure", "--json", "--out", tmp_path / "kept")
    assert ran.json["same"] is True
    assert ran.json["deployed_sha256"] == ran.json["simulated_sha256"]
    assert (tmp_path / "kept" / "consensus.json").is_file()
    assert not (tmp_path / "kept" / "variables.csv").exists()


@pytest.mark.slow
def test_deployed_it_agrees_with_the_simulation_and_leaves_nothing(tmp_path: Path) -> None:
    here, temporary = tmp_path / "anywhere", tmp_path / "tmp"
    here.mkdir()
    temporary.mkdir()
    done = subprocess.run(
        [FEDBN, "deploy-demo", "--insecure", "--json", "--out", "kept", "--variables", "union"],
        cwd=here,
        env=environment(temporary),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content["same"] is True
    assert content["deployed_sha256"] == content["simulated_sha256"]
    assert (here / "kept" / "consensus.json").is_file()
    assert (here / "kept" / "variables.csv").is_file()
    assert [path.name for path in here.iterdir()] == ["kept"]
    assert list(temporary.iterdir()) == []
    assert processes_of(tmp_path) == []


def heed_ctrl_c() -> None:
    """A shell starts what it runs in the background deaf to Ctrl-C, and its children stay so."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_interrupted_it_stops_everything_that_it_started(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [FEDBN, "deploy-demo"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
        preexec_fn=heed_ctrl_c,
    )
    assert demo.stdout is not None
    for line in demo.stdout:
        if "SuperLink at" in line:
            break
    assert any("flower-superlink" in command for command in processes_of(tmp_path))
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=120)
    assert demo.returncode not in (0, None)
    assert processes_of(tmp_path) == []
    assert [path for path in tmp_path.rglob("*") if path.name != "results"] == []
