"""A message as a file, for sites without a network: a request of the server, or a site's reply.

    fedbn courier 1 request
    {"bytes": 5120, "certificate": "...", "signature": "..."}
    {"run": "...", "number": 1, "site": "north", ...}

The third part, JSON to the end of the file, is signed together with the kind and the certificate,
and nothing of it is read before the signature is checked. Its values are those of Flower's records;
bytes and arrays are base64. Whoever carries a file can read it; nothing in it is run.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, get_type_hints

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import MessageError, system_errors_as
from fedbn.federation.courier_keys import PublicKey, Signer, is_signed
from fedbn.wording import printable

FORMAT = "fedbn courier 1"
"""The name of the format: a reader takes no other."""

MAX_HEAD = 1 << 16
"""Bytes of the two lines before what is signed."""

Records = Mapping[str, Any]
"""The records of a message, as JSON has them (`server.courier_records`)."""


@dataclass(frozen=True)
class CourierRequest:
    """A request of the server.

    Attributes
    ----------
    run, number : id of the run, and the request in it, from 1; all sites that are asked at once
        have one number.
    site, key : for whom it is, by the name of its key and by the key's fingerprint.
    kind, records : what is asked.
    fedbn, settings : version of the server's fedbn, and the flat run config.
    until : end of the run, ISO 8601 with its zone.
    """

    run: str
    number: int
    site: str
    key: str
    kind: str
    fedbn: str
    until: str
    settings: Mapping[str, str | int | float | bool]
    records: Records

    @property
    def end(self) -> datetime:
        """The end of the run."""
        return datetime.fromisoformat(self.until)

    def to_body(self) -> bytes:
        """What is signed."""
        return _json_bytes(vars(self))


@dataclass(frozen=True)
class CourierReply:
    """A site's reply: records, or an error's code and reason as the site's door gave them. `run`,
    `number` and `site` are the request's, and `request` is the SHA-256 (hex) of its whole file, so
    that it answers this request and no other."""

    run: str
    number: int
    site: str
    request: str
    code: int = 0
    reason: str = ""
    records: Records | None = None

    def to_body(self) -> bytes:
        """What is signed."""
        return _json_bytes({k: v for k, v in vars(self).items() if k != "records" or v is not None})


@dataclass(frozen=True)
class Sealed:
    """A file as it was found, before anybody believes it: its path, "request" or "reply", what is
    signed, by whom as the file says, and the whole file with its SHA-256 (hex)."""

    source: str
    kind: str
    body: bytes
    signature: bytes
    certificate: str
    digest: str
    data: bytes

    def is_by(self, key: PublicKey) -> bool:
        """Whether the owner of the key wrote it like this."""
        data = _signed_bytes(self.kind, self.certificate, self.body)
        return is_signed(key, self.signature, data)


def seal(kind: str, body: bytes, signer: Signer) -> bytes:
    """The bytes of a file."""
    signature = signer.sign(_signed_bytes(kind, signer.certificate, body))
    head = _head(len(body), signer.certificate, signature)
    return b"\n".join((f"{FORMAT} {kind}".encode("ascii"), head, body))


def open_sealed(path: str | Path, kind: str) -> Sealed:
    """The parts of a file of the kind that is wanted; raises MessageError where it cannot be read,
    is no such file, is of another version, or is torn."""
    with system_errors_as(MessageError, f"cannot read {path}"):
        data = read_bounded(path)
    first, _, rest = data.partition(b"\n")
    _require_kind(first[:MAX_HEAD], kind, path)
    second, _, body = rest.partition(b"\n")
    try:
        head = _object(json_value(second[:MAX_HEAD], **_STRICT), _HEAD)
        signature = b64decode(head["signature"], validate=True)
        if second != _head(head["bytes"], head["certificate"], signature):
            raise ValueError("it must be as fedbn writes it")
    except ValueError as error:
        raise MessageError(f"{path} is incomplete or changed: its second line: {error}") from None
    if len(body) != head["bytes"]:
        raise MessageError(f"{path} is incomplete: it has {len(body)} of its {head['bytes']} bytes")
    digest = hashlib.sha256(data).hexdigest()
    return Sealed(str(path), kind, body, signature, head["certificate"], digest, data)


def request_in(sealed: Sealed) -> CourierRequest:
    """The request that a file holds, once its signature is checked; raises MessageError."""
    try:
        content = _object(json_value(sealed.body, **_STRICT), _kinds(CourierRequest))
        for key, value in content["settings"].items():
            if type(value) not in (str, int, float, bool):
                raise ValueError(f"setting {key!r} must be text, a number or a boolean")
        if datetime.fromisoformat(content["until"]).tzinfo is None:
            raise ValueError("'until' must have a time zone")
        return CourierRequest(**content)
    except ValueError as error:
        raise MessageError(f"{sealed.source} is no request: {error}") from None


def reply_in(sealed: Sealed) -> CourierReply:
    """The reply that a file holds, once its signature is checked; raises MessageError."""
    try:
        content = json_value(sealed.body, **_STRICT)
        kinds = _kinds(CourierReply)
        if not (isinstance(content, dict) and "records" in content):
            del kinds["records"]
        return CourierReply(**_object(content, kinds))
    except ValueError as error:
        raise MessageError(f"{sealed.source} is no reply: {error}") from None


def _kinds(group: Any) -> dict[str, type]:
    """Key -> type of the values of a dataclass in JSON."""
    hints = get_type_hints(group)
    kinds = {each.name: hints[each.name] for each in fields(group)}
    return {name: kind if isinstance(kind, type) else dict for name, kind in kinds.items()}


_HEAD: Mapping[str, type] = {"bytes": int, "certificate": str, "signature": str}


def _object(content: Any, kinds: Mapping[str, type]) -> dict[str, Any]:
    """An object with exactly these keys and types; raises ValueError."""
    if not isinstance(content, dict) or set(content) != set(kinds):
        raise ValueError(f"it must have the keys {', '.join(kinds)}")
    for key, kind in kinds.items():
        if type(content[key]) is not kind:
            raise ValueError(f"{key!r} must be {kind.__name__}")
    return content


def _require_kind(first: bytes, kind: str, path: str | Path) -> None:
    line = first.decode("utf-8", "replace")
    if line == f"{FORMAT} {kind}":
        return
    if line.startswith(f"{FORMAT} "):
        raise MessageError(f"{path} is a {printable(line[len(FORMAT) :])}, here goes a {kind}")
    if line.startswith("fedbn courier "):
        raise MessageError(
            f"{path} is of another version ({printable(line)}), this fedbn has {FORMAT}: install "
            "the same at both ends"
        )
    raise MessageError(f"{path} is no file of a courier run")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key must occur once")
    return found


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number")


_STRICT: Mapping[str, Callable[..., Any]] = {
    "object_pairs_hook": _once,
    "parse_constant": _no_constant,
}


def _json_bytes(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _head(size: int, certificate: str, signature: bytes) -> bytes:
    text = b64encode(signature).decode("ascii")
    return _json_bytes({"bytes": size, "certificate": certificate, "signature": text})


def _signed_bytes(kind: str, certificate: str, body: bytes) -> bytes:
    return f"{FORMAT} {kind}\n{certificate}\n".encode() + body
