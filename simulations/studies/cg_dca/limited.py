"""A peer in a process of its own, ended after a time: one slow case does not stop the study.

python -m simulations.studies.cg_dca.limited    (the child; nobody else needs to run it)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fedbn.arrays import Bools
from fedbn.data.dataset import Dataset
from fedbn.errors import SearchError
from fedbn.search.child_process import answer_of, serve
from simulations.studies.cg_dca.peers import max_min_hill_climbing, pc_stable

PEERS: Mapping[str, Callable[[Dataset], Bools]] = {
    "pc": pc_stable,
    "mmhc": max_min_hill_climbing,
}
CHILD = (sys.executable, "-m", "simulations.studies.cg_dca.limited")


@dataclass(frozen=True)
class PeerResult:
    """A peer's structure, bool [n, n], and its CPU seconds; neither where it came to no end.

    `status` is "complete", "more than N s", or how the process ended.
    """

    status: str
    adjacency: Bools | None = None
    seconds: float | None = None


def run_peer(
    name: str, dataset: Dataset, seconds: float | None, child: Sequence[str] = CHILD
) -> PeerResult:
    """What the peer finds within the seconds (wall clock, with the start of its process)."""
    began = time.monotonic()
    try:
        adjacency, took = answer_of(child, (name, dataset), seconds, tuple).result
    except SearchError as error:
        late = seconds is not None and time.monotonic() - began >= seconds
        return PeerResult(f"more than {seconds:g} s" if late else str(error))
    return PeerResult("complete", adjacency, took)


def _time(task: tuple[str, Dataset]) -> tuple[Bools, float]:
    """The structure and the CPU seconds that it took, without those of the import."""
    name, dataset = task
    began = time.process_time()
    adjacency = PEERS[name](dataset)
    return adjacency, time.process_time() - began


if __name__ == "__main__":
    serve(_time)
