"""`fedbn` and `flwr` for scripts, warm: this process has loaded all, and forks for each command.

    done = run_warm(["bash", "-c", "fedbn learn t.csv"], tmp_path)

A page of thirty commands costs a second or two of loading for each of them otherwise. That the
installed commands start by themselves is seen by tests of one command.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

SCRIPTS = Path(sysconfig.get_path("scripts"))
COMMANDS = ("fedbn", "flwr")
LOADED = (
    "fedbn.results.report",
    "flwr.cli.app",
    "pandas",
    "simulations.cli.command_table",
    "simulations.commands.simulate",
    "simulations.commands.simulate_output",
    "simulations.deployment.courier_server",
    "simulations.deployment.courier_site",
)
STAYING = "executor"
"""A command of `fedbn` that runs until it is stopped, with processes of its own: not from here."""

CLIENT = """#!{python} -SE
import json, os, socket, sys
if sys.argv[1:2] == [{staying!r}]:
    os.execv({real!r}, [{real!r}, *sys.argv[1:]])
os.umask(mask := os.umask(0))
told = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), mask, dict(os.environ)]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [len(told).to_bytes(4, "big")], [0, 1, 2])
    server.sendall(told)
    sys.exit(server.recv(1)[0])
"""


def run_warm(
    command: Sequence[object],
    folder: Path,
    variables: Mapping[str, str] = {},
    *,
    seconds: float = 600.0,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; where it or its children run one of COMMANDS, this process forks.

    variables : of its environment, besides this process's.
    """
    load()
    with (
        tempfile.TemporaryDirectory() as made,
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind(f"{made}/socket")
        listening.listen(64)
        for name in COMMANDS:
            _write_client(Path(made), name)
        path = os.pathsep.join([made, str(SCRIPTS), os.environ.get("PATH", os.defpath)])
        process = subprocess.Popen(
            [*map(str, command)],
            cwd=folder,
            env={**os.environ, **variables, "PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            _Forks(listening).serve(process, time.monotonic() + seconds)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return subprocess.CompletedProcess(process.args, process.returncode, _text(out), _text(err))


def load() -> None:
    """What commands import when they run; where all tests were collected, it is here already."""
    for name in LOADED:
        importlib.import_module(name)


def _write_client(folder: Path, name: str) -> None:
    text = CLIENT.format(
        python=sys.executable,
        name=name,
        staying=STAYING,
        real=str(SCRIPTS / name),
        address=str(folder / "socket"),
    )
    (folder / name).write_text(text)
    (folder / name).chmod(0o700)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


class _Forks:
    """The children that answer clients, each until it ends or its client has gone."""

    def __init__(self, listening: socket.socket) -> None:
        self._children: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._listening = listening
        self._selector.register(listening, selectors.EVENT_READ)

    def serve(self, process: subprocess.Popen[bytes], until: float) -> None:
        """Answer until the process has ended; fails the test after the time `until`."""
        while process.poll() is None:
            if time.monotonic() > until:
                pytest.fail(f"{process.args} does not end")
            for key, _ in self._selector.select(0.02):
                if key.fileobj is self._listening:
                    self._fork(self._listening.accept()[0])
                else:
                    self._stop(key.data)
            for child in [*self._children]:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    self._answer(child, os.waitstatus_to_exitcode(status))
        for child in [*self._children]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            self._answer(child, 1)

    def _fork(self, connection: socket.socket) -> None:
        told, files, _, _ = socket.recv_fds(connection, 4, 3)
        size, content = int.from_bytes(told, "big"), b""
        while len(content) < size:
            content += connection.recv(size - len(content))
        child = os.fork()
        if child == 0:
            for other in (self._listening, connection, *self._children.values()):
                other.close()
            _become(files, *json.loads(content))
        for file in files:
            os.close(file)
        self._children[child] = connection
        self._selector.register(connection, selectors.EVENT_READ, child)

    def _stop(self, child: int) -> None:
        """Its client was killed."""
        self._selector.unregister(self._children[child])
        os.kill(child, signal.SIGKILL)

    def _answer(self, child: int, status: int) -> None:
        connection = self._children.pop(child)
        if connection in self._selector.get_map():
            self._selector.unregister(connection)
            connection.send(bytes([status % 256]))
        connection.close()


def _become(
    files: Sequence[int], name: str, arguments: list[str], folder: str, mask: int,
    environment: Mapping[str, str],
) -> NoReturn:  # fmt: skip
    """Be the command, as a new process would be it, and end."""
    status: object = 70
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(folder)
        os.umask(mask)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [name, *arguments]
        _forget_pytest()
        status = _main(name)()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    finally:
        if isinstance(status, str):
            print(status, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(status or 0) if isinstance(status, int | None) else 1)


def _main(name: str) -> Callable[[], Any]:
    if name == "fedbn":
        from simulations.cli import main

        return main
    import flwr.supercore.telemetry
    from flwr.cli.app import app

    flwr.supercore.telemetry.FLWR_TELEMETRY_ENABLED = "0"
    return app


def _forget_pytest() -> None:
    """Standard files, warnings and logs as Python starts with them."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        file = os.fdopen(number, mode, buffering=1, closefd=False)
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    logging.getLogger().handlers.clear()
    for log in logging.root.manager.loggerDict.values():
        for handler in getattr(log, "handlers", ()):
            if isinstance(handler, logging.StreamHandler):
                handler.setStream(sys.stderr)
    warnings.resetwarnings()
    warnings.showwarning = _show
    for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", kind)


def _show(message: Any, category: Any, filename: str, lineno: int, *_: Any) -> None:
    sys.stderr.write(warnings.formatwarning(message, category, filename, lineno))
