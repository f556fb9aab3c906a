"""Whether the quotes of a CSV file are where they may be.

pyarrow takes a quote in the wrong place more kindly than the standard: what follows a closing quote
it adds to the cell, and a quote inside a bare cell is a character. So the positions of all quotes
are looked at, while pyarrow reads the file. As one bit for each byte, in words of 64, this costs
little beside the reading: whether a byte is inside quotes is the parity of the quotes up to it,
which six shifts find for a whole word (Langdale and Lemire, Parsing gigabytes of JSON per second,
VLDB Journal 28, 2019, section 3.1.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits

Quoting = Literal["none", "plain", "spanning", "wrong"]
"""No quote at all; every quote opens or closes a whole cell or is doubled inside one; and some cell
spans lines; or none of these."""

_QUOTE, _LF, _CR = ord('"'), ord("\n"), ord("\r")
_PIECE = 1 << 19
"""Bytes whose bits are looked at in one go."""

_CACHED = 1 << 17
"""Bytes that are compared in one go, so that they stay in the cache; a multiple of 64."""

_ONE, _LAST, _ALL = np.uint64(1), np.uint64(63), np.uint64(2**64 - 1)


def look_at_quotes(stream: BinaryIO, mark: str) -> Quoting:
    """What the quotes of a file are like, from where the stream is; the mark is its separator.

    Every second quote closes: after it stand a mark, a line end, the end of the file, or the quote
    that it doubles. Before every other one these stand, or the beginning.

    >>> import io
    >>> texts = (b'a,"b""c,d"', b'a,"b\\nc"', b'a,"b"c', b"a")
    >>> [look_at_quotes(io.BytesIO(text), ",") for text in texts]
    ['plain', 'spanning', 'wrong', 'none']
    """
    found = spanning = odd = False
    for text in _pieces(stream):
        if b'"' not in text:
            spanning |= odd and (b"\n" in text or b"\r" in text)
            continue
        data = np.frombuffer(text, dtype=np.uint8)
        quotes, ends = _places(data, _QUOTE), _places(data, _LF)
        if b"\r" in text:
            ends |= _places(data, _CR)
        edges = _places(data, ord(mark)) | ends | quotes
        _clear_outer(quotes, len(data))
        parity = _parity(quotes, odd)
        lonely = (parity & ~_one_on(edges)) | (~parity & ~_one_back(edges))
        if (quotes & lonely).any():
            return "wrong"
        _clear_outer(ends, len(data))
        spanning |= bool((parity & ends).any())
        found, odd = True, bool(parity[-1] >> _LAST)
    if odd:
        return "wrong"
    return "spanning" if spanning else "plain" if found else "none"


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes that follow, in pieces: each stands once between the first and last of a piece."""
    text, more = b"\n", True
    while more:
        block = stream.read(_PIECE)
        more = bool(block)
        text += block or b"\n"
        yield text
        text = text[-2:]


def _places(data: NDArray[np.uint8], byte: int) -> Bits:
    """Where the byte is: 64 places to a word, the first as its lowest bit; zeros at the end."""
    words = np.zeros(-(-len(data) // 64), dtype="<u8")
    packed = words.view(np.uint8)
    for first in range(0, len(data), _CACHED):
        bits = np.packbits(data[first : first + _CACHED] == byte, bitorder="little")
        packed[first // 8 : first // 8 + len(bits)] = bits
    return words


def _clear_outer(bits: Bits, size: int) -> None:
    """Forget the first and the last of so many bits, which are looked at in other pieces."""
    bits[0] &= ~_ONE
    bits[(size - 1) // 64] &= ~(_ONE << np.uint64((size - 1) % 64))


def _parity(bits: Bits, odd: bool) -> Bits:
    """Whether the number of bits up to and with each place is odd; `odd` is what was before."""
    found = bits.copy()
    for step in (1, 2, 4, 8, 16, 32):
        found ^= found << np.uint64(step)
    found[1:] ^= np.bitwise_xor.accumulate(found >> _LAST)[:-1] * _ALL
    return ~found if odd else found


def _one_on(bits: Bits) -> Bits:
    """Each bit at the place of the next one."""
    found = bits << _ONE
    found[1:] |= bits[:-1] >> _LAST
    return found


def _one_back(bits: Bits) -> Bits:
    """Each bit at the place of the one before."""
    found = bits >> _ONE
    found[:-1] |= bits[1:] << _LAST
    return found
