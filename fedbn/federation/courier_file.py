"""A message as a file, for sites without a network: a request of the server, or a site's reply.

    fedbn courier 1 request
    {"bytes": 5120, "certificate": "...", "signature": "..."}
    {"run": "...", "number": 1, "site": "north", ...}

The third part, JSON to the end of the file, is signed together with the kind and the certificate.
Its values are those of Flower's records and of no other type; bytes and arrays are base64. Whoever
carries a file can read it. Nothing in it is run, and nothing of the third part is read before its
signature is checked.

A request says for whom it is (run, number, site, the site's key), what is asked under which
settings, and until when. A reply has the SHA-256 of the request's whole file, so that it answers
this request and no other.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from fedbn.bounded_file import json_value, read_bounded
from fedbn.errors import MessageError
from fedbn.federation.courier_keys import PublicKey, Signer, is_signed
from fedbn.wording import printable, reason_of

__all__ = [
    "CourierReply",
    "CourierRequest",
    "PlainArray",
    "Record",
    "Records",
    "Sealed",
    "open_sealed",
    "read_records",
    "records_json",
    "reply_in",
    "request_in",
    "seal",
]

FORMAT = "fedbn courier 1"
"""The name of the format: a reader takes no other."""

MAX_HEAD = 1 << 16
"""Bytes of the two lines before what is signed."""

Scalar = str | int | float | bool | bytes


@dataclass(frozen=True)
class PlainArray:
    """An array as Flower carries it: type, shape, the kind of its bytes, its bytes."""

    dtype: str
    shape: tuple[int, ...]
    stype: str
    data: bytes


@dataclass(frozen=True)
class Record:
    """A record of a message: scalars and lists of scalars by key, or else arrays by key."""

    values: Mapping[str, Scalar | Sequence[Scalar]] | None = None
    arrays: Mapping[str, PlainArray] | None = None


Records = Mapping[str, Record]


@dataclass(frozen=True)
class CourierRequest:
    """A request of the server.

    Attributes
    ----------
    run : id of the run.
    number : of the request in its run, from 1; all sites that are asked at once have one number.
    site, key : for whom it is, by the name of its key and by the key's fingerprint.
    kind : of the message.
    fedbn : version of the server's fedbn.
    until : end of the run, ISO 8601 with its zone.
    settings : the flat run config.
    records : what is asked.
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
        return _json_bytes({**_without_records(self), "records": records_json(self.records)})


@dataclass(frozen=True)
class CourierReply:
    """A site's reply: records, or an error's code and reason.

    Attributes
    ----------
    run, number, site : of the request.
    request : SHA-256 (hex) of the request's file.
    records : the answer; None where there is an error.
    code, reason : of an error, as the site's door gave it.
    """

    run: str
    number: int
    site: str
    request: str
    records: Records | None = None
    code: int = 0
    reason: str = ""

    def to_body(self) -> bytes:
        """What is signed."""
        content = _without_records(self)
        if self.records is not None:
            content["records"] = records_json(self.records)
        return _json_bytes(content)


@dataclass(frozen=True)
class Sealed:
    """A file as it was found, before anybody believes it.

    Attributes
    ----------
    source : its path.
    kind : "request" or "reply".
    body : what is signed.
    signature, certificate : of whom, as the file says.
    digest : SHA-256 (hex) of the whole file.
    data : the whole file.
    """

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
    """The parts of a file of the kind that is wanted.

    Raises
    ------
    MessageError : it cannot be read, is no such file, is of another version, or is torn.
    """
    try:
        data = read_bounded(path)
    except OSError as error:
        raise MessageError(f"cannot read {path}: {reason_of(error)}") from None
    first, _, rest = data.partition(b"\n")
    _require_kind(first[:MAX_HEAD], kind, path)
    second, _, body = rest.partition(b"\n")
    try:
        head = _object(json_value(second[:MAX_HEAD], **_STRICT), _HEAD)
        signature = b64decode(head["signature"], validate=True)
        if second != _head(head["bytes"], head["certificate"], signature):
            raise ValueError("it must be as fedbn writes it")
    except ValueError as error:
        raise MessageError(f"{path} is torn or changed: its second line: {error}") from None
    if len(body) != head["bytes"]:
        raise MessageError(f"{path} is torn: {len(body)} of its {head['bytes']} bytes are there")
    digest = hashlib.sha256(data).hexdigest()
    return Sealed(str(path), kind, body, signature, head["certificate"], digest, data)


def request_in(sealed: Sealed) -> CourierRequest:
    """The request that a file holds, once its signature is checked; raises MessageError."""
    try:
        content = _object(json_value(sealed.body, **_STRICT), _REQUEST)
        for key, value in content["settings"].items():
            if type(value) not in (str, int, float, bool):
                raise ValueError(f"setting {key!r} must be text, a number or a boolean")
        if datetime.fromisoformat(content["until"]).tzinfo is None:
            raise ValueError("'until' must have a time zone")
        return CourierRequest(**{**content, "records": read_records(content["records"])})
    except ValueError as error:
        raise MessageError(f"{sealed.source} is no request: {error}") from None


def reply_in(sealed: Sealed) -> CourierReply:
    """The reply that a file holds, once its signature is checked; raises MessageError."""
    try:
        content = json_value(sealed.body, **_STRICT)
        answered = isinstance(content, dict) and "records" in content
        content = _object(content, {**_REPLY, "records": dict} if answered else _REPLY)
        if answered:
            content["records"] = read_records(content["records"])
        return CourierReply(**content)
    except ValueError as error:
        raise MessageError(f"{sealed.source} is no reply: {error}") from None


def records_json(records: Records) -> dict[str, Any]:
    """Records, ready for JSON."""
    return {
        name: {"arrays": {key: _array_json(each) for key, each in record.arrays.items()}}
        if record.arrays is not None
        else {"values": {key: _value_json(each) for key, each in (record.values or {}).items()}}
        for name, record in records.items()
    }


def read_records(content: Mapping[str, Any]) -> Records:
    """The inverse of `records_json`; raises ValueError for anything else."""
    found = {}
    for name, record in content.items():
        if not isinstance(record, dict) or set(record) not in ({"arrays"}, {"values"}):
            raise ValueError(f"record {printable(name)!r} must have arrays or values")
        (kind,) = record
        if not isinstance(record[kind], dict):
            raise ValueError(f"record {printable(name)!r} must have keys")
        items = record[kind].items()
        if kind == "arrays":
            found[name] = Record(arrays={key: _array(each) for key, each in items})
        else:
            found[name] = Record(values={key: _value(each) for key, each in items})
    return found


def _array_json(array: PlainArray) -> dict[str, Any]:
    return {**asdict(array), "shape": list(array.shape), "data": _text(array.data)}


def _array(content: Any) -> PlainArray:
    found = _object(content, {"dtype": str, "shape": list, "stype": str, "data": str})
    shape = found["shape"]
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"a shape must be whole numbers, not {shape!r}")
    data = b64decode(found["data"], validate=True)
    return PlainArray(found["dtype"], tuple(shape), found["stype"], data)


def _value_json(value: Scalar | Sequence[Scalar]) -> Any:
    if isinstance(value, bytes):
        return {"base64": _text(value)}
    return [_value_json(each) for each in value] if isinstance(value, (list, tuple)) else value


def _value(content: Any) -> Any:
    """A scalar or a list of scalars of one type."""
    if not isinstance(content, list):
        return _scalar(content)
    values = [_scalar(each) for each in content]
    if len({type(each) for each in values}) > 1:
        raise ValueError("a list must have values of one type")
    return values


def _scalar(content: Any) -> Scalar:
    if isinstance(content, dict):
        return b64decode(_object(content, {"base64": str})["base64"], validate=True)
    if type(content) not in (str, int, float, bool):
        raise ValueError(f"a value must be a scalar, not {str(content)[:40]!r}")
    scalar: Scalar = content
    return scalar


_HEAD: Mapping[str, type] = {"bytes": int, "certificate": str, "signature": str}
_REQUEST: Mapping[str, type] = {
    "run": str,
    "number": int,
    "site": str,
    "key": str,
    "kind": str,
    "fedbn": str,
    "until": str,
    "settings": dict,
    "records": dict,
}
_REPLY: Mapping[str, type] = {
    "run": str,
    "number": int,
    "site": str,
    "request": str,
    "code": int,
    "reason": str,
}


def _object(content: Any, types: Mapping[str, type]) -> dict[str, Any]:
    """An object with exactly these keys and types; raises ValueError."""
    if not isinstance(content, dict) or set(content) != set(types):
        raise ValueError(f"it must have the keys {', '.join(types)}")
    for key, kind in types.items():
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


def _without_records(message: CourierRequest | CourierReply) -> dict[str, Any]:
    return {key: value for key, value in vars(message).items() if key != "records"}


def _json_bytes(content: Mapping[str, Any]) -> bytes:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def _head(size: int, certificate: str, signature: bytes) -> bytes:
    head = {"bytes": size, "certificate": certificate, "signature": _text(signature)}
    return _json_bytes(head)


def _signed_bytes(kind: str, certificate: str, body: bytes) -> bytes:
    return f"{FORMAT} {kind}\n{certificate}\n".encode() + body


def _text(data: bytes) -> str:
    return b64encode(data).decode("ascii")
