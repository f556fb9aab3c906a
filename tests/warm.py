"""`fedbn` and `flwr` for scripts, warm: a process that has loaded all forks for each command.

    done = run_warm(["bash", "-c", "fedbn learn t.csv"], tmp_path)

A page of thirty commands costs a second or two of loading for each of them otherwise. That the
installed commands start by themselves is seen by tests of one command. The process that forks does
nothing else: pytest's own has threads by then, of Rust's and others' pools, which a fork has not.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib
import json
import logging
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
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
    """Run a command in a folder; where it or its children run one of COMMANDS, a process forks.

    variables : of its environment, besides this process's.
    """
    path = os.pathsep.join(
        [str(_warm_commands()), str(SCRIPTS), os.environ.get("PATH", os.defpath)]
    )
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
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
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{process.args} does not end")
        finally:
            with contextlib.suppress(ProcessLookupError):  # what it left behind, too
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return subprocess.CompletedProcess(process.args, process.returncode, _text(out), _text(err))


@functools.cache
def _warm_commands() -> Path:
    """A folder with COMMANDS that ask a process for forks; both are gone when this one is."""
    folder = Path(tempfile.mkdtemp())
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/socket")
        listening.listen(64)
        for name in COMMANDS:
            _write_client(folder, name)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(listening.fileno())],
            cwd=Path(__file__).parents[1],
            stdin=subprocess.PIPE,
            pass_fds=[listening.fileno()],
        )
    atexit.register(_end, server, folder)
    return folder


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    assert server.stdin is not None
    server.stdin.close()
    server.wait()
    shutil.rmtree(folder)


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

    def serve(self) -> None:
        """Answer until standard input ends."""
        self._selector.register(sys.stdin, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(0.02):
                if key.fileobj is sys.stdin:
                    for child in self._children:
                        os.kill(child, signal.SIGKILL)
                    return
                if key.fileobj is self._listening:
                    self._fork(self._listening.accept()[0])
                else:
                    self._stop(key.data)
            for child in [*self._children]:
                ended, status = os.waitpid(child, os.WNOHANG)
                if ended:
                    self._answer(child, os.waitstatus_to_exitcode(status))

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
        _start_afresh()
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


def _start_afresh() -> None:
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


if __name__ == "__main__":
    sys.path[0] = str(SCRIPTS)
    for each in LOADED:
        importlib.import_module(each)
    sys.modules["__main__"].__spec__ = None  # processes that a fork spawns need nothing of this
    sys.modules["__main__"].__file__ = None
    _Forks(socket.socket(fileno=int(sys.argv[1]))).serve()
