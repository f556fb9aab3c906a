"""Waiting for replies: grids that say who is awaited, and that outlive an unreadable reply."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

import httpx
from flwr.app import Error, Message
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from fedbn.wording import printable
from server.own_grid import OwnGrid
from server.replies import LOG

POLL_SECONDS, LONGEST_POLL = 0.5, 3.0
"""How often is looked: at first, and after a while."""

REMIND_SECONDS = 300.0
"""After so many seconds the log says anew who is awaited."""

SHOWN = 20
"""Names in a line of the log."""


class PolledGrid(OwnGrid):
    """A grid that looks for replies itself."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def get_node_ids(self) -> Iterable[int]:
        """Those of the grid."""
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
        sent = list(messages)
        pushed = zip(self.push_messages(sent), sent, strict=False)
        waiting = {key: message for key, message in pushed if key}
        total, replies = len(waiting), list[Message]()
        began, pause = time.monotonic(), POLL_SECONDS
        while waiting and (timeout is None or time.monotonic() - began < timeout):
            found = self.look(waiting)
            replies += found
            for reply in found:
                waiting.pop(reply.metadata.reply_to_message_id, None)
            awaited = [message.metadata.dst_node_id for message in waiting.values()]
            self.watch(awaited, total, time.monotonic() - began)
            if waiting:
                time.sleep(pause)
                pause = min(LONGEST_POLL, pause * 1.1)
        return replies

    def look(self, waiting: Mapping[str, Message]) -> list[Message]:
        """The replies that are there; `waiting` has the requests by their ids."""
        return list(self.pull_messages(list(waiting)))

    def watch(self, awaited: Sequence[int], total: int, seconds: float) -> None:
        """Called whenever it has looked, with the ids of the nodes without a reply, how many were
        asked, and the seconds since."""


class WatchedGrid(PolledGrid):
    """A grid whose log says every REMIND_SECONDS who is awaited; `names`: node id -> client name,
    as far as they are known.

    Each reply is pulled by itself: Flower's reader of messages raises an error at one that it
    cannot read, which ended the run. Such a reply becomes that of a site that failed.
    """

    def __init__(self, grid: Grid) -> None:
        super().__init__(grid)
        self.names: Mapping[int, str] = {}
        self._periods = 0

    def look(self, waiting: Mapping[str, Message]) -> list[Message]:
        """The replies that are there, one after the other."""
        return [reply for key, request in waiting.items() for reply in self._pull(key, request)]

    def watch(self, awaited: Sequence[int], total: int, seconds: float) -> None:
        """Say it, if it is time."""
        before, self._periods = self._periods, int(seconds // REMIND_SECONDS)
        if not awaited or self._periods in (0, before):
            return
        told = sorted(self.names.get(node, f"node {node}") for node in awaited)
        more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        LOG.info(
            "after %.0f minutes %d of %d have answered; still waiting for %s%s",
            seconds / 60,
            total - len(awaited),
            total,
            ", ".join(told[:SHOWN]),
            more,
        )

    def _pull(self, message_id: str, request: Message) -> list[Message]:
        try:
            return list(self._grid.pull_messages([message_id]))
        except (OSError, httpx.HTTPError):
            raise  # the SuperLink is not there
        except Exception as error:  # whatever Flower's reader runs into
            words = printable(f"the reply cannot be read: {error!r}")
            return [Message(Error(ErrorCode.MESSAGE_UNAVAILABLE, words), reply_to=request)]
