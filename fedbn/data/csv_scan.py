"""Whether the quotes of a CSV file are where they may be, found while another reader reads it.

pyarrow takes a quote in the wrong place more kindly than the standard, and splits a file at line
ends that may be inside a cell. Cut the file at every separator and line end, whether quoted or not.
If each piece either has no quote, or has one at its beginning, one at its end and no other, then
every quote is right, no mark is inside a cell, and pyarrow reads what the standard says. Where a
piece is not so, the file may still be right (doubled quotes, separators and line ends inside
quotes), which `quoting_of` finds out from the positions of all quotes.
"""

from __future__ import annotations

import codecs
import io
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["CsvScan", "Quoting", "quoting_of"]

Quoting = Literal["plain", "spanning", "wrong"]
"""Every quote opens or closes a whole cell or is doubled inside one; and some cell spans lines."""

_QUOTE, _LF, _CR = ord('"'), ord("\n"), ord("\r")
_PIECE = 1 << 16
"""Bytes that are looked at in one go, so that they stay in the cache."""


class CsvScan(io.RawIOBase):
    """A binary stream that is looked at as it is read.

    Parameters
    ----------
    stream : to be read from where it is, to its end.
    mark : the separator, one ASCII character.
    """

    def __init__(self, stream: BinaryIO, mark: str) -> None:
        self._stream = stream
        self._mark = mark.encode("ascii")
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._valid = self._simple = True
        self._rest = b"\n"

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes of the stream, looked at."""
        block = self._stream.read(size)
        if self._valid and not block.isascii():
            try:
                self._decoder.decode(block)
            except UnicodeDecodeError:
                self._valid = False
        for first in range(0, len(block), _PIECE):
            if self._simple:
                self._look(block[first : first + _PIECE])
        return block

    def is_utf8(self) -> bool:
        """Whether all that was read is UTF-8."""
        try:
            self._decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            self._valid = False
        return self._valid

    def is_simply_quoted(self) -> bool:
        """Whether all is as the module says, once all is read; False is no verdict."""
        return self._simple and _is_simple(self._rest + b"\n", self._mark[0])

    def _look(self, block: bytes) -> None:
        """Look at the cells that end in the block; the last one is kept with the mark before it."""
        text = self._rest + block
        if b'"' in text:
            self._simple = _is_simple(text, self._mark[0])
        self._rest = text[max(text.rfind(mark) for mark in (self._mark, b"\n", b"\r")) :]
        if len(self._rest) > _PIECE:
            self._simple = False


def _is_simple(text: bytes, mark: int) -> bool:
    """Whether the pieces between the marks are; `text` begins with one, its last piece is open."""
    data = np.frombuffer(text, dtype=np.uint8)
    quotes = data == _QUOTE
    at = np.flatnonzero(_marks(data, mark))
    first, last = at[:-1] + 1, at[1:] - 1
    opened, closed = quotes[first], quotes[last]
    whole = np.array_equal(opened, closed) and not (opened & (first == last)).any()
    return whole and int(quotes[: at[-1]].sum()) == 2 * int(opened.sum())


def _marks(data: NDArray[np.uint8], mark: int) -> NDArray[np.bool_]:
    """Where separators and line ends are."""
    found: NDArray[np.bool_] = data == mark
    found |= data == _LF
    found |= data == _CR
    return found


def quoting_of(content: bytes, mark: str) -> Quoting:
    """What the quotes of a whole file are like.

    >>> [quoting_of(text, ",") for text in (b'a,"b""c,d"', b'a,"b\\nc"', b'a,"b"c')]
    ['plain', 'spanning', 'wrong']
    """
    data = np.frombuffer(content, dtype=np.uint8)
    quotes = np.flatnonzero(data == _QUOTE)
    if len(quotes) % 2:
        return "wrong"
    if not len(quotes):
        return "plain"
    opening, closing = quotes[0::2], quotes[1::2]
    before = (opening == 0) | _marks(data[opening - 1], ord(mark))
    after = closing == len(data) - 1
    after |= _marks(data[np.minimum(closing + 1, len(data) - 1)], ord(mark))
    doubled = opening[1:] == closing[:-1] + 1
    before[1:] |= doubled
    after[:-1] |= doubled
    if not (before.all() and after.all()):
        return "wrong"
    ends = np.flatnonzero((data == _LF) | (data == _CR))
    within = np.searchsorted(ends, closing) > np.searchsorted(ends, opening)
    return "spanning" if within.any() else "plain"
