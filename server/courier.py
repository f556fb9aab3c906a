"""A grid whose messages are files that people carry, for sites without a network.

The rounds of the server do not know: `CourierGrid` gives them the replies that have come, and where
one is missing it writes the request and ends the round by `AwaitedError`. The run goes on by
beginning anew (`fedbn.federation.courier_run`): what was answered is answered from what is kept,
and a round that was finished comes from the checkpoint. So no message depends on anything but the
settings, their seed, and the kept replies.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from flwr.app import Error, Message, RecordDict
from flwr.serverapp import Grid

import fedbn
from fedbn.errors import ConfigError, MessageError, ResultsError
from fedbn.federation.courier_file import (
    CourierReply,
    CourierRequest,
    Sealed,
    open_sealed,
    reply_in,
    seal,
)
from fedbn.federation.courier_keys import Signer, fingerprint, public_key, server_signer
from fedbn.federation.courier_run import (
    ANSWERED,
    AWAITED,
    TOLD,
    WITHOUT,
    Asked,
    CourierRun,
    question_of,
    read_run,
)
from fedbn.locked_file import lock
from fedbn.whole_file import replace_file
from fedbn.wording import reason_of
from server.courier_records import flower_records, plain_records
from server.handshake import REPORT

__all__ = [
    "FILE",
    "AwaitedError",
    "CourierFolder",
    "CourierGrid",
    "RoundDoneError",
    "begin_folder",
    "open_folder",
]

FILE = "courier.json"
"""The run, in its folder."""

FIRST_NODE = 2
"""Sites are numbered from here in the order of their names, as nodes of a simulation are."""

ONE_WAY = (REPORT,)
"""Kinds of messages that a site is only told: nobody waits for the receipt."""


class AwaitedError(Exception):
    """The run cannot go on before more replies have come."""


class RoundDoneError(Exception):
    """A round was finished in this process: what comes next is asked from the checkpoint."""


class CourierFolder:
    """The files of a run, at the server.

    Attributes
    ----------
    path : the folder.
    run : what is asked; every change is on disk before the method ends.
    """

    def __init__(self, path: Path, run: CourierRun, signer: Signer) -> None:
        self.path = path
        self.run = run
        self._signer = signer

    @property
    def nodes(self) -> Mapping[int, str]:
        """Node id -> site."""
        return dict(enumerate(sorted(self.run.sites), start=FIRST_NODE))

    def keep(self, run: CourierRun) -> None:
        """Write the run; raises ResultsError."""
        _write(self.path / FILE, run.to_text().encode("utf-8"))
        self.run = run

    def ask(self, messages: Sequence[tuple[str, Message]]) -> None:
        """Write the requests to sites that have not been asked this; all get one number."""
        number, run = self.run.next_number(), self.run
        for site, message in messages:
            records, kind = plain_records(message.content), message.metadata.message_type
            question = question_of(kind, records)
            if run.find(site, question) is not None:
                continue
            request = CourierRequest(
                run=run.run,
                number=number,
                site=site,
                key=fingerprint(public_key(run.sites[site])),
                kind=kind,
                fedbn=run.fedbn,
                until=run.until,
                settings=run.settings,
                records=records,
            )
            data = seal("request", request.to_body(), self._signer)
            state = TOLD if kind in ONE_WAY else AWAITED
            digest = hashlib.sha256(data).hexdigest()
            asked = Asked(number, site, kind, question, digest, state=state)
            _write(self.request_file(asked), data)
            run = run.ask(asked)
        if run != self.run:
            self.keep(run)

    def request_file(self, asked: Asked) -> Path:
        """Where a request is, as long as it is awaited."""
        return self.path / "requests" / f"{asked.name}.request.fedbn"

    def known(self, site: str, message: Message) -> Asked | None:
        """The question that a message to a site is, if it was asked."""
        records, kind = plain_records(message.content), message.metadata.message_type
        return self.run.find(site, question_of(kind, records))

    def reply_to(self, message: Message, asked: Asked) -> Message:
        """The kept reply to a message, as Flower would bring it."""
        reply = self._read(open_sealed(self._kept(asked), "reply"))
        if reply.records is None:
            return Message(Error(reply.code, reply.reason), reply_to=message)
        return Message(flower_records(reply.records), reply_to=message)

    def take(self, files: Iterable[Path]) -> list[Asked]:
        """Take replies; returns the questions that they answer.

        All are looked at before the first is taken. A file that was taken before is passed over.

        Raises
        ------
        MessageError : a file is torn or changed, signed by another key, or answers nothing that
            this run has asked and still waits for.
        ResultsError : one cannot be kept.
        """
        found: dict[str, tuple[Asked, Sealed]] = {}
        for file in files:
            sealed = open_sealed(file, "reply")
            asked = self._question(sealed, self._read(sealed))
            if asked.state in (AWAITED, TOLD) and asked.name not in found:
                found[asked.name] = asked, sealed
            elif asked.name in found and found[asked.name][1].digest != sealed.digest:
                raise MessageError(
                    f"{file} and {found[asked.name][1].source} are two replies of {asked.site} to "
                    f"one request: take one of them away"
                )
        for asked, sealed in found.values():
            _write(self._kept(asked), sealed.data)
            self.keep(self.run.settle(asked, ANSWERED, sealed.digest))
            self._put_away(asked)
        return [asked for asked, _ in found.values()]

    def go_without(self, sites: Iterable[str]) -> None:
        """Wait no longer for what sites are asked now; raises ConfigError if they are not."""
        before, run = self.run.awaited, self.run
        for site in sites:
            run = run.give_up(site)
        self.keep(run)
        for asked in before:
            if asked not in run.awaited:
                self._put_away(asked)

    def finish(self, results: Path) -> None:
        """Say where the results are."""
        self.keep(replace(self.run, results=str(results)))

    def waiting_files(self) -> list[Path]:
        """The files in the folder of replies."""
        folder = self.path / "replies"
        try:
            return sorted(each for each in folder.iterdir() if not each.name.startswith("."))
        except OSError as error:
            raise ResultsError(f"cannot read {folder}: {reason_of(error)}") from None

    def _read(self, sealed: Sealed) -> CourierReply:
        """The reply of a file that one of the sites has signed; raises MessageError."""
        keys = self.run.sites.items()
        owner = next((site for site, line in keys if sealed.is_by(public_key(line))), None)
        if owner is None:
            raise MessageError(
                f"{sealed.source} is not as a site of this run signed it: it was changed, or the "
                "key is another one"
            )
        reply = reply_in(sealed)
        if reply.site != owner:
            raise MessageError(f"{sealed.source} says {reply.site!r}, but {owner} signed it")
        return reply

    def _question(self, sealed: Sealed, reply: CourierReply) -> Asked:
        """The question that a reply answers; raises MessageError."""
        if reply.run != self.run.run:
            raise MessageError(f"{sealed.source} is of run {reply.run}, this is run {self.run.run}")
        asked = self.run.request_to(reply.site, reply.number)
        if asked is None or asked.request != reply.request:
            raise MessageError(
                f"{sealed.source} answers another request {reply.number} than this run has sent to "
                f"{reply.site}"
            )
        if asked.state == WITHOUT:
            raise MessageError(
                f"{sealed.source} came too late: the run went on without {reply.site}'s reply to "
                f"request {reply.number}"
            )
        if asked.state == ANSWERED and asked.reply != sealed.digest:
            raise MessageError(
                f"{sealed.source} is a second reply of {reply.site} to request {reply.number}: the "
                "first counts"
            )
        return asked

    def _kept(self, asked: Asked) -> Path:
        return self.path / "kept" / f"{asked.name}.reply.fedbn"

    def _put_away(self, asked: Asked) -> None:
        with suppress(OSError):
            self.request_file(asked).unlink()


class CourierGrid(Grid):
    """A grid whose nodes are sites that people carry files to.

    Parameters
    ----------
    folder : of the run.
    checkpoint : the run's, if it keeps one. What a run asks after a round that it has just finished
        it asks from the checkpoint, so that it asks the same whenever it goes on.
    """

    def __init__(self, folder: CourierFolder, checkpoint: Path | None = None) -> None:
        self._folder = folder
        self._checkpoint = checkpoint
        self._began = _stamp(checkpoint)
        self._sent: dict[str, Message] = {}

    def get_node_ids(self) -> Iterable[int]:
        """A node for every site: nobody knows who is there."""
        return list(self._folder.nodes)

    def set_run(self, run: Any) -> None:
        """Nothing to set."""

    @property
    def run(self) -> Any:
        """There is no run of Flower's runtime."""
        raise NotImplementedError("a run by courier is none of Flower's runtime")

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """A message from the server."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

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
            waits = asked.state != WITHOUT and asked.kind not in ONE_WAY
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

    def _known(self, message: Message) -> Asked | None:
        site = self._folder.nodes[message.metadata.dst_node_id]
        return self._folder.known(site, message)


def begin_folder(path: Path, run: CourierRun) -> None:
    """Make the folder of a run; raises ConfigError if there is one, ResultsError."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} must be a new folder or an empty one")
    server_signer(Path(run.keys))
    try:
        for name in ("requests", "replies", "kept"):
            (path / name).mkdir(parents=True)
    except OSError as error:
        raise ResultsError(f"cannot make {path}: {reason_of(error)}") from None
    _write(path / FILE, run.to_text().encode("utf-8"))


@contextmanager
def open_folder(path: Path) -> Iterator[CourierFolder]:
    """The folder of a run, which no other process goes on with meanwhile.

    Raises
    ------
    ConfigError : there is none, another process goes on with it, or the server's key is not there.
    ResultsError, MessageError : as `read_run`.
    """
    read_run(path / FILE, fedbn.__version__)  # before a file is made in what is no such folder
    try:
        handle = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise ResultsError(f"cannot write in {path}: {reason_of(error)}") from None
    try:
        _lock(handle, path)
        run = read_run(path / FILE, fedbn.__version__)
        yield CourierFolder(path, run, server_signer(Path(run.keys)))
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> None:
    try:
        lock(handle, wait=False)
    except BlockingIOError:
        raise ConfigError(f"another process goes on with {path} just now") from None


def _stamp(file: Path | None) -> tuple[int, int] | None:
    """Which version of a file this is; None where there is none."""
    try:
        status = None if file is None else file.stat()
    except OSError:
        return None
    return None if status is None else (status.st_ino, status.st_mtime_ns)


def _write(file: Path, data: bytes) -> None:
    try:
        replace_file(file, data, mode=0o600)
    except OSError as error:
        raise ResultsError(f"cannot write {file}: {reason_of(error)}") from None
