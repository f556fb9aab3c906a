"""`fedbn site answer`: a request that came as a file, answered by the installed client app.

The file is believed only after its signature: it must be by the server that the site's file names,
for this site's key, of a run that has not ended. Then it goes through the same door as every other
message (`clients.door`), and the reply is signed.

What Flower would keep of a run at the site is kept beside the table, readable by its owner alone:

    NAME.csv.courier/RUN/kept.json          settings, requests by their hashes, and the app's state:
                                            structures and the private key of secure sums
    NAME.csv.courier/RUN/0001.reply.fedbn   what was answered: a request that comes again gets it
    NAME.csv.courier/RUN.over               a run that has ended or was forgotten

A run's folder is deleted when the run has ended (its requests say when), by the next answer to any
run, or at once by `fedbn site forget`. Its id stays, so that no old request is answered anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flwr.app import Context, Message
from flwr.supercore.task_identity import TaskIdentity

import fedbn
from clients.client_app import app
from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import ConfigError, MessageError, ResultsError, VersionError, system_errors_as
from fedbn.federation.courier_file import (
    CourierReply,
    CourierRequest,
    Records,
    Sealed,
    open_sealed,
    request_in,
    seal,
)
from fedbn.federation.courier_keys import Authority, Signer, fingerprint, site_signer
from fedbn.federation.site_file import CourierKeys, read_site_file
from fedbn.locked_file import lock
from fedbn.whole_file import write_whole
from fedbn.wording import printable
from server.courier_records import flower_records, plain_records
from simulations.deployment.executor import site_config

KEPT = "kept.json"

SERVER_NODE, OWN_NODE = 1, 2
"""Ids of Flower's, which mean nothing here."""


@dataclass(frozen=True)
class Answered:
    """What became of a request.

    Attributes
    ----------
    request : as it was signed.
    data : the reply's file.
    word : empty, or the notice that the site gives in place of an answer.
    before : whether it was answered before, and this is the kept reply.
    """

    request: CourierRequest
    data: bytes
    word: str
    before: bool


@dataclass(frozen=True)
class Kept:
    """What a site keeps of a run: its end and settings, number -> SHA-256 of the requests that it
    has answered, and the app's state."""

    until: str
    settings: Mapping[str, Any]
    requests: Mapping[str, str] = field(default_factory=dict)
    state: Records = field(default_factory=dict)


def answer(file: Path, site: Path, now: datetime | None = None) -> Answered:
    """Answer a request.

    An answer is kept before it is returned. A notice (a refusal, or "failed") is not: once its
    reason is mended, the request may be answered.

    Parameters
    ----------
    file : the request.
    site : the site's file, with `[courier]`.
    now : the time; by default that of the clock.

    Raises
    ------
    ConfigError : the site's file is wrong, or has no `[courier]`, or a key cannot be read.
    MessageError : the request is torn, changed, of another server, for another site, of a run that
        has ended, or another one than was answered under its number.
    VersionError : the server has another version of fedbn.
    ResultsError : what must be kept cannot be written.
    """
    now = now or datetime.now(UTC)
    config, keys = site_config(site), _keys_of(site)
    signer = site_signer(keys.key)
    sealed = open_sealed(file, "request")
    request = _believe(sealed, keys, signer, now)
    with _hold(_folder(config)) as folder:
        _delete_ended(folder, now)
        kept = _kept_of(folder, sealed, request)
        before = kept.requests.get(str(request.number))
        if before == sealed.digest:
            return Answered(request, _read(_reply_file(folder, request)), "", before=True)
        if before is not None:
            raise MessageError(
                f"{file} is another request {request.number} of run {request.run} than the one "
                "that this site has answered"
            )
        if kept.requests and request.number < max(map(int, kept.requests)):
            raise MessageError(
                f"{file} comes too late: this site has answered a later request of that run"
            )
        return _ask_app(sealed, request, config, kept, folder, signer)


def forget(site: Path, run: str) -> bool:
    """Delete what is kept of a run, for ever; returns whether there was something.

    Raises ConfigError if there can be no such run, ResultsError if it cannot be deleted.
    """
    if not _is_run(run):
        raise ConfigError(f"a run's id must be a number, not {run!r}")
    with _hold(_folder(site_config(site))) as folder:
        known = (folder / run).exists()
        _delete(folder / run)
    return known


def _believe(sealed: Sealed, keys: CourierKeys, signer: Signer, now: datetime) -> CourierRequest:
    """The request, if it is by this site's server, for this site, and of now."""
    key = Authority(keys.authority, keys.server).server_key(sealed.certificate, now)
    if not sealed.is_by(key):
        raise MessageError(f"{sealed.source} is not as {keys.server} signed it: it was changed")
    request = request_in(sealed)
    if request.key != fingerprint(signer.key.public_key()):
        raise MessageError(
            f"{sealed.source} is for site {printable(request.site)!r}, whose key is not {keys.key}"
        )
    if request.fedbn != fedbn.__version__:
        raise VersionError(
            f"{sealed.source} is of fedbn {printable(request.fedbn, 40)}, this site has "
            f"{fedbn.__version__}; install the same"
        )
    if not _is_run(request.run) or request.number < 1:
        raise MessageError(f"{sealed.source}: a run and a request must have numbers")
    if now > request.end:
        raise MessageError(f"{sealed.source}: run {request.run} ended on {request.until[:10]}")
    return request


def _kept_of(folder: Path, sealed: Sealed, request: CourierRequest) -> Kept:
    """What is kept of the request's run; raises MessageError if the run is not what it was."""
    if (folder / f"{request.run}.over").exists():
        raise MessageError(f"{sealed.source}: run {request.run} is over and forgotten at this site")
    place = folder / request.run / KEPT
    if not place.exists():
        return Kept(request.until, request.settings)
    kept = _read_kept(place)
    if kept.until != request.until:
        raise MessageError(f"{sealed.source}: run {request.run} had its end on {kept.until[:10]}")
    for name in sorted({*kept.settings, *request.settings}):
        if kept.settings.get(name) != request.settings.get(name):
            raise MessageError(
                f"{sealed.source}: run {request.run} had another {printable(name)} in its first "
                "request"
            )
    return kept


def _read_kept(place: Path) -> Kept:
    try:
        content = json_value(_read(place))
        flower_records(content["state"], str(place))
        return Kept(**content)
    except (MessageError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ResultsError(f"{place} is not as it was written: {error}") from None


def _ask_app(
    sealed: Sealed,
    request: CourierRequest,
    config: Mapping[str, str],
    kept: Kept,
    folder: Path,
    signer: Signer,
) -> Answered:
    """The installed app's reply, signed; an answer is kept with the app's state."""
    TaskIdentity.task_id, TaskIdentity.run_id = 1, int(request.run)
    TaskIdentity.node_id = SERVER_NODE
    state = flower_records(kept.state, KEPT)
    context = Context(int(request.run), OWN_NODE, dict(config), state, dict(request.settings))
    message = Message(flower_records(request.records, sealed.source), OWN_NODE, request.kind)
    reply = app(message, context)
    place = (request.run, request.number, request.site, sealed.digest)
    run, requests = folder / request.run, dict(kept.requests)
    _make(run)
    if reply.has_error():
        word = reply.error.reason or ""
        said = CourierReply(*place, code=reply.error.code, reason=word)
    else:
        word, said = "", CourierReply(*place, records=plain_records(reply.content))
        requests[str(request.number)] = sealed.digest
    data = seal("reply", said.to_body(), signer)
    if not word:
        write_whole(_reply_file(folder, request), data, mode=0o600)
    _keep(replace(kept, requests=requests, state=plain_records(context.state)), run)
    return Answered(request, data, word, before=False)


def _keep(kept: Kept, run: Path) -> None:
    write_whole(run / KEPT, json.dumps(vars(kept), ensure_ascii=False).encode("utf-8"), mode=0o600)


def _keys_of(site: Path) -> CourierKeys:
    keys = read_site_file(site).courier
    if keys is None:
        raise ConfigError(f"{site} must name its server: [courier] with key, authority and server")
    return keys


def _folder(config: Mapping[str, str]) -> Path:
    """Where a site keeps its courier runs: beside its table."""
    table = Path(config["data-path"])
    return table.with_name(f"{table.name}.courier")


@contextmanager
def _hold(folder: Path) -> Iterator[Path]:
    """The folder, which no other process answers from meanwhile."""
    _make(folder)
    with system_errors_as(ResultsError, f"cannot write in {folder}"):
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(handle)
        yield folder
    finally:
        os.close(handle)


def _delete_ended(folder: Path, now: datetime) -> None:
    """Delete what is kept of runs that have ended."""
    for place in sorted(folder.glob(f"*/{KEPT}")):
        if now > datetime.fromisoformat(_read_kept(place).until):
            _delete(place.parent)


def _delete(run: Path) -> None:
    """Delete a run's folder; its id stays."""
    write_whole(run.with_name(f"{run.name}.over"), b"", mode=0o600)
    with system_errors_as(ResultsError, f"cannot delete {run}"):
        if run.exists():
            shutil.rmtree(run)


def _is_run(run: str) -> bool:
    return re.fullmatch("[1-9][0-9]{0,18}", run) is not None


def _reply_file(folder: Path, request: CourierRequest) -> Path:
    return folder / request.run / f"{request.number:04}.reply.fedbn"


def _make(folder: Path) -> None:
    with system_errors_as(ResultsError, f"cannot make {folder}"):
        folder.mkdir(mode=0o700, exist_ok=True)


def _read(file: Path) -> bytes:
    with system_errors_as(ResultsError, f"cannot read {file}"):
        return read_bounded(file)
