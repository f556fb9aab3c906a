"""Flower's records as plain values, which a courier's file can hold, and back."""

from __future__ import annotations

from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict

from fedbn.errors import MessageError
from fedbn.federation.courier_file import PlainArray, Record, Records

__all__ = ["flower_records", "plain_records"]


def plain_records(content: RecordDict) -> Records:
    """The records of a message; there are no metrics in any."""
    return {name: _plain(record) for name, record in content.items()}


def flower_records(records: Records) -> RecordDict:
    """The inverse; raises MessageError for values that Flower does not carry."""
    try:
        return RecordDict({name: _flower(record) for name, record in records.items()})
    except (TypeError, ValueError) as error:
        raise MessageError(f"a record must be one of Flower's: {error}") from None


def _plain(record: object) -> Record:
    if isinstance(record, ArrayRecord):
        arrays = {
            key: PlainArray(each.dtype, tuple(each.shape), each.stype, each.data)
            for key, each in record.items()
        }
        return Record(arrays=arrays)
    assert isinstance(record, ConfigRecord)
    return Record(values=dict(record.items()))


def _flower(record: Record) -> ArrayRecord | ConfigRecord:
    if record.arrays is None:
        return ConfigRecord(dict(record.values or {}))  # type: ignore[arg-type]
    return ArrayRecord(
        {
            key: Array(dtype=each.dtype, shape=each.shape, stype=each.stype, data=each.data)
            for key, each in record.arrays.items()
        }
    )
