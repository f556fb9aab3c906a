"""Cases an hour on Ray clusters of one and two nodes, a node killed in the middle; many sites.

    python -m simulations.benchmarks.clusters sweep
    python -m simulations.benchmarks.clusters sites --counts 10 100 1000

Nodes are Ray's processes on this machine, one CPU each. `sweep` runs the same cases in one process,
on one node, on two, and on two of which one is killed; the hashes of all consensuses must agree.
`sites` runs Flower's engine on two nodes, and says what one more site takes in time and memory.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from fedbn.errors import ConfigError
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult
from simulations.flower.processes import ENVIRONMENT, descendants, free_ports, script
from simulations.ray_cluster import connect
from simulations.run import run_experiment
from simulations.study import Study
from simulations.study_cases import Tick
from simulations.sweeps.plan import read_plan
from simulations.sweeps.results import CASE, RunCase

STORE_BYTES = 100_000_000
"""Of a node's object store: rows and models are small."""

READY_SECONDS = 300.0

PLAN = """
network = "{network}"
clients = 5
[grid]
rows = [200, 500]
seed = {seeds}
"""


class Node:
    """A node of Ray, in a session of its own, so that it can be killed as a whole."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        command = [
            *(script("ray"), "start", "--block", "--num-cpus=1"),
            *(f"--object-store-memory={STORE_BYTES}", *arguments),
        ]  # fmt: skip
        self.log = folder / f"node-{len(list(folder.glob('node-*')))}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **ENVIRONMENT, "RAY_raylet_start_wait_time_s": "120"},
                start_new_session=True,
            )

    def kill(self) -> None:
        """End all of its processes at once, as a crash of the machine would."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def cluster(nodes: int) -> Iterator[tuple[str, list[Node]]]:
    """The address and the nodes, the head first; all are killed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    started: list[Node] = []
    try:
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        started.append(Node(folder, *head))
        _wait(address, 1)
        for _ in range(nodes - 1):
            started.append(Node(folder, f"--address={address}"))
        _wait(address, nodes)
        yield address, started
    finally:
        for node in reversed(started):
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(address: str, nodes: int) -> None:
    """Until so many nodes are alive; raises TimeoutError."""
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        with contextlib.suppress(ConfigError), connect(address) as ray:
            while time.monotonic() < until:
                if sum(node["Alive"] for node in ray.nodes()) >= nodes:
                    return
                time.sleep(0.2)
    raise TimeoutError(f"{nodes} nodes were not ready after {READY_SECONDS:.0f} s")


def run_sweep(
    plan: Path, folder: Path, address: str | None = None, victim: Node | None = None
) -> tuple[list[str], float]:
    """The hashes of all consensuses in the order of the plan, and seconds of wall clock.

    victim : a node that is killed as soon as a quarter of the cases has ended.
    """
    cases = read_plan(plan)
    study = Study(folder, ray_address=address)

    def tell(tick: Tick) -> None:
        if victim is not None and 4 * tick.done >= tick.total:
            victim.kill()

    began = time.monotonic()
    rows = study.collect([{CASE: case.digest} for case in cases], RunCase.of(cases), tell)
    return [row["consensus"] for row in rows], time.monotonic() - began


def measure_sweep(network: str, seeds: int) -> None:
    """Print cases an hour and whether the hashes agree; raises SystemExit where they do not."""
    folder = Path(tempfile.mkdtemp(prefix="fedbn-"))
    plan = folder / "plan.toml"
    plan.write_text(PLAN.format(network=network, seeds=list(range(1, seeds + 1))))
    found = {}
    print("| where | cases | seconds | cases an hour | hashes |\n|---|---|---|---|---|")
    places = (("one process", 0, False), ("one node", 1, False), ("two nodes", 2, False))
    for words, nodes, kill in (*places, ("two nodes, one killed", 2, True)):
        with contextlib.ExitStack() as stack:
            address, all_of = stack.enter_context(cluster(nodes)) if nodes else (None, [])
            victim = all_of[-1] if kill else None
            hashes, seconds = run_sweep(plan, folder / words, address, victim)
        found[words] = hashes
        same = "equal" if hashes == found["one process"] else "DIFFERENT"
        each = 3600 * len(hashes) / seconds
        print(f"| {words} | {len(hashes)} | {seconds:.1f} | {each:,.0f} | {same} |", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    if any(hashes != found["one process"] for hashes in found.values()):
        raise SystemExit("hashes differ")


class Memory(threading.Thread):
    """The largest memory that this process and its descendants held: PSS, which adds up."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest, self._ended = 0, threading.Event()

    def run(self) -> None:
        """Look every second."""
        while not self._ended.wait(1.0):
            self.largest = max(self.largest, sum(map(_pss, descendants(os.getpid()))))

    def end(self) -> float:
        """Stop looking; megabytes."""
        self._ended.set()
        self.join()
        return self.largest / 1e6


def _pss(pid: int) -> int:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0


def measure_sites(network: str, rows: int, counts: Sequence[int]) -> None:
    """Print wall seconds, CPU seconds of the fusion and memory of Flower's engine on two nodes."""
    print("| sites | seconds | fusion, CPU s | memory, MB | edges |\n|---|---|---|---|---|")
    for count in counts:
        settings = {"network": network, "clients": count, "rows": rows, "parameters": "none"}
        memory = Memory()
        memory.start()
        began = time.monotonic()
        with cluster(2) as (address, _):
            run = run_experiment(Experiment.of(**settings), ray_address=address)
        seconds, held = time.monotonic() - began, memory.end()
        edges = run.result.consensus.dag.n_edges if isinstance(run.result, FederationResult) else 0
        told = f"{seconds:.0f} | {run.seconds:.1f} | {held:,.0f} | {edges}"
        print(f"| {count:,} | {told} |", flush=True)


def main() -> None:
    """Parse arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("sweep", "sites"))
    parser.add_argument("--network", default="alarm")
    parser.add_argument("--seeds", type=int, default=8, help="sweep: two cases for each")
    parser.add_argument("--rows", type=int, default=1000, help="sites: rows of each")
    parser.add_argument("--counts", type=int, nargs="+", default=[10, 100])
    given = parser.parse_args()
    if given.what == "sweep":
        measure_sweep(given.network, given.seeds)
    else:
        measure_sites(given.network, given.rows, given.counts)


if __name__ == "__main__":
    main()
