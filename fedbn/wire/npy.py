"""Arrays from untrusted `.npy` bytes: nothing is allocated before the claims were checked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbn.errors import MessageError
from fedbn.wire.sender import said_by

Arrays = Mapping[str, npt.NDArray[Any]]
"""Arrays by key."""

MAX_BYTES = 32 * 1024 * 1024
"""Bytes of one message at most, unless its reader says otherwise."""

_KINDS = (np.uint8, np.uint16, np.uint32, np.uint64, np.int32, np.int64, np.float64)
_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_NPY_HEADER = re.compile(
    rb"\{'descr': '(?P<type>[<|][a-z]\d)', 'fortran_order': False, "
    rb"'shape': \((?P<rows>\d{1,18}),(?: (?P<columns>\d{1,18}))?\), \} *\n"
)
_NPY_TYPES = {np.dtype(kind).str for kind in _KINDS}


def array_of_npy(data: bytes, *, max_bytes: int = MAX_BYTES) -> npt.NDArray[Any]:
    """Read the bytes of a `.npy` file (format 1.0) whose claims are not trusted.

    Unlike `numpy.load`, which allocates what the header claims before it looks at the data, this
    refuses any array whose claimed shape does not match the bytes that follow.

    Parameters
    ----------
    data : the whole file.
    max_bytes : the largest length accepted.

    Raises
    ------
    MessageError
        The bytes are too many, truncated, or not a plain array of one of the agreed types.
    """
    if len(data) > max_bytes:
        raise MessageError(f"an array must have at most {max_bytes} bytes, not {len(data)}")
    if not data.startswith(_NPY_MAGIC) or len(data) < 10:
        raise MessageError("an array must start with the header of a .npy file")
    start = 10 + int.from_bytes(data[8:10], "little")
    shape, dtype = _npy_claims(data[10:start])
    claimed = math.prod(shape) * dtype.itemsize
    if claimed != len(data) - start:
        raise MessageError(
            f"an array of shape {list(shape)} must have {claimed} bytes, not {len(data) - start}"
        )
    return np.frombuffer(data, dtype=dtype, offset=start).reshape(shape).copy()


@said_by()
def arrays_of_npy(
    parts: Iterable[tuple[str, bytes]],
    keys: tuple[str, ...],
    *,
    max_bytes: int = MAX_BYTES,
) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of a message from their untrusted `.npy` bytes, keys first.

    Raises MessageError unless the keys are `keys`, each has bytes, these together are at most
    `max_bytes`, and each array is as :func:`array_of_npy` wants it.
    """
    given = dict(parts)
    require_keys(given, keys)
    for key in keys:
        if not isinstance(given[key], bytes):
            kind = type(given[key]).__name__
            raise MessageError(f"{key} must be the bytes of a .npy file, not {kind}")
    total = sum(len(data) for data in given.values())
    if total > max_bytes:
        raise MessageError(f"a message must have at most {max_bytes} bytes, not {total}")
    return {key: array_of_npy(given[key], max_bytes=max_bytes) for key in keys}


def require_keys(given: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Raise MessageError unless the arrays of a message are just those of `keys`."""
    if set(given) != set(keys):
        raise MessageError(f"a message must have exactly the arrays {', '.join(keys)}")


def _npy_claims(header: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type that a `.npy` header claims, which must be written as numpy writes it."""
    claims = _NPY_HEADER.fullmatch(header)
    if claims is None or claims["type"].decode() not in _NPY_TYPES:
        raise MessageError(
            "an array must have the header of a row-major .npy file "
            f"with one or two axes and one of the types {', '.join(sorted(_NPY_TYPES))}"
        )
    shape = tuple(int(claims[axis]) for axis in ("rows", "columns") if claims[axis])
    return shape, np.dtype(claims["type"].decode())
