"""The server app of a simulation on Flower's engine: the outcome goes to who started it.

`fedbn simulate` wants the result itself, to compare it with what only the simulation knows: it
names a file in the environment, and the outcome is left there; how many replies there are, of how
many, is beside it. Without such a file the app is that of every run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from fedbn.errors import FedbnError
from fedbn.federation.run_config import from_run_config
from fedbn.whole_file import write_whole
from server import server_app
from server.awaited import PolledGrid
from server.server_app import Federated, federate

HANDOVER = "FEDBN_HANDOVER"
"""Environment variable: the file in which a simulation wants the outcome, as a pickle."""

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the federation that the run config describes, and hand its outcome over."""
    handover = os.environ.get(HANDOVER)
    if handover is None:
        server_app.main(grid, context)
        return
    server_app.show_lines()
    try:
        run = from_run_config(context.run_config)
        outcome: Federated | FedbnError = federate(CountedGrid(grid, Path(handover)), run)
    except FedbnError as error:
        outcome = error
    write_whole(handover, pickle.dumps(outcome))
    if isinstance(outcome, FedbnError):
        raise outcome


class CountedGrid(PolledGrid):
    """A grid that writes how many replies there are, of how many, beside the handover."""

    def __init__(self, grid: Grid, handover: Path) -> None:
        super().__init__(grid)
        self._file = _count_file(handover)

    def watch(self, awaited: Sequence[int], total: int, seconds: float) -> None:
        """Write it."""
        with suppress(OSError):  # nobody's result depends on it
            self._file.write_text(f"{total - len(awaited)} {total}")


def count_replies(handover: Path) -> tuple[int, int] | None:
    """(replies, requests) of the last request so far; None while there was none."""
    try:
        done, total = _count_file(handover).read_text().split()
        return int(done), int(total)
    except (OSError, ValueError):
        return None


def _count_file(handover: Path) -> Path:
    return handover.with_name(f"{handover.name}.answered")
