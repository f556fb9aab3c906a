"""The folder of a run by courier: requests that go out, replies that are taken, what is kept."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from flwr.app import Error, Message

import fedbn
from fedbn.errors import ConfigError, MessageError, ResultsError, system_errors_as
from fedbn.federation.courier_file import (
    CourierReply,
    CourierRequest,
    Sealed,
    open_sealed,
    reply_in,
    seal,
)
from fedbn.federation.courier_keys import (
    Signer,
    fingerprint,
    public_key,
    public_line,
    server_signer,
)
from fedbn.federation.courier_run import (
    ANSWERED,
    AWAITED,
    FILE,
    TOLD,
    WITHOUT,
    Asked,
    CourierRun,
    question_of,
    read_run,
)
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.locked_file import open_locked
from fedbn.whole_file import write_whole
from fedbn.wording import reason_of
from server.courier_records import flower_records, plain_records
from server.handshake import REPORT

FIRST_NODE = 2
"""Sites are numbered from here in the order of their names, as nodes of a simulation are."""

ONE_WAY = (REPORT,)
"""Kinds of messages that a site is only told: nobody waits for the receipt."""


class CourierFolder:
    """The files of a run, at the server; every change of `run`, what is asked, is on disk before
    the method ends."""

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
        write_whole(self.path / FILE, run.to_text().encode("utf-8"), mode=0o600)
        self.run = run

    def ask(self, messages: Sequence[tuple[str, Message]]) -> None:
        """Write the requests to sites that have not been asked this; all get one number."""
        number, run = 1 + max((each.number for each in self.run.asked), default=0), self.run
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
            write_whole(self.request_file(asked), data, mode=0o600)
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
        return Message(flower_records(reply.records, asked.name), reply_to=message)

    def take(self, files: Iterable[Path]) -> list[Asked]:
        """Take replies; returns the questions that they answer. All are looked at before the first
        is taken; a file that was taken before is passed over.

        Raises MessageError: a file is torn or changed, signed by another key, or answers nothing
        that this run has asked and still waits for; ResultsError: one cannot be kept.
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
            write_whole(self._kept(asked), sealed.data, mode=0o600)
            self.keep(self.run.settle(asked, ANSWERED, sealed.digest))
            self._put_away(asked)
        return [asked for asked, _ in found.values()]

    def go_without(self, sites: Iterable[str]) -> None:
        """Wait no longer for what sites are asked now; raises ConfigError if they are not."""
        self.give_up([each for site in sites for each in self.run.awaited_from(site)])

    def give_up(self, questions: Iterable[Asked]) -> None:
        """Wait no longer for these."""
        for asked in questions:
            self.keep(self.run.settle(asked, WITHOUT))
            self._put_away(asked)

    def finish(self, results: Path) -> None:
        """Say where the results are."""
        self.keep(replace(self.run, results=str(results)))

    def waiting_files(self) -> list[Path]:
        """The files in the folder of replies."""
        folder = self.path / "replies"
        with system_errors_as(ResultsError, f"cannot read {folder}"):
            return sorted(each for each in folder.iterdir() if not each.name.startswith("."))

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
        flower_records(reply.records or {}, sealed.source)
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


def new_run(run: Experiment, run_id: int, keys: Path, end: datetime) -> CourierRun:
    """The run of this id of the sites that the setting `couriers` names; `keys` is the folder with
    every NAME.pub, `end` has its zone.

    Raises ConfigError: there is no such site, one is named twice, or a key is not there or not its
    own.
    """
    sites = sorted(run.couriers.names)
    for site in sites:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", site):
            raise ConfigError(f"a courier's name must be that of its key, not {site!r}")
    if not sites or len(set(sites)) < len(sites):
        raise ConfigError('the run must name its sites, each once: couriers = ["north", "east"]')
    lines = {site: public_line(keys / f"{site}.pub") for site in sites}
    if len({line.split()[1] for line in lines.values()}) < len(sites):
        raise ConfigError("every courier must have a key of its own")
    return CourierRun(
        run=str(run_id),
        fedbn=fedbn.__version__,
        until=end.isoformat(timespec="seconds"),
        masks=secrets.token_hex(16),
        settings=to_run_config(run),
        sites=lines,
        keys=str(keys.absolute()),
    )


def begin_folder(path: Path, run: CourierRun) -> None:
    """Make the folder of a run; raises ConfigError if there is one, ResultsError."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} must be a new folder or an empty one")
    server_signer(Path(run.keys))
    with system_errors_as(ResultsError, f"cannot make {path}"):
        for name in ("requests", "replies", "kept"):
            (path / name).mkdir(parents=True)
    write_whole(path / FILE, run.to_text().encode("utf-8"), mode=0o600)


@contextmanager
def open_folder(path: Path) -> Iterator[CourierFolder]:
    """The folder of a run, which no other process goes on with meanwhile.

    Raises ConfigError: there is none, another process goes on with it, or the server's key is not
    there; ResultsError, MessageError: as `read_run`.
    """
    read_run(path, fedbn.__version__)  # before a file is made in what is no such folder
    with ExitStack() as stack:
        try:
            stack.enter_context(open_locked(path / "lock", wait=False))
        except BlockingIOError:
            raise ConfigError(f"another process goes on with {path} just now") from None
        except OSError as error:
            raise ResultsError(f"cannot write in {path}: {reason_of(error)}") from None
        run = read_run(path, fedbn.__version__)
        yield CourierFolder(path, run, server_signer(Path(run.keys)))
