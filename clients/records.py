"""Arrays as Flower carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from fedbn.errors import MessageError
from fedbn.wire.arrays import ArrayFormat
from fedbn.wire.npy import MAX_BYTES, Arrays

__all__ = ["arrays_in", "record_of"]


def record_of(arrays: Mapping[str, NDArray[Any]]) -> ArrayRecord:
    """The record of a message's arrays."""
    return ArrayRecord({key: Array(array) for key, array in arrays.items()})


def arrays_in(record: object, form: ArrayFormat, *, max_bytes: int = MAX_BYTES) -> Arrays:
    """The arrays of a record; raises MessageError for any other record."""
    if not isinstance(record, ArrayRecord):
        raise MessageError(f"there must be a record of {', '.join(form.keys)}")
    parts = [(key, array.data) for key, array in record.items()]
    return form.read(parts, max_bytes=max_bytes)
