"""A real Flower run: `flwr run` on Ray, started, watched and stopped from here.

Every run is on its own: a temporary folder is its FLWR_HOME, its working directory and Ray's
temporary folder; a SuperLink is started in it on a free port and stopped at the end, whatever
happens. The bundle that Flower gets holds the two thin apps, copied from the installed packages,
and a `pyproject.toml` with this run's settings. fedbn itself is imported from the installed
package, so no checkout is needed and its compiled kernels are found where they were cached.

`flwr run` exits with 0 even if it or its run fails; so its answer is read, and the run's status is
polled until it has finished.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fedbn
from fedbn.errors import FedbnError
from fedbn.settings import Experiment, to_run_config
from server.server_app import HANDOVER, Federated

CONNECTION = "here"
"""The SuperLink's name in Flower's configuration; without one, `flwr` may start its own."""

START_SECONDS = 60.0
STOP_SECONDS = 15.0
GRACE_SECONDS = 5.0
POLL_SECONDS = 3.0
LOG_LINES = 25
LONGEST_RAY_FOLDER = 40
"""Ray keeps sockets below its folder, and their paths must have fewer than 108 characters."""

ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}


class FlowerRunError(FedbnError, RuntimeError):
    """Flower's own processes failed."""


@dataclass(frozen=True)
class Runtime:
    """A running SuperLink: its folder, environment and process."""

    folder: Path
    environment: Mapping[str, str]
    superlink: subprocess.Popen[bytes]


def flower_run(experiment: Experiment, n_clients: int, notify: Callable[[str], None]) -> Federated:
    """Run the experiment on Flower's simulation engine with one node per client.

    Parameters
    ----------
    experiment : its paths must be absolute.
    n_clients : number of nodes.
    notify : called with a few words whenever a stage begins.

    Raises
    ------
    FedbnError
        The one that the server app raised; or FlowerRunError with the end of the run's log, when
        Flower itself failed. Then the temporary folder is kept and named.
    """
    folder = Path(tempfile.mkdtemp(prefix="fedbn-"))
    kept = False
    try:
        write_bundle(folder / "app", to_run_config(experiment))
        notify("starting Flower")
        with runtime(folder) as running:
            run_id = submit(running, n_clients)
            notify(f"{n_clients} clients learn on Flower, then the server fuses")
            return outcome_of(running, run_id)
    except FlowerRunError as error:
        kept = True
        raise FlowerRunError(f"{error}\n(all logs are kept in {folder})") from None
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def write_bundle(folder: Path, run_config: Mapping[str, Any]) -> None:
    """The app that Flower packs: the installed `clients` and `server`, and this run's settings."""
    for package in ("clients", "server"):
        spec = importlib.util.find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations
        shutil.copytree(
            spec.submodule_search_locations[0],
            folder / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    lines = [f"{key} = {_toml(value)}" for key, value in run_config.items()]
    text = f"""[project]
name = "fedbn-run"
version = "{fedbn.__version__}"

[tool.flwr.app]
publisher = "fedbn"

[tool.flwr.app.components]
serverapp = "server.server_app:app"
clientapp = "clients.client_app:app"

[tool.flwr.app.config]
"""
    (folder / "pyproject.toml").write_text(text + "\n".join(lines) + "\n", encoding="utf-8")


@contextlib.contextmanager
def runtime(folder: Path) -> Iterator[Runtime]:
    """A SuperLink of our own in `folder`, stopped with all its descendants when the block ends."""
    port = _free_port()
    (folder / "config.toml").write_text(
        f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
        f'address = "127.0.0.1:{port}"\ninsecure = true\n',
        encoding="utf-8",
    )
    environment = _environment(folder)
    command = ["flower-superlink", "--insecure", "--simulation", "--host", "127.0.0.1"]
    with (folder / "superlink.log").open("wb") as log:
        superlink = subprocess.Popen(
            [_script(command[0]), *command[1:], "--port", str(port)],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Runtime(folder, environment, superlink)
    try:
        _wait_until_healthy(running, port)
        yield running
    finally:
        _stop(running)


def _environment(folder: Path) -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "FLWR_HOME": str(folder),
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        HANDOVER: str(_handover(folder)),
    }
    if len(str(folder)) <= LONGEST_RAY_FOLDER:
        environment["RAY_TMPDIR"] = str(folder)
    return environment


def _handover(folder: Path) -> Path:
    return folder / "outcome.pickle"


def submit(running: Runtime, n_clients: int) -> str:
    """Start the run; returns its id."""
    federation = f"num-supernodes={n_clients} client-resources-num-cpus=1"
    bundle = str(running.folder / "app")
    answer = _flwr(running, "run", bundle, CONNECTION, "--federation-config", federation)
    if not answer.get("success") or not answer.get("run-id"):
        reason = str(answer.get("error-message", answer)).strip()
        raise FlowerRunError(f"flwr run did not start: {reason}")
    return str(answer["run-id"])


def outcome_of(running: Runtime, run_id: str) -> Federated:
    """Wait until the run has finished; its result, or the error that ended it."""
    handover = _handover(running.folder)
    status, details = "", ""
    while not status.startswith("finished"):
        _wait_a_little(running, handover)
        status, details = _status(running, run_id)
    if handover.exists():
        outcome = pickle.loads(handover.read_bytes())
        if isinstance(outcome, FedbnError):
            raise outcome
        if status == "finished:completed" and isinstance(outcome, Federated):
            return outcome
    log = _tail(app_log(running, run_id))
    raise FlowerRunError(f"the Flower run ended as {status}: {details}\n{log}")


def _status(running: Runtime, run_id: str) -> tuple[str, str]:
    """The run's status and what Flower says about it."""
    answer = _flwr(running, "ls", CONNECTION, "--run-id", run_id)
    runs = answer.get("runs")
    if not runs and running.superlink.poll() is not None:
        raise FlowerRunError(_superlink_ended(running))
    if not runs:
        raise FlowerRunError(f"Flower lost the run: {answer.get('error-message', answer)}")
    return str(runs[0]["status"]), str(runs[0].get("status-details", ""))


def _wait_a_little(running: Runtime, handover: Path) -> None:
    """Until the server app has left its outcome, or POLL_SECONDS; asking Flower is not cheap."""
    already = handover.exists()
    until = time.monotonic() + (0.3 if already else POLL_SECONDS)
    while time.monotonic() < until and (already or not handover.exists()):
        if running.superlink.poll() is not None:
            raise FlowerRunError(_superlink_ended(running))
        time.sleep(0.1)


def _flwr(running: Runtime, *arguments: str) -> dict[str, Any]:
    """The JSON answer of a `flwr` command."""
    done = _command(running, *arguments, "--format", "json")
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise FlowerRunError(f"flwr {arguments[0]} gave no answer (exit {done.returncode}): {said}")
    return answer


def _command(running: Runtime, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [_script("flwr"), *arguments],
        env=dict(running.environment),
        cwd=running.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def app_log(running: Runtime, run_id: str) -> str:
    """What the apps of a run printed and logged."""
    return _command(running, "log", run_id, CONNECTION, "--show").stdout


def _superlink_ended(running: Runtime) -> str:
    log = (running.folder / "superlink.log").read_text(encoding="utf-8", errors="replace")
    return f"flower-superlink ended with status {running.superlink.returncode}:\n{_tail(log)}"


def _tail(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-LOG_LINES:])


def _wait_until_healthy(running: Runtime, port: int) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if running.superlink.poll() is not None:
            raise FlowerRunError(_superlink_ended(running))
        with contextlib.suppress(OSError, urllib.error.URLError):
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with opener.open(f"http://127.0.0.1:{port}/health", timeout=1.0):
                return
        time.sleep(0.1)
    raise FlowerRunError(f"flower-superlink was not ready after {START_SECONDS:.0f} s")


def _stop(running: Runtime) -> None:
    """End the SuperLink and everything that it started, even what has lost its parent."""
    family = _family(running)
    superlink = running.superlink
    if superlink.poll() is None:
        superlink.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            superlink.wait(STOP_SECONDS)
    until = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < until and any(_started(p) == since for p, since in family.items()):
        time.sleep(0.1)
    for pid, since in {**family, **_family(running)}.items():
        if _started(pid) == since:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    superlink.kill()
    superlink.wait()


def _family(running: Runtime) -> dict[int, str]:
    """Process id -> start time of what this run started; empty without /proc.

    Those are the processes whose environment has this run's FLWR_HOME, and their descendants:
    Ray's workers overwrite the environment that others see.
    """
    mark = f"FLWR_HOME={running.folder}\0".encode()
    parents: dict[int, int] = {}
    found = {running.superlink.pid}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            pid = int(entry.name)
            parents[pid] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if mark in (entry / "environ").read_bytes():
                found.add(pid)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    own = {os.getpid(), running.superlink.pid}
    return {pid: since for pid in found - own if (since := _started(pid))}


def _started(pid: int) -> str:
    """When the process started, in clock ticks; empty when it is gone or dead but not reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _script(name: str) -> str:
    """The path of one of Flower's commands, beside this Python."""
    for folder in (sysconfig.get_path("scripts"), str(Path(sys.executable).parent)):
        found = shutil.which(name, path=folder)
        if found is not None:
            return found
    raise FlowerRunError(f"the command {name} must be installed beside {sys.executable}")


def _toml(value: Any) -> str:
    """A text, number or truth value as TOML."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value) if isinstance(value, bool) else repr(value)
