"""A real deployment on one machine: a SuperLink and SuperNodes as processes of their own.

What docs/deployment.md does by hand on several machines, for `fedbn deploy-demo` and for tests:

    deployment = Deployment(folder, keys)
    deployment.make_keys(sites)
    with deployment:
        deployment.start_superlink()
        deployment.start_front()
        deployment.register(sites)
        for site, file in site_files.items():
            deployment.start_site(site, file)
        deployment.finished(deployment.submit(bundle))
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from fedbn.errors import FlowerRunError
from simulations.deployment.front import Front
from simulations.deployment.keys import make_keys
from simulations.flower.processes import (
    CONNECTION,
    Home,
    Process,
    app_log,
    flwr,
    free_ports,
    new_home,
    require_running,
    run_status,
    start,
    stop,
    submit,
    tail,
    wait_until_healthy,
    wait_until_open,
    write_connection,
)

SUPERLINK, EXECUTOR = "superlink", "executor"
POLL_SECONDS = 15.0


class Deployment:
    """SuperLink and SuperNodes, each with a home of its own; leaving the block stops them all.

    Parameters
    ----------
    folder : absolute; homes, logs and the SuperLink's database go here.
    keys : folder of keys (`simulations.deployment.keys`), which need not be there yet, for a front,
        TLS, authentication of nodes and apps in processes of their own; None: none of these.

    Attributes
    ----------
    port : of the SuperLink.
    front : "host:port" at which sites reach it.
    nodes : name -> process of the SuperNodes that should be running.
    """

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        self.folder = folder
        self.keys = keys
        self.port, public = free_ports(2)
        self.front = f"127.0.0.1:{self.port if keys is None else public}"
        self.home = new_home(folder / SUPERLINK)
        write_connection(self.home, self._address, self._ca)
        self.nodes: dict[str, Process] = {}
        self._superlink: Process | None = None
        self._superexec: Process | None = None
        self._commands: dict[str, Sequence[str]] = {}
        self._started: list[Process] = []

    def __enter__(self) -> Deployment:
        """Nothing is started yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop every process that was started, and what they started."""
        stop(self.folder, reversed(self._started))

    def make_keys(self, sites: Sequence[str]) -> None:
        """Keys of server and sites, and the front's configuration, for this deployment's ports."""
        assert self.keys is not None
        front = Front("127.0.0.1", self.front, self._address)
        make_keys(self.keys, ["127.0.0.1", "localhost"], sites, front=front)

    def start_superlink(self) -> None:
        """Start the SuperLink, again on the same port and database if it has run before."""
        options = ["--host", "127.0.0.1", "--port", str(self.port)]
        options += ["--database", str(self.home.folder / "superlink.db")]
        if self.keys is None:
            options.append("--insecure")
        else:
            options += ["--ssl-ca-certfile", str(self.keys / "ca.pem")]
            options += ["--ssl-certfile", str(self.keys / "superlink.pem")]
            options += ["--ssl-keyfile", str(self.keys / "superlink.key")]
            options += ["--enable-supernode-auth", *self._isolation(SUPERLINK)]
        self._superlink = self._start(self.home, SUPERLINK, "flower-superlink", *options)
        if self.keys is not None:
            options = ["--runtime-api-address", self._address]
            options += ["--root-certificates", str(self.keys / "ca.pem"), *self._secret(SUPERLINK)]
            self._superexec = self._start(self.home, "superexec", "flower-superexec", *options)
        wait_until_healthy(self.home, SUPERLINK, self._superlink, self.port, self._ca)

    def start_front(self, program: str = "caddy") -> None:
        """Start Caddy, or nginx, with the configuration that came with the keys."""
        assert self.keys is not None
        folder = self.folder / "front"
        home = new_home(folder, XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
        if program == "caddy":
            options = ["run", "--config", str(self.keys / "Caddyfile")]
        else:
            options = ["-e", "stderr", "-p", str(home.folder), "-c", str(self.keys / "nginx.conf")]
        front = self._start(home, program, program, *options, folder=self.keys)
        wait_until_open(home, program, front, self.front)

    def register(self, sites: Iterable[str]) -> None:
        """Make the sites' public keys known to the SuperLink; raises FlowerRunError."""
        with ThreadPoolExecutor() as pool:
            for site, answer in zip(sites, pool.map(self._register, sites), strict=True):
                if not answer.get("success"):
                    raise FlowerRunError(f"site {site!r} cannot be registered: {answer}")

    def start_node(
        self,
        name: str,
        table: Path,
        policy: Path | None = None,
        program: Sequence[str] = ("flower-supernode",),
    ) -> None:
        """Start a site's SuperNode, with its table and policy file; another program for tests."""
        config = f"data-path={json.dumps(str(table))}"
        if policy is not None:
            config += f" policy={json.dumps(str(policy))}"
        self.start_configured(name, config, program)

    def start_configured(
        self, name: str, config: str, program: Sequence[str] = ("flower-supernode",)
    ) -> None:
        """Start a SuperNode with this `--node-config`, which runs what a run brings."""
        (port,) = free_ports(1)
        options = ["--host", "127.0.0.1", "--port", str(port), "--node-config", config]
        self._start_node(name, program, options)

    def start_site(
        self, name: str, site: Path, program: Sequence[str] = ("flower-supernode",)
    ) -> None:
        """Start a site's SuperNode and, beside it, the executor with the site's file."""
        assert self.keys is not None
        (port,) = free_ports(1)
        options = ["--host", "127.0.0.1", "--port", str(port), *self._isolation(name)]
        self._start_node(name, program, options)
        secret = str(self.keys / f"{name}.executor.key")
        options = [str(site), "--supernode", f"127.0.0.1:{port}", "--secret", secret]
        self._start(self.node_home(name), EXECUTOR, "fedbn", "executor", *options)

    def node_home(self, name: str) -> Home:
        """The home of a site's SuperNode."""
        return new_home(self.folder / name)

    def start_again(self, name: str) -> None:
        """Start a SuperNode once more, with the same key, on the same port."""
        self.nodes[name] = self._start(self.node_home(name), name, *self._commands[name])

    def submit(self, bundle: Path, **run_config: str | int | float | bool) -> str:
        """`flwr run`; `run_config` has keys with underscores. Returns the run's id."""
        pairs = [f"{key.replace('_', '-')}={json.dumps(v)}" for key, v in run_config.items()]
        options = ["--run-config", " ".join(pairs)] if pairs else []
        return submit(self.home, bundle, *options)

    def wait_for_end(
        self, run_id: str, soon: Callable[[], bool] = lambda: False, seconds: float = 600.0
    ) -> tuple[str, str]:
        """Wait for the run's end; its status, like "finished:completed", and details.

        `soon` tells when that may be, for asking Flower all the time is not cheap. Raises
        FlowerRunError when a process of the deployment ends, or after so many seconds.
        """
        assert self._superlink is not None
        until = time.monotonic() + seconds
        asked = 0.0
        while time.monotonic() < until:
            require_running(self.home, SUPERLINK, self._superlink)
            for name, process in self.nodes.items():
                require_running(self.node_home(name), name, process)
            if soon() or time.monotonic() - asked > POLL_SECONDS:
                status, details = run_status(self.home, run_id)
                if status.startswith("finished"):
                    return status, details
                asked = time.monotonic()
            time.sleep(0.5)
        raise FlowerRunError(f"the run had not finished after {seconds:.0f} s")

    def require_completed(self, run_id: str, soon: Callable[[], bool] = lambda: False) -> None:
        """Wait for the run's end; raises FlowerRunError, with its log, unless it went well."""
        status, details = self.wait_for_end(run_id, soon)
        if status != "finished:completed":
            log = tail(self.run_log(run_id))
            raise FlowerRunError(f"the run ended as {status}: {details}\n{log}")

    def run_log(self, run_id: str) -> str:
        """What the server app printed and logged."""
        return app_log(self.home, run_id)

    def _start(self, home: Home, name: str, *command: str, folder: Path | None = None) -> Process:
        process = start(home, name, *command, folder=folder)
        self._started.append(process)
        return process

    def _start_node(self, name: str, program: Sequence[str], options: Sequence[str]) -> None:
        command = [*program, "--superlink", self.front, *options]
        if self.keys is None:
            command.append("--insecure")
        else:
            command += ["--root-certificates", str(self.keys / "ca.pem")]
            command += ["--auth-supernode-private-key", str(self.keys / f"{name}.key")]
        self._commands[name] = command
        self.start_again(name)

    def _isolation(self, name: str) -> list[str]:
        """Options of a SuperLink or SuperNode whose apps run elsewhere."""
        return ["--isolation", "process", *self._secret(name)]

    def _secret(self, name: str) -> list[str]:
        assert self.keys is not None
        return ["--superexec-auth-secret-file", str(self.keys / f"{name}.executor.key")]

    @property
    def _address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def _ca(self) -> Path | None:
        return None if self.keys is None else self.keys / "ca.pem"

    def _register(self, site: str) -> dict[str, Any]:
        assert self.keys is not None
        public = str(self.keys / f"{site}.pub")
        return flwr(self.home, "supernode", "register", public, CONNECTION, "--name", site)
