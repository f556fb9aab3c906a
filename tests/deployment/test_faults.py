"""What breaks in a deployment costs a warning, not the run: real processes on 127.0.0.1."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from clients.door import FAILED
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from simulations.deployment.deployment import Deployment
from simulations.flower.bundle import write_bundle
from simulations.flower.processes import CONNECTION, Process, descendants, flwr
from tests.deployment.conftest import SITES, Simulated

HOSTILE = (sys.executable, str(Path(__file__).with_name("hostile_supernode.py")))
RESTART_SECONDS = 5.0
"""As in deploy/systemd: to wait costs less than to start."""

PLAN = Experiment.of(rounds_limit=2)
ONE_SHOT = PLAN.change(rounds_limit=1)


class FailingDeployment(Deployment):
    """A deployment whose processes can be ended at once, as on a machine that loses its power."""

    def kill_superlink(self) -> None:
        """With the server apps."""
        for process in (self._superlink, self._superexec):
            assert process is not None
            kill(process)

    def kill_node(self, name: str) -> None:
        kill(self.nodes.pop(name))

    def node_log(self, name: str) -> str:
        """What a SuperNode and its clients printed."""
        return self.node_home(name).log(name).read_text(encoding="utf-8", errors="replace")


def kill(process: Process) -> None:
    for pid in descendants(process.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


@pytest.mark.slow
@pytest.mark.usefixtures("warm_flwr")
def test_a_lying_a_lost_and_a_restarted_process(
    tmp_path: Path, tables: dict[str, Path], schema: str, simulated: Simulated
) -> None:
    bundle = tmp_path / "app"
    write_bundle(bundle, to_run_config(PLAN.change(schema=schema)))
    with FailingDeployment(tmp_path / "flower", tmp_path / "keys") as deployment:
        deployment.make_keys([*SITES, "west"])
        deployment.start_superlink()
        deployment.start_front()
        deployment.register([*SITES, "west"])
        for site in SITES:
            file = tables[site].with_suffix(".toml")
            file.write_text(f'schema = "{schema}"\ntable = "{tables[site].name}"\n')
            renew(tables[site], read_site_file(file), confirmed=True)
            deployment.start_site(site, file, program=HOSTILE)
            behave(deployment, site, "plain")
        is_stopped(deployment, bundle, tmp_path / "stopped")
        (tmp_path / "private").mkdir()
        shutil.copy(tables["east"], tmp_path / "private")
        is_killed_mid_round(deployment, bundle, tmp_path / "killed", simulated)
        comes_back(deployment, "south", "twice")
        superlink_is_killed(deployment, bundle, tmp_path / "resumed", simulated)


def is_stopped(deployment: FailingDeployment, bundle: Path, out: Path) -> None:
    """`flwr stop` ends a run, though a site hangs; its answer comes when nobody waits any more."""
    behave(deployment, "south", "late")
    run = deployment.submit(bundle, out_dir=str(out), min_replies=3)
    wait_for(lambda: "hostile: waiting" in deployment.node_log("south"))
    assert flwr(deployment.home, "stop", run, CONNECTION)["success"]
    assert deployment.wait_for_end(run)[0] == "finished:stopped"
    assert not out.exists()
    behave(deployment, "south", "plain")
    wait_for(lambda: "hostile: waited" in deployment.node_log("south"))


def comes_back(deployment: FailingDeployment, site: str, how: str) -> None:
    """A killed site is started again, and is the same; the next runs are for all three sites."""
    before = node_id(deployment, site)
    behave(deployment, site, how)
    wait_for(lambda: is_taken_back(deployment, site))
    assert node_id(deployment, site) == before


def is_taken_back(deployment: FailingDeployment, site: str) -> bool:
    """Start it again, as its unit does, until the SuperLink has missed it and takes it back."""
    process = deployment.nodes.get(site)
    if process is None or process.poll() is not None:
        time.sleep(RESTART_SECONDS)
        deployment.start_again(site)
    return deployment.node_log(site).count("SuperNode ID") == 2


def node_id(deployment: FailingDeployment, site: str) -> str:
    return re.findall(r"SuperNode ID: (\w+)", deployment.node_log(site))[-1]


def is_killed_mid_round(
    deployment: FailingDeployment, bundle: Path, out: Path, simulated: Simulated
) -> None:
    """A site dies while the server waits for it: the others' consensus is the result.

    The run names a folder of tables, as one that is up to no good could: a node with a number and
    no table of its own answers with the fixed notice, and keeps its files. It is unregistered, and
    no later run asks it.
    """
    behave(deployment, "south", "late")
    deployment.start_configured("west", "partition-id=0 num-partitions=1")
    wait_for(lambda: "SuperNode ID" in deployment.node_log("west"))
    folder = str(out.with_name("private"))
    run = deployment.submit(
        bundle,
        out_dir=str(out),
        sites_dir=folder,
        min_replies=2,
        reply_seconds=90,
        rounds_limit=1,
    )
    wait_for(lambda: deployment.node_log("south").count("hostile: waiting") == 2)
    deployment.kill_node("south")
    deployment.require_completed(run, out.is_dir)
    assert consensus(out) == simulated(ONE_SHOT, ["east", "north"])
    reasons = [entry["reason"] for entry in refused(out)]
    assert [reason.split(":")[0] for reason in reasons] == ["handshake", "round 1"]
    assert f": {FAILED}; " in reasons[0]
    assert "started with data-path" in deployment.node_log("west")
    gone = node_id(deployment, "west")
    deployment.kill_node("west")
    assert flwr(deployment.home, "supernode", "unregister", gone, CONNECTION)["success"]


def superlink_is_killed(
    deployment: FailingDeployment, bundle: Path, out: Path, simulated: Simulated
) -> None:
    """The SuperLink dies after the first round: the run is lost, its first round is not. A site
    answered each request of that twice and replayed its old answers: nothing changes."""
    run = deployment.submit(bundle, out_dir=str(out), min_replies=3)
    checkpoint = out.with_name(f"{out.name}.checkpoint.json")
    wait_for(checkpoint.is_file)
    behave(deployment, "south", "plain")
    assert "hostile: sent again" in deployment.node_log("south")
    deployment.kill_superlink()
    assert not out.exists()
    deployment.start_superlink()
    rest = deployment.submit(bundle, out_dir=str(out), min_replies=3, resume=True)
    deployment.require_completed(rest, out.is_dir)
    assert consensus(out) == simulated(PLAN, list(SITES))
    assert refused(out) == []
    assert json.loads((out / "state.json").read_text())["rounds"] == 2
    assert not checkpoint.exists()
    assert deployment.wait_for_end(run)[0] == "finished:failed"


def behave(deployment: FailingDeployment, site: str, how: str) -> None:
    (deployment.folder / site / "behaviour").write_text(how)


def consensus(out: Path) -> str:
    return (out / "consensus.json").read_text()


def refused(out: Path) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = json.loads((out / "run.json").read_text())["refused"]
    return entries


def wait_for(there: Callable[[], bool], looks: int = 1200) -> None:
    for _ in range(looks):
        if there():
            return
        time.sleep(0.2)
    pytest.fail(f"it was not there after {looks} looks")
