"""A real Flower run: `flwr run` on Ray, started, watched and stopped from here.

Every run is on its own: a temporary folder is its FLWR_HOME, its working directory and Ray's
temporary folder; a SuperLink is started in it on a free port and stopped at the end, whatever
happens. No checkout is needed: the bundle holds the two thin apps (`simulations.flower.bundle`).

`flwr run` exits with 0 even if it or its run fails; so its answer is read, and the run lasts until
its server app has left an outcome, or until Flower says that it has finished without.
"""

from __future__ import annotations

import contextlib
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbn.errors import FedbnError, FlowerRunError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from server.server_app import Federated
from simulations.flower.bundle import write_bundle
from simulations.flower.processes import (
    Home,
    Process,
    app_log,
    free_ports,
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
from simulations.sites.server_app import HANDOVER, count_replies

POLL_SECONDS = 15.0
"""Of a run whose server app leaves nothing; asking Flower takes seconds of a processor."""

LONGEST_RAY_FOLDER = 40
"""Ray keeps sockets below its folder, and their paths must have fewer than 108 characters."""

SUPERLINK = "superlink"


@dataclass(frozen=True)
class Runtime:
    """A running SuperLink and its home."""

    home: Home
    superlink: Process


def flower_run(
    experiment: Experiment,
    n_clients: int,
    notify: Callable[[str], None],
    count: Callable[[int, int], None] = lambda done, total: None,
    ray_address: str | None = None,
) -> Federated:
    """Run the experiment on Flower's simulation engine with one node per client.

    Parameters
    ----------
    experiment : its paths must be absolute.
    n_clients : number of nodes.
    notify : called with a few words whenever a stage begins.
    count : called with how many of how many nodes have answered a request.
    ray_address : of a Ray cluster; its nodes must see the temporary folder of this process.

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
        with runtime(folder, ray_address) as running:
            federation = f"num-supernodes={n_clients} client-resources-num-cpus=1"
            run_id = submit(running.home, folder / "app", "--federation-config", federation)
            notify("the sites learn on Flower, then the server fuses: sites")
            return outcome_of(running, run_id, count)
    except FlowerRunError as error:
        kept = True
        raise FlowerRunError(f"{error}\n(all logs are kept in {folder})") from None
    except OSError as error:
        if isinstance(error, FedbnError):
            raise
        raise FlowerRunError(f"the run's folder {folder} cannot be used: {error}") from None
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def runtime(folder: Path, ray_address: str | None = None) -> Iterator[Runtime]:
    """A SuperLink of our own in `folder` whose run hands its outcome over.

    RAY_ADDRESS is how Ray is told of a cluster that exists.
    """
    ray = {} if ray_address is None else {"RAY_ADDRESS": ray_address}
    with superlink(folder, {HANDOVER: str(handover(folder)), **ray}) as running:
        yield running


@contextlib.contextmanager
def superlink(
    place: Path, variables: Mapping[str, str], folder: Path | None = None
) -> Iterator[Runtime]:
    """A SuperLink with its home in `place`, stopped with all its descendants when the block ends.

    variables : of the environment of its processes.
    folder : where they work; the home by default.
    """
    (port,) = free_ports(1)
    ray = {"RAY_TMPDIR": str(place)} if len(str(place)) <= LONGEST_RAY_FOLDER else {}
    home = new_home(place, **variables, **ray)
    write_connection(home, f"127.0.0.1:{port}", ca=None)
    options = ("--insecure", "--simulation", "--host", "127.0.0.1", "--port", str(port))
    process = start(home, SUPERLINK, "flower-superlink", *options, folder=folder)
    try:
        wait_until_healthy(home, SUPERLINK, process, port)
        yield Runtime(home, process)
    finally:
        stop(place, [process])


def handover(folder: Path) -> Path:
    """Where the server app leaves the outcome."""
    return folder / "outcome.pickle"


def outcome_of(
    running: Runtime, run_id: str, count: Callable[[int, int], None] = lambda done, total: None
) -> Federated:
    """Wait for what the server app leaves: its result, or the error that ended it."""
    left = handover(running.home.folder)
    status, details = "", ""
    while not status.startswith("finished"):
        _wait_a_little(running, left, count)
        if left.exists():
            break
        status, details = run_status(running.home, run_id)
    if left.exists():
        outcome = pickle.loads(left.read_bytes())
        if isinstance(outcome, FedbnError):
            raise outcome
        assert isinstance(outcome, Federated)
        return outcome
    log = tail(app_log(running.home, run_id))
    raise FlowerRunError(f"the Flower run ended as {status}: {details}\n{log}")


def _wait_a_little(running: Runtime, left: Path, count: Callable[[int, int], None]) -> None:
    """Until the server app has left its outcome, or POLL_SECONDS."""
    until = time.monotonic() + POLL_SECONDS
    while time.monotonic() < until and not left.exists():
        require_running(running.home, SUPERLINK, running.superlink)
        if (told := count_replies(left)) is not None:
            count(*told)
        time.sleep(0.1)
