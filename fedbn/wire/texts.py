"""Frozen values as JSON text, written and read by the types of their fields.

A dataclass is an object with all of its fields, a named tuple and a tuple are lists, a mapping with
texts for keys is an object. Of numbers there are whole ones from 0 to 2^62 - 1, and finite
floating-point ones with the fewest digits that tell them. A text has one form: no spaces, sorted
keys, ASCII; whatever is not the text of a value is refused.
"""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from fedbn.bounded_file import json_value
from fedbn.errors import MessageError
from fedbn.wire.npy import MAX_BYTES

MAX_WHOLE = 1 << 62

T = TypeVar("T")
Reader = Callable[[Any], Any]


@dataclass(frozen=True)
class TextFormat(Generic[T]):
    """A kind of text.

    Attributes
    ----------
    name : in the words of a refusal.
    version : another one is refused; a text without any is of version 1.
    kind : the dataclass whose values it holds.
    """

    name: str
    version: int
    kind: type[T]

    def encode(self, value: T) -> str:
        """The text of a value."""
        return canonical({"version": self.version, **plain(value)})

    def decode(self, text: object, *, max_bytes: int = MAX_BYTES) -> T:
        """The value of a text that another party sent.

        Raises
        ------
        MessageError : it is longer than `max_bytes` characters, of another version, or no text of a
            value.
        """
        if not isinstance(text, str) or len(text) > max_bytes:
            raise MessageError(f"{self.name} must be a text of at most {max_bytes} characters")
        try:
            content = json_value(text)
        except ValueError:
            raise MessageError(f"{self.name} must be JSON, not {text!r:.60}") from None
        if not isinstance(content, dict):
            raise MessageError(f"{self.name} must be a JSON object, not {text!r:.60}")
        version = content.pop("version", 1)
        if version != self.version:
            raise MessageError(
                f"the version of {self.name} must be {self.version}, not {version!r:.20}: parties "
                "have different versions of fedbn"
            )
        value: T = reader_of(self.kind)(content)
        if self.encode(value) != text:
            raise MessageError(f"{self.name} must be in its canonical form, not {text!r:.60}")
        return value


def canonical(content: Any) -> str:
    """The one text of a plain value."""
    return json.dumps(content, separators=(",", ":"), sort_keys=True)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        whole = all(isinstance(each, int) for each in value)  # as most long ones are
        return list(value) if whole else [plain(each) for each in value]
    return value


def reader_of(kind: Any) -> Reader:
    """Reads plain values of a type; raises MessageError for any other, showing it."""
    return _reader_of(kind)


@cache
def _reader_of(kind: Any) -> Reader:
    if kind in _SINGLE:
        return _single(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        (other,) = (part for part in parts if part is not type(None))
        return _optional(reader_of(other))
    if kind == tuple[int, ...]:
        return _whole_numbers
    if origin is tuple and parts[-1] is ...:
        return _list_of(reader_of(parts[0]))
    if origin is tuple:
        return _exactly(tuple, parts)
    if origin is Mapping:
        return _mapping_of(reader_of(parts[1]))
    hints = get_type_hints(kind)
    if is_dataclass(kind):
        return _object(kind, {each.name: reader_of(hints[each.name]) for each in fields(kind)})
    return _exactly(kind._make, tuple(hints.values()))  # a named tuple


_SINGLE = {
    int: "a whole number from 0 to 2^62 - 1",
    float: "a finite floating-point number",
    bool: "true or false",
    str: "a text",
}


def _require(holds: bool, words: str, value: Any) -> None:
    if not holds:
        raise MessageError(f"{words} is expected, not {value!r:.60}")


def _single(kind: type) -> Reader:
    def read(value: Any) -> Any:
        fits = type(value) is kind
        if kind is int:
            fits = fits and 0 <= value < MAX_WHOLE
        if kind is float:
            fits = fits and math.isfinite(value)
        _require(fits, _SINGLE[kind], value)
        return value

    return read


def _optional(other: Reader) -> Reader:
    return lambda value: None if value is None else other(value)


def _whole_numbers(values: Any) -> tuple[int, ...]:
    """As a list of whole numbers, but fast: requests repeat whole histories."""
    listed = type(values) is list and all(type(v) is int and 0 <= v < MAX_WHOLE for v in values)
    _require(listed, "a list of whole numbers", values)
    return tuple(values)


def _list_of(read: Reader) -> Reader:
    def reads(values: Any) -> tuple[Any, ...]:
        _require(type(values) is list, "a list", values)
        return tuple(read(value) for value in values)

    return reads


def _exactly(make: Callable[..., Any], parts: tuple[Any, ...]) -> Reader:
    readers = tuple(map(reader_of, parts))

    def read(values: Any) -> Any:
        right = type(values) is list and len(values) == len(readers)
        _require(right, f"a list of {len(readers)} values", values)
        return make(each(value) for each, value in zip(readers, values, strict=True))

    return read


def _mapping_of(read: Reader) -> Reader:
    def reads(values: Any) -> dict[str, Any]:
        _require(type(values) is dict, "an object", values)
        return {key: read(value) for key, value in values.items()}

    return reads


def _object(kind: Any, readers: Mapping[str, Reader]) -> Reader:
    def read(values: Any) -> Any:
        right = type(values) is dict and values.keys() == readers.keys()
        _require(right, f"an object with {', '.join(sorted(readers))}", values)
        return kind(**{name: each(values[name]) for name, each in readers.items()})

    return read
