"""Messages of arrays: what a format declares is what its codec writes, checks and refuses.

    EXAMPLE = ArrayFormat(
        "examples", version=1, about="schema",
        marks=(Mark("status", 5),),
        fields=(
            Field("edges", np.int32, ("M", 2), below="n"),
            Field("indptr", np.int64, ("B + 1",), rises_to="M"),
            Field("weights", np.float64, ("B",), above=0),
        ),
    )

On the wire such a message has an array more, the first:

    header   uint8 [33 + marks]   the version, a byte for each mark, and 32 bytes that say what the
                                  message is about: the SHA-256 of a schema, or of a request

A letter is a size: that of the first array that has it, or one that the reader gives. The encoding
is canonical as far as it is declared; what a format does not declare (cycles, sums), whoever builds
a value of the arrays checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn.arrays import Array, Bools
from fedbn.errors import MessageError
from fedbn.wire.npy import MAX_BYTES, Arrays, arrays_of_npy, require_keys

HEADER = "header"
DIGEST = 32


@dataclass(frozen=True)
class Mark:
    """A byte of the header: its name, and the number that it is below."""

    name: str
    below: int


@dataclass(frozen=True)
class Field:
    """One array of a message.

    Attributes
    ----------
    name : its key.
    kinds : a type of numbers, or several that it may have, the narrowest first.
    shape : numbers, letters, or a letter and one more: ("M", 2), ("B + 1",).
    least, above, most : bounds of every number. Floating-point numbers are finite in any case.
    below : the letter of a size that every number is below.
    rises_to : the letter of a size: offsets, which rise from 0 to it.
    ascends : whether no number is below the one before it.
    narrow : whether it has the first of its types that holds the largest number.
    """

    name: str
    kinds: Any
    shape: tuple[str | int, ...]
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: str = ""
    rises_to: str = ""
    ascends: bool = False
    narrow: bool = False

    @property
    def types(self) -> tuple[np.dtype[Any], ...]:
        """The types that it may have, the narrowest first."""
        kinds = self.kinds if isinstance(self.kinds, tuple) else (self.kinds,)
        return tuple(map(np.dtype, kinds))

    def write(self, values: Any) -> Array:
        """The array that is sent."""
        array = np.asarray(values)
        if self.narrow:
            array = array.astype(self._narrowest(array))
        elif array.dtype not in self.types:
            array = array.astype(self.types[0])
        return np.ascontiguousarray(array)

    def require_type(self, array: Array) -> None:
        """Raise MessageError unless the array has one of the types, and as many axes as it must."""
        if array.dtype not in self.types or array.ndim != len(self.shape):
            names = " or ".join(map(str, self.types))
            axes = "one axis" if len(self.shape) == 1 else f"{len(self.shape)} axes"
            raise MessageError(
                f"{self.name} must be {names} with {axes} {self._shape}, not {array.dtype} "
                f"{list(array.shape)}"
            )

    def require_shape(self, array: Array, sizes: dict[str, int]) -> None:
        """Raise MessageError unless the array is as long as others say; new sizes are added."""
        for wanted, found in zip(self.shape, array.shape, strict=True):
            letter, _, more = str(wanted).partition(" + ")
            if isinstance(wanted, int):
                expected = wanted
            else:
                expected = sizes.setdefault(letter, found - int(more or 0)) + int(more or 0)
            if found != expected or expected < int(more or 0):
                known = "" if isinstance(wanted, int) else f" with {letter} = {sizes[letter]}"
                raise MessageError(
                    f"{self.name} must be {self._shape}{known}, not {list(array.shape)}"
                )

    def require_values(self, array: Array, sizes: Mapping[str, int]) -> None:
        """Raise MessageError, showing the first one, where numbers are beyond their bounds."""
        if self.rises_to:
            self._require_rise(array, sizes[self.rises_to])
        if self.below and ((array < 0) | (array >= sizes[self.below])).any():
            wrong = array[(array < 0) | (array >= sizes[self.below])]
            raise MessageError(
                f"{self.name} must lie between 0 and {sizes[self.below] - 1}, not {wrong[0]}"
            )
        self._require_bounds(array)
        if self.ascends and (array[1:] < array[:-1]).any():
            raise MessageError(f"{self.name} must ascend, not {array.tolist()[:20]}")
        if self.narrow and array.dtype != self._narrowest(array):
            raise MessageError(
                f"{self.name} must be {self._narrowest(array)}, as the largest is "
                f"{array.max(initial=0)}, not {array.dtype}"
            )

    def _require_rise(self, offsets: Array, end: int) -> None:
        within = bool(((offsets >= 0) & (offsets <= end)).all())
        if not within or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
            raise MessageError(f"{self.name} must rise from 0 to {self.rises_to} = {end}")

    def _require_bounds(self, array: Array) -> None:
        right, words = np.ones(array.shape, np.bool_), []
        for bound, name, holds in (
            (self.above, "above", np.greater),
            (self.least, "at least", np.greater_equal),
            (self.most, "at most", np.less_equal),
        ):
            if bound is not None:
                right &= holds(array, bound)
                words.append(f"{name} {bound}")
        if array.dtype.kind == "f":
            right &= np.isfinite(array)
            words.append("finite")
        if not right.all():
            shown = array[~right].flat[0]
            *some, last = words
            listed = f"{', '.join(some)} and {last}" if some else last
            raise MessageError(f"{self.name} must be {listed}, not {shown}")

    def _narrowest(self, array: Array) -> np.dtype[Any]:
        largest = int(array.max(initial=0))
        return next(kind for kind in self.types if largest <= np.iinfo(kind).max)

    @property
    def _shape(self) -> str:
        return f"[{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True, eq=False)
class Received:
    """A message that is as its format says: marks and arrays by name."""

    marks: Mapping[str, int]
    arrays: Arrays

    def __getitem__(self, name: str) -> Array:
        """The array of this name."""
        return self.arrays[name]


@dataclass(frozen=True)
class ArrayFormat:
    """A kind of message.

    Attributes
    ----------
    name : of the record that holds it, and in the words of a refusal.
    fields : the arrays after the header.
    version : from 0 to 255; another one is refused. None: there is no header, as the request that
        is answered says all of it.
    about : what the 32 bytes of the header are the hash of.
    marks : the bytes of the header between these two.
    """

    name: str
    fields: tuple[Field, ...]
    version: int | None = None
    about: str = ""
    marks: tuple[Mark, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of a message, no more and no fewer."""
        header = () if self.version is None else (HEADER,)
        return (*header, *(field.name for field in self.fields))

    def encode(
        self, digest: bytes = b"", marks: Sequence[int] = (), **values: Any
    ) -> dict[str, Array]:
        """The arrays of a message, in the order of `keys`.

        Parameters
        ----------
        digest : the 32 bytes that say what it is about.
        marks : in the order in which they are declared.
        **values : of every field, as anything that makes an array of its type and shape.
        """
        found = {each.name: each.write(values[each.name]) for each in self.fields}
        if self.version is None:
            return found
        header = bytes([self.version, *marks]) + digest
        return {HEADER: np.frombuffer(header, dtype=np.uint8), **found}

    def read(
        self,
        parts: Iterable[tuple[str, bytes]],
        *,
        max_bytes: int = MAX_BYTES,
    ) -> dict[str, Array]:
        """The arrays of untrusted `.npy` bytes; see `fedbn.wire.npy`."""
        return arrays_of_npy(parts, self.keys, max_bytes=max_bytes)

    def holds(self, record: object) -> bool:
        """Whether a record has just the keys of a message."""
        return isinstance(record, Mapping) and set(record) == set(self.keys)

    def decode(self, arrays: Arrays, digest: bytes = b"", **sizes: int) -> Received:
        """Check arrays that another party sent.

        Parameters
        ----------
        arrays : as `encode` makes them, if they are right.
        digest : what they must be about.
        **sizes : the sizes that are known beforehand, by their letters.

        Raises
        ------
        MessageError : naming the first array that is not as it was declared.
        """
        require_keys(arrays, self.keys)
        marks = {} if self.version is None else self._marks(arrays[HEADER], digest)
        for field in self.fields:
            field.require_type(arrays[field.name])
        for field in self.fields:
            field.require_shape(arrays[field.name], sizes)
        for field in self.fields:
            field.require_values(arrays[field.name], sizes)
        return Received(marks, arrays)

    def _marks(self, header: Array, digest: bytes) -> dict[str, int]:
        length = 1 + len(self.marks) + DIGEST
        if header.dtype != np.uint8 or header.ndim != 1 or not header.size:
            words = f"{HEADER} must be uint8 [{length}]"
            raise MessageError(f"{words}, not {header.dtype} {list(header.shape)}")
        if header[0] != self.version:
            raise MessageError(
                f"the version of {self.name} must be {self.version}, not {header[0]}: parties have "
                "different versions of fedbn"
            )
        if header.size != length:
            raise MessageError(f"{HEADER} must have {length} bytes, not {header.size}")
        found = header[1 + len(self.marks) :].tobytes()
        if found != digest:
            raise MessageError(
                f"the hash of the {self.about} must be {digest.hex()[:12]}..., not "
                f"{found.hex()[:12]}..."
            )
        values = dict(zip((mark.name for mark in self.marks), header[1:].tolist(), strict=False))
        for mark in self.marks:
            if values[mark.name] >= mark.below:
                raise MessageError(
                    f"the {mark.name} must be a number below {mark.below}, not {values[mark.name]}"
                )
        return values


def unpack_bits(name: str, packed: Array, size: int, what: str) -> Bools:
    """The `size` bits of an array uint8 [size / 8], the highest of a byte first.

    Raises
    ------
    MessageError : the array is of another length, or a bit after the last one is set.
    """
    length = (size + 7) // 8
    if packed.size != length:
        raise MessageError(f"{name} must have {length} bytes for {size} {what}, not {packed.size}")
    bits = np.unpackbits(packed).astype(np.bool_)
    if bits[size:].any():
        raise MessageError(f"{name} must end with zeros after {size} bits")
    return bits[:size]
