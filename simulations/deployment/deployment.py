"""A real deployment on one machine: a SuperLink and SuperNodes as processes of their own.

What docs/deployment.md does by hand on several machines, for `fedbn deploy-demo` and for tests:

    with Deployment(folder, keys) as deployment:
        deployment.start_superlink()
        deployment.register(sites)
        for site, table in tables.items():
            deployment.start_node(site, table)
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
from simulations.flower.processes import (
    CONNECTION,
    Home,
    Process,
    app_log,
    flwr,
    free_ports,
    kill,
    new_home,
    require_running,
    run_status,
    start,
    stop,
    submit,
    tail,
    wait_until_healthy,
    write_connection,
)

__all__ = ["Deployment"]

SUPERLINK = "superlink"
POLL_SECONDS = 15.0


class Deployment:
    """SuperLink and SuperNodes, each with a home of its own; leaving the block stops them all.

    Parameters
    ----------
    folder : absolute; homes, logs and the SuperLink's database go here.
    keys : folder of keys (`simulations.deployment.keys`) for TLS and authentication of nodes;
        None: neither.

    Attributes
    ----------
    port : of the SuperLink.
    nodes : name -> process of the SuperNodes that should be running.
    """

    def __init__(self, folder: Path, keys: Path | None = None) -> None:
        self.folder = folder
        self.keys = keys
        (self.port,) = free_ports(1)
        self.home = new_home(folder / SUPERLINK)
        write_connection(self.home, self._address, self._ca)
        self.nodes: dict[str, Process] = {}
        self._superlink: Process | None = None
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

    def start_superlink(self) -> None:
        """Start the SuperLink, again on the same port and database if it has run before."""
        options = ["--host", "127.0.0.1", "--port", str(self.port)]
        options += ["--database", str(self.home.folder / "superlink.db")]
        if self.keys is None:
            options.append("--insecure")
        else:
            options += ["--ssl-ca-certfile", str(self.keys / "ca.pem")]
            options += ["--ssl-certfile", str(self.keys / "server.pem")]
            options += ["--ssl-keyfile", str(self.keys / "server.key"), "--enable-supernode-auth"]
        self._superlink = start(self.home, SUPERLINK, "flower-superlink", *options)
        self._started.append(self._superlink)
        wait_until_healthy(self.home, SUPERLINK, self._superlink, self.port, self._ca)

    def kill_superlink(self) -> None:
        """End the SuperLink at once, with the run that it has."""
        assert self._superlink is not None
        kill(self._superlink)

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
        home = self.node_home(name)
        (port,) = free_ports(1)
        config = f"data-path={json.dumps(str(table))}"
        if policy is not None:
            config += f" policy={json.dumps(str(policy))}"
        options = ["--superlink", self._address, "--host", "127.0.0.1", "--port", str(port)]
        options += ["--node-config", config]
        if self.keys is None:
            options.append("--insecure")
        else:
            options += ["--root-certificates", str(self.keys / "ca.pem")]
            options += ["--auth-supernode-private-key", str(self.keys / f"{name}.key")]
        self.nodes[name] = start(home, name, *program, *options)
        self._started.append(self.nodes[name])

    def node_home(self, name: str) -> Home:
        """The home of a site's SuperNode."""
        return new_home(self.folder / name)

    def kill_node(self, name: str) -> None:
        """End a SuperNode at once, with whatever it is doing."""
        kill(self.nodes.pop(name))

    def node_log(self, name: str) -> str:
        """What a SuperNode and its clients printed."""
        return self.node_home(name).log(name).read_text(encoding="utf-8", errors="replace")

    def submit(self, bundle: Path, **run_config: str | int | float | bool) -> str:
        """`flwr run`; `run_config` has keys with underscores. Returns the run's id."""
        pairs = [f"{key.replace('_', '-')}={json.dumps(v)}" for key, v in run_config.items()]
        options = ["--run-config", " ".join(pairs)] if pairs else []
        return submit(self.home, bundle, *options)

    def finished(
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
        status, details = self.finished(run_id, soon)
        if status != "finished:completed":
            log = tail(self.run_log(run_id))
            raise FlowerRunError(f"the run ended as {status}: {details}\n{log}")

    def run_log(self, run_id: str) -> str:
        """What the server app printed and logged."""
        return app_log(self.home, run_id)

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
