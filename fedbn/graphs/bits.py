"""Sets of nodes as rows of uint64 words: bit j & 63 of word j >> 6. So they go to the core."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Bools, Ints32


def pack(matrix: Bools) -> Bits:
    """bool [..., m] to uint64 [..., ceil(m / 64)]; at least one word."""
    *rows, columns = matrix.shape
    matrix = np.ascontiguousarray(matrix)  # a row that is not is packed bit by bit
    words = max(1, (columns + 63) // 64)
    padded = np.zeros((*rows, words * 8), dtype=np.uint8)
    padded[..., : (columns + 7) // 8] = np.packbits(matrix, axis=-1, bitorder="little")
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(bits: Bits, n: int) -> Bools:
    """uint64 [rows, W] to bool [rows, n]."""
    rows = bits.shape[0]
    as_bytes = (
        np.ascontiguousarray(bits, dtype="<u8").view(np.uint8).reshape(rows, 8 * bits.shape[1])
    )
    return np.unpackbits(as_bytes, axis=1, count=n, bitorder="little").view(np.bool_)


def bits_of_pairs(pairs: NDArray[np.integer[Any]], n: int) -> Bits:
    """Pairs (row, member), int [m, 2], each below n, as rows of bits, uint64 [n, W]."""
    bits = np.zeros((n, max(1, (n + 63) // 64)), dtype=np.uint64)
    member = pairs[:, 1].astype(np.uint64)
    np.bitwise_or.at(
        bits, (pairs[:, 0], pairs[:, 1] >> 6), np.uint64(1) << (member & np.uint64(63))
    )
    return bits


def pairs_of_bits(bits: Bits) -> Ints32:
    """The inverse: pairs (row, member), int32 [m, 2], ascending; words that are 0 take no time."""
    rows, words = np.nonzero(bits)
    within = unpack(bits[rows, words][:, None], 64)
    which, bit = np.nonzero(within)
    return np.column_stack((rows[which], 64 * words[which] + bit)).astype(np.int32)
