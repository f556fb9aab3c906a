"""Sets of nodes as rows of uint64 words: bit j & 63 of word j >> 6. So they go to the core."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits

__all__ = ["pack", "unpack"]


def pack(matrix: NDArray[np.bool_]) -> Bits:
    """bool [..., m] to uint64 [..., ceil(m / 64)]; at least one word."""
    *rows, columns = matrix.shape
    words = max(1, (columns + 63) // 64)
    padded = np.zeros((*rows, words * 8), dtype=np.uint8)
    padded[..., : (columns + 7) // 8] = np.packbits(matrix, axis=-1, bitorder="little")
    return padded.view("<u8").astype(np.uint64, copy=False)


def unpack(bits: Bits, n: int) -> NDArray[np.bool_]:
    """uint64 [rows, W] to bool [rows, n]."""
    rows = bits.shape[0]
    as_bytes = (
        np.ascontiguousarray(bits, dtype="<u8").view(np.uint8).reshape(rows, 8 * bits.shape[1])
    )
    return np.unpackbits(as_bytes, axis=1, count=n, bitorder="little").view(np.bool_)
