"""Grids whose messages are files that people carry, for sites without a network.

The rounds of the server do not know: `CourierGrid` gives them the replies that have come, and where
one is missing it writes the request and ends the round by `AwaitedError`. The run goes on by
beginning anew (`fedbn.federation.courier_run`): what was answered is answered from what is kept,
and a round that was finished comes from the checkpoint. So no message depends on anything but the
settings, their seed, and the kept replies. `JoinedGrid` has Flower's nodes and such sites in one
run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flwr.app import Message
from flwr.serverapp import Grid

from fedbn.errors import ConfigError, MessageError
from fedbn.federation.courier_run import ANSWERED, AWAITED, Asked
from fedbn.federation.settings import Experiment
from server.awaited import PolledGrid
from server.courier_folder import ONE_WAY, CourierFolder, begin_folder, new_run, open_folder
from server.own_grid import OwnGrid
from server.replies import LOG

LIVE_DAYS = 90
"""How long sites keep a run that has nodes, too."""


class AwaitedError(Exception):
    """The run cannot go on before more replies have come."""


class RoundDoneError(Exception):
    """A round was finished in this process: what comes next is asked from the checkpoint."""


class CourierGrid(OwnGrid):
    """A grid whose nodes are sites that people carry files to, in the folder of the run. What a run
    asks after a round that it has just finished it asks from its checkpoint, if it keeps one, so
    that it asks the same whenever it goes on."""

    def __init__(self, folder: CourierFolder, checkpoint: Path | None = None) -> None:
        self._folder = folder
        self._checkpoint = checkpoint
        self._began = _stamp(checkpoint)
        self._sent: dict[str, Message] = {}

    def get_node_ids(self) -> Iterable[int]:
        """A node for every site: nobody knows who is there."""
        return list(self._folder.nodes)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Write the requests that are not there yet; an id is empty where nobody waits."""
        nodes, sent = self._folder.nodes, list(messages)
        self._folder.ask([(nodes[each.metadata.dst_node_id], each) for each in sent])
        ids = []
        for message in sent:
            asked = self._known(message)
            assert asked is not None
            message.metadata.__dict__["_message_id"] = asked.name  # Flower's SuperLink does so
            self._sent[asked.name] = message
            waits = asked.state in (AWAITED, ANSWERED) and asked.kind not in ONE_WAY
            ids.append(asked.name if waits else "")
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The kept replies to these messages."""
        replies = []
        for key in message_ids:
            message = self._sent[key]
            asked = self._known(message)
            if asked is not None and asked.state == ANSWERED:
                replies.append(self._folder.reply_to(message, asked))
        return replies

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """The kept replies; raises AwaitedError where one is missing, RoundDoneError as above."""
        sent = list(messages)
        if _stamp(self._checkpoint) != self._began and not all(map(self._known, sent)):
            raise RoundDoneError
        ids = [key for key in self.push_messages(sent) if key]
        replies = list(self.pull_messages(ids))
        if len(replies) < len(ids):
            raise AwaitedError
        return replies

    def give_up_others(self, messages: Iterable[Message]) -> None:
        """Wait no longer for anything but what these messages ask."""
        asked = [self._known(message) for message in messages]
        late = [each for each in self._folder.run.awaited if each not in asked]
        self._folder.give_up(late)

    def _known(self, message: Message) -> Asked | None:
        site = self._folder.nodes[message.metadata.dst_node_id]
        return self._folder.known(site, message)


class JoinedGrid(PolledGrid):
    """Flower's nodes (those of `grid`) and sites by courier in one run.

    Every look for replies takes the new files of the folder of replies; a wrong one is named in the
    log, once. What a site was asked before is late as soon as something else is asked.
    """

    def __init__(self, grid: Grid, folder: CourierFolder) -> None:
        super().__init__(grid)
        self._folder = folder
        self._couriers = CourierGrid(folder)
        self._seen: set[tuple[str, tuple[int, int] | None]] = set()
        self._by_file: set[str] = set()

    def get_node_ids(self) -> Iterable[int]:
        """The connected nodes, and all sites by courier."""
        return [*self._couriers.get_node_ids(), *self._grid.get_node_ids()]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Send to the nodes, and write the files of the others."""
        sent = list(messages)
        files = [each for each in sent if each.metadata.dst_node_id in self._folder.nodes]
        self._couriers.give_up_others(files)
        ids = list(self._couriers.push_messages(files))
        self._by_file.update(ids)
        for asked in self._folder.run.awaited:
            LOG.info("to be carried: %s", self._folder.request_file(asked))
        others = [each for each in sent if each.metadata.dst_node_id not in self._folder.nodes]
        pushed, written = iter(list(self._grid.push_messages(others))), iter(ids)
        return [
            next(written if each.metadata.dst_node_id in self._folder.nodes else pushed, "")
            for each in sent
        ]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies that are there, of both kinds."""
        keys = list(message_ids)
        by_file = [key for key in keys if key in self._by_file]
        others = [key for key in keys if key not in self._by_file]
        if by_file:
            self._take()
        found = list(self._couriers.pull_messages(by_file))
        return [*found, *(self._grid.pull_messages(others) if others else ())]

    def _take(self) -> None:
        for file in self._folder.waiting_files():
            seen = file.name, _stamp(file)
            if seen not in self._seen:
                self._seen.add(seen)
                try:
                    self._folder.take([file])
                except MessageError as error:
                    LOG.warning("refused: %s", error)


@contextmanager
def with_couriers(grid: Grid, run: Experiment, run_id: int) -> Iterator[Grid]:
    """The grid, joined by the sites that the setting `couriers` names, if it names some.

    Raises ConfigError: it is not said where their files and keys are, the folder is in use, or a
    key is not there; ResultsError: the folder cannot be written.
    """
    couriers = run.couriers
    if not couriers.names:
        yield grid
        return
    if couriers.folder is None or couriers.keys is None:
        raise ConfigError("couriers need a courier-dir for their files, and courier-keys")
    folder = Path(couriers.folder)
    end = datetime.now(UTC) + timedelta(days=LIVE_DAYS)
    begin_folder(folder, new_run(run, run_id, Path(couriers.keys), end))
    with open_folder(folder) as opened:
        yield JoinedGrid(grid, opened)


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """Which version of a file this is; None where there is none."""
    try:
        status = None if file is None else file.stat()
    except OSError:
        return None
    return None if status is None else (status.st_ino, status.st_mtime_ns)
