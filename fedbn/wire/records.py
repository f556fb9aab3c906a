"""Records of a few values by name: texts, bytes, numbers and truth values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fedbn.errors import MessageError

_WORDS: Mapping[type, str] = {
    str: "text",
    bytes: "bytes",
    int: "a whole number of at least 0",
    float: "a finite number",
    bool: "true or false",
}


@dataclass(frozen=True)
class RecordFormat:
    """A kind of record.

    Attributes
    ----------
    name : under which it is in a message.
    needed, possible : key -> type of its value, of those that must be there and those that may.
    lengths : key -> how many bytes there must be.
    """

    name: str
    needed: Mapping[str, type] = field(default_factory=dict)
    possible: Mapping[str, type] = field(default_factory=dict)
    lengths: Mapping[str, int] = field(default_factory=dict)

    def holds(self, record: object) -> bool:
        """Whether a record is as it was declared."""
        try:
            self.read(record)
        except MessageError:
            return False
        return True

    def read(self, record: object) -> dict[str, Any]:
        """The values of a record that another party sent; those that are not there are left out.

        Raises
        ------
        MessageError : naming the first key that is not as it was declared.
        """
        if not isinstance(record, Mapping):
            raise MessageError(f"there must be a record {self.name!r}")
        for key in self.needed:
            if key not in record:
                raise MessageError(f"{self.name!r} must hold {key!r}")
        known = {**self.needed, **self.possible}
        found: dict[Any, Any] = {**record}
        for key, value in found.items():
            if key not in known:
                raise MessageError(f"{self.name!r} must not hold {key!r:.60}")
            wrong = (type(value) is int and value < 0) or (
                type(value) is float and not math.isfinite(value)
            )
            if type(value) is not known[key] or wrong:
                words = f"{self.name!r}: {key!r} must be {_WORDS[known[key]]}"
                raise MessageError(f"{words}, not {value!r:.60}")
            if isinstance(value, bytes) and len(value) != self.lengths.get(key, len(value)):
                words = f"{self.name!r}: {key!r} must have {self.lengths[key]} bytes"
                raise MessageError(f"{words}, not {len(value)}")
        return found
