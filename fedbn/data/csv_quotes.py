"""Whether the quotes of a CSV file are where they may be.

pyarrow takes a quote in the wrong place more kindly than the standard, and splits a file at line
ends that may be inside a cell. So the file is first cut at every separator and line end, whether
quoted or not. If each piece either has no quote, or has one at its beginning, one at its end and no
other, then every quote is right, no mark is inside a cell, and the pieces without their quotes are
the cells. Where a piece is not so, the file may still be right (doubled quotes, separators and line
ends inside quotes), which `quoting_of` finds out from the positions of all quotes.
"""

from __future__ import annotations

from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Quoting", "are_simply_quoted", "quoting_of", "unquote"]

Quoting = Literal["none", "plain", "spanning", "wrong"]
"""No quote at all; every quote opens or closes a whole cell or is doubled inside one; and some cell
spans lines; or none of these."""

_QUOTE, _LF, _CR = ord('"'), ord("\n"), ord("\r")
_PIECE = 1 << 16
"""Bytes that are looked at in one go, so that they stay in the cache."""


def are_simply_quoted(pieces: Any) -> bool:
    """Whether each piece has no quote, or one at its beginning, one at its end and no other.

    Parameters
    ----------
    pieces : pyarrow.StringArray without nulls, of at least one piece.

    >>> import pyarrow as pa
    >>> [are_simply_quoted(pa.array(["a", each])) for each in ("", '""', '"b"', '"', '"b', 'b"c"')]
    [True, True, True, False, False, False]
    """
    _, bounds, content = pieces.buffers()
    place: NDArray[np.int32] = np.frombuffer(bounds, np.int32)[pieces.offset :][: len(pieces) + 1]
    quotes = np.frombuffer(content or b"", np.uint8)[: place[-1]] == _QUOTE
    quotes[: place[0]] = False
    if not quotes.any():
        return True
    filled = np.flatnonzero(np.diff(place))
    first, last = place[filled], place[filled + 1] - 1
    opened = quotes[first]
    whole = np.array_equal(opened, quotes[last]) and not (opened & (first == last)).any()
    return whole and int(quotes.sum()) == 2 * int(opened.sum())


def unquote(piece: str) -> str | None:
    """The cell that a simply quoted piece is; None where a piece is not simply quoted.

    >>> [unquote(piece) for piece in ('"a b"', "a b", '""', 'a"', '"')]
    ['a b', 'a b', '', None, None]
    """
    quotes = piece.count('"')
    if quotes == 2 and piece[0] == piece[-1] == '"':
        return piece[1:-1]
    return None if quotes else piece


def quoting_of(stream: BinaryIO, mark: str) -> Quoting:
    """What the quotes of a file are like, from where the stream is; the mark is its separator.

    Every second quote closes, and a mark follows it, or the quote that it doubles; before every
    other one a mark stands, or the quote that doubles it.

    >>> import io
    >>> texts = (b'a,"b""c,d"', b'a,"b\\nc"', b'a,"b"c', b"a")
    >>> [quoting_of(io.BytesIO(text), ",") for text in texts]
    ['plain', 'spanning', 'wrong', 'none']
    """
    edge = np.zeros(256, dtype=np.bool_)
    edge[[_QUOTE, _LF, _CR, ord(mark)]] = True
    seen, spanning, more = 0, False, True
    text = b"\n"
    while more:
        block = stream.read(_PIECE)
        more = bool(block)
        text += block or b"\n"
        data = np.frombuffer(text, dtype=np.uint8)
        inner = data[1:-1]  # all that has neighbours and was not looked at before
        quotes = np.flatnonzero(inner == _QUOTE)
        opening, closing = quotes[seen % 2 :: 2], quotes[1 - seen % 2 :: 2]
        if not (edge[data[opening]].all() and edge[data[closing + 2]].all()):
            return "wrong"
        ends = np.flatnonzero((inner == _LF) | (inner == _CR))
        spanning |= bool(((seen + np.searchsorted(quotes, ends)) % 2).any())
        seen += len(quotes)
        text = text[-2:]
    if seen % 2:
        return "wrong"
    return "spanning" if spanning else "plain" if seen else "none"
