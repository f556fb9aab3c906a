"""Flower's own processes, each in a folder of its own, all stopped at the end.

A home is a private FLWR_HOME: working directory, connections, logs. Nothing of the user's Flower
configuration is read or changed, and no process of another home is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import sysconfig
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbn.errors import FlowerRunError

CONNECTION = "here"
"""The SuperLink's name in a home's configuration; without one, `flwr` may start its own."""

FRONTS = ("caddy", "nginx")
"""Web servers that can be a SuperLink's front; the extra `front` installs the first."""

START_SECONDS = 60.0
STOP_SECONDS = 15.0
GRACE_SECONDS = 5.0
LOG_LINES = 25

ENVIRONMENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
}

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Home:
    """A folder and the environment of every process that is started there."""

    folder: Path
    environment: Mapping[str, str]

    def log(self, name: str) -> Path:
        """The log of the process called so."""
        return self.folder / f"{name}.log"


def new_home(folder: Path, **variables: str) -> Home:
    """A home in `folder`, which is made; `variables` are added to its environment."""
    folder.mkdir(parents=True, exist_ok=True)
    scripts = sysconfig.get_path("scripts")
    environment = {
        **os.environ,
        **ENVIRONMENT,
        "FLWR_HOME": str(folder),
        "PATH": os.pathsep.join([scripts, os.environ.get("PATH", os.defpath)]),
        **variables,
    }
    return Home(folder, environment)


def write_connection(home: Home, address: str, ca: Path | None) -> None:
    """Tell `flwr` in this home where the SuperLink is, and by which certificate it is known."""
    secured = "insecure = true" if ca is None else f"root-certificates = {json.dumps(str(ca))}"
    (home.folder / "config.toml").write_text(
        f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n'
        f'address = "{address}"\n{secured}\n',
        encoding="utf-8",
    )


def start(
    home: Home, name: str, command: str, *arguments: str, folder: Path | None = None
) -> Process:
    """Start a command in the background, in the home or another folder; its output is logged."""
    with home.log(name).open("ab") as log:
        return subprocess.Popen(
            [script(command), *arguments],
            env=dict(home.environment),
            cwd=folder or home.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def wait_until_healthy(
    home: Home, name: str, process: Process, port: int, ca: Path | None = None
) -> None:
    """Wait until the SuperLink answers; raises FlowerRunError when it ends or takes too long."""
    context = None if ca is None else ssl.create_default_context(cafile=str(ca))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    scheme = "http" if ca is None else "https"
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        require_running(home, name, process)
        with (
            contextlib.suppress(OSError, urllib.error.URLError),
            opener.open(f"{scheme}://127.0.0.1:{port}/health", timeout=1.0),
        ):
            return
        time.sleep(0.1)
    raise FlowerRunError(f"{name} was not ready after {START_SECONDS:.0f} s")


def wait_until_open(home: Home, name: str, process: Process, address: str) -> None:
    """Wait until something listens at "host:port"; raises FlowerRunError as above."""
    host, _, port = address.rpartition(":")
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        require_running(home, name, process)
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host, int(port)), timeout=1.0),
        ):
            return
        time.sleep(0.1)
    raise FlowerRunError(f"{name} was not ready after {START_SECONDS:.0f} s")


def require_running(home: Home, name: str, process: Process) -> None:
    """Raise FlowerRunError, with the end of its log, if the process has ended."""
    if process.poll() is None:
        return
    log = home.log(name).read_text(encoding="utf-8", errors="replace")
    raise FlowerRunError(f"{name} ended with status {process.returncode}:\n{tail(log)}")


def flwr(home: Home, *arguments: str) -> dict[str, Any]:
    """The JSON answer of a `flwr` command; raises FlowerRunError when there is none."""
    done = flwr_command(home, *arguments, "--format", "json")
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict):
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise FlowerRunError(f"flwr {arguments[0]} gave no answer (exit {done.returncode}): {said}")
    return answer


def flwr_command(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A finished `flwr` command."""
    return subprocess.run(
        [script("flwr"), *arguments],
        env=dict(home.environment),
        cwd=home.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def submit(home: Home, bundle: Path, *arguments: str) -> str:
    """`flwr run` of a bundle; returns the run's id."""
    answer = flwr(home, "run", str(bundle), CONNECTION, *arguments)
    if not answer.get("success") or not answer.get("run-id"):
        reason = str(answer.get("error-message", answer)).strip()
        raise FlowerRunError(f"flwr run did not start: {reason}")
    return str(answer["run-id"])


def run_status(home: Home, run_id: str) -> tuple[str, str]:
    """The run's status and what Flower says about it; "finished" and why, once it has ended."""
    answer = flwr(home, "ls", CONNECTION, "--run-id", run_id)
    runs = answer.get("runs")
    if not runs:
        raise FlowerRunError(f"Flower lost the run: {answer.get('error-message', answer)}")
    return str(runs[0]["status"]), str(runs[0].get("status-details", ""))


def app_log(home: Home, run_id: str, *, follow: bool = False) -> str:
    """What the apps of a run printed and logged, so far or to the run's end."""
    how = "--stream" if follow else "--show"
    return flwr_command(home, "log", run_id, CONNECTION, how).stdout


def tail(log: str) -> str:
    """The last lines of a log."""
    return "\n".join(log.strip().splitlines()[-LOG_LINES:])


def free_ports(count: int) -> list[int]:
    """Distinct ports of 127.0.0.1 that nobody uses just now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def script(name: str) -> str:
    """The path of a command: beside this Python, or one of the system's web servers."""
    folders = [sysconfig.get_path("scripts"), str(Path(sys.executable).parent)]
    if name in FRONTS:
        folders += [os.environ.get("PATH", os.defpath), "/usr/sbin"]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is not None:
        return found
    if name in FRONTS:
        raise FlowerRunError(
            f"the web server {name} must be installed: pip install 'fedbn[front]' for caddy"
        )
    raise FlowerRunError(f"the command {name} must be installed beside {sys.executable}")


def stop(folder: Path, processes: Iterable[Process]) -> None:
    """End the processes and everything that they started, even what has lost its parent.

    A second Ctrl-C does not hinder it.

    Parameters
    ----------
    folder : the home of the processes, or a folder that holds their homes.
    processes : as `start` gave them; children of this process.
    """
    with _ignore_interrupts():
        _stop(folder, list(processes))


@contextlib.contextmanager
def _ignore_interrupts() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(folder: Path, own: list[Process]) -> None:
    family = _family(folder, own)
    for process in own:
        if process.poll() is None:
            process.terminate()
    until = time.monotonic() + STOP_SECONDS
    for process in own:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
    until = time.monotonic() + GRACE_SECONDS
    while time.monotonic() < until and any(_start_time(p) == since for p, since in family.items()):
        time.sleep(0.1)
    for pid, since in {**family, **_family(folder, own)}.items():
        if _start_time(pid) == since:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    for process in own:
        process.kill()
        process.wait()


def descendants(pid: int) -> set[int]:
    """The process and all below it that run now."""
    return {pid, *_descendants({pid}, _parents())}


def _family(folder: Path, own: Iterable[Process]) -> dict[int, str]:
    """Process id -> start time of what was started here; empty without /proc.

    Those are the processes whose environment has a FLWR_HOME in the folder, and their descendants:
    Ray's workers overwrite the environment that others see.
    """
    marks = (f"\0FLWR_HOME={folder}\0".encode(), f"\0FLWR_HOME={folder}/".encode())
    found = {process.pid for process in own}
    parents = _parents()
    for pid in parents:
        with contextlib.suppress(OSError):
            environment = b"\0" + Path(f"/proc/{pid}/environ").read_bytes()
            if any(mark in environment for mark in marks):
                found.add(pid)
    family = _descendants(found, parents)
    for process in own:
        family.pop(process.pid, None)
    return family


def _descendants(roots: Iterable[int], parents: Mapping[int, int]) -> dict[int, str]:
    """Process id -> start time of the roots and all below them; never of this process."""
    found = set(roots)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return {pid: since for pid in found - {os.getpid()} if (since := _start_time(pid))}


def _parents() -> dict[int, int]:
    """Process id -> its parent's, of all processes."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            stat = (entry / "stat").read_text().rpartition(")")[2].split()
            parents[int(entry.name)] = int(stat[1])
    return parents


def _start_time(pid: int) -> str:
    """When the process started, in clock ticks; empty when it is gone or dead but not reaped."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]
