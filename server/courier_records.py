"""Flower's records as JSON has them, in a courier's file, and back.

Scalars and lists of scalars are values, bytes among them {"base64": ...}; arrays are arrays.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbn.errors import MessageError
from fedbn.federation.courier_file import Records
from fedbn.wording import printable


def plain_records(content: RecordDict) -> Records:
    """The records of a message; there are no metrics in any."""
    return {name: _plain(record) for name, record in content.items()}


def flower_records(records: Records, source: str) -> RecordDict:
    """The inverse; raises MessageError, naming the source, for what Flower does not carry."""
    try:
        return RecordDict({name: _flower(name, record) for name, record in records.items()})
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise MessageError(f"{source}: a record must be one of Flower's: {error}") from None


def _plain(record: object) -> dict[str, Any]:
    if isinstance(record, ArrayRecord):
        arrays = {
            key: {
                "dtype": each.dtype,
                "shape": list(each.shape),
                "stype": each.stype,
                "data": b64encode(each.data).decode("ascii"),
            }
            for key, each in record.items()
        }
        return {"arrays": arrays}
    assert isinstance(record, ConfigRecord)
    return {"values": {key: _plain_value(value) for key, value in record.items()}}


def _plain_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_value(each) for each in value]
    return {"base64": b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _flower(name: str, record: Any) -> ArrayRecord | ConfigRecord:
    if set(record) == {"values"}:
        return ConfigRecord({key: _value(value) for key, value in record["values"].items()})
    if set(record) != {"arrays"}:
        raise ValueError(f"record {printable(name)!r} must have arrays or values")
    return ArrayRecord({key: _array(each) for key, each in record["arrays"].items()})


def _array(array: Any) -> Array:
    """An array; whether its bytes are those of its type and shape is looked at where it is read."""
    dtype, shape, stype, data = (array[key] for key in ("dtype", "shape", "stype", "data"))
    if len(array) > 4 or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"an array must have dtype, shape, stype and data, not {array!r:.60}")
    if type(dtype) is not str or type(stype) is not str:
        raise TypeError(f"dtype and stype must be texts, not {dtype!r:.40} and {stype!r:.40}")
    return Array(dtype=dtype, shape=tuple(shape), stype=stype, data=b64decode(data, validate=True))


def _value(content: Any) -> Any:
    """A scalar or a list of scalars; Flower refuses what is none."""
    if isinstance(content, dict):
        (key,) = content
        if key != "base64":
            raise ValueError(f"a value must be a scalar, not {content!r:.40}")
        return b64decode(content[key], validate=True)
    return [_value(each) for each in content] if isinstance(content, list) else content
