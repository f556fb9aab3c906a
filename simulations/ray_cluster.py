"""The cases of a study on a Ray cluster that exists: `--ray-address`.

A case travels as its settings and comes back as its row. Tables and programs do not travel: fedbn
must be installed at the same path on all nodes, and files that cases name must be readable there. A
case whose node died runs again on another one; cases are deterministic, so its row is the same.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fedbn.errors import ConfigError, FlowerRunError
from fedbn.extras import require_installed
from fedbn.wording import reason_of

RETRIES = 5
"""How often a case runs again whose node or process died."""

ANSWER_SECONDS = 10.0

_QUIET = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}


def require_address(address: str) -> None:
    """Refuse at once what Ray would try for minutes.

    Raises
    ------
    ConfigError : it is neither "auto" nor the HOST:PORT of something that answers.
    MissingExtraError : Ray is not installed.
    """
    require_installed("ray")
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not (host and port.isdigit()):
        raise ConfigError(f"--ray-address must be HOST:PORT or auto, not {address!r}")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"there must be a Ray cluster at {address}: {reason_of(error)}") from None


def on_cluster(
    address: str,
    call: Callable[[Any, Mapping[str, Any]], dict[str, Any]],
    run: Any,
    cases: Sequence[Mapping[str, Any]],
    order: Sequence[int],
    end: float,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each case as it ends: its place and `call(run, case)`.

    Parameters
    ----------
    address : of the cluster's head, or "auto" for a cluster that this machine belongs to.
    order : places of the cases in the order in which they begin.
    end : of time.monotonic(); no case is handed out after it.

    Raises
    ------
    ConfigError : there is no such cluster.
    FlowerRunError : a case was lost more than RETRIES times.
    Whatever `run` raises.
    """
    with connect(address) as ray:
        shared = ray.put(run)
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(call)
        waiting = list(order)[::-1]
        running: dict[Any, int] = {}
        while waiting or running:
            ahead = 2 * max(1, int(ray.cluster_resources().get("CPU", 1)))
            while waiting and len(running) < ahead and time.monotonic() < end:
                place = waiting.pop()
                running[remote.remote(shared, cases[place])] = place
            if not running:
                return
            for done in ray.wait(list(running))[0]:
                place = running.pop(done)
                yield place, _row_of(ray, done)


def _row_of(ray: Any, done: Any) -> dict[str, Any]:
    try:
        row: dict[str, Any] = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        first = str(error).strip().splitlines()[0]
        raise FlowerRunError(f"the Ray cluster lost a case {RETRIES + 1} times: {first}") from None
    return row


@contextmanager
def connect(address: str) -> Iterator[Any]:
    """Ray, for as long as the block lasts."""
    require_address(address)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray

    try:
        ray.init(
            address=address,
            runtime_env={"env_vars": {"PYTHONPATH": _python_path()}},
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(f"there must be a Ray cluster at {address!r}: {first}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def _python_path() -> str:
    """The folder of the apps (an installed fedbn has it below `fedbn_apps`), then the usual one."""
    apps = str(Path(__file__).resolve().parent.parent)
    return os.pathsep.join([apps, *filter(None, [os.environ.get("PYTHONPATH")])])
