"""How many nodes have answered a request, for a simulation that waits in another process."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from flwr.app import Message, RecordDict
from flwr.serverapp import Grid

POLL_SECONDS = 0.5


class CountedGrid(Grid):
    """A grid that writes how many replies there are, of how many, beside the handover.

    Parameters
    ----------
    grid : that of the run.
    handover : file of the outcome.
    """

    def __init__(self, grid: Grid, handover: Path) -> None:
        self._grid = grid
        self._file = _count_file(handover)

    def set_run(self, run: Any) -> None:
        """As the grid does."""
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """As the grid does."""
        return self._grid.run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """As the grid does."""
        return self._grid.create_message(content, message_type, dst_node_id, group_id, ttl)

    def get_node_ids(self) -> Iterable[int]:
        """As the grid does."""
        return self._grid.get_node_ids()

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """As the grid does."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """As the grid does."""
        return self._grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Push, then pull until all replies are there or the time is over."""
        waiting = set(self.push_messages(messages))
        total, replies = len(waiting), list[Message]()
        until = None if timeout is None else time.monotonic() + timeout
        while waiting and (until is None or time.monotonic() < until):
            found = list(self.pull_messages(waiting))
            replies += found
            waiting -= {reply.metadata.reply_to_message_id for reply in found}
            with suppress(OSError):  # nobody's result depends on it
                self._file.write_text(f"{len(replies)} {total}")
            if waiting:
                time.sleep(POLL_SECONDS)
        return replies


def count_replies(handover: Path) -> tuple[int, int] | None:
    """(replies, requests) of the last request so far; None while there was none."""
    try:
        done, total = _count_file(handover).read_text().split()
        return int(done), int(total)
    except (OSError, ValueError):
        return None


def _count_file(handover: Path) -> Path:
    return handover.with_name(f"{handover.name}.answered")
