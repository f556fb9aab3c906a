"""Sets of nodes as rows of uint64 words (bit j of word j >> 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner

ONE = np.uint64(1)
ZERO = np.uint64(0)


@intrinsic
def _popcount(typingctx, word):  # type: ignore[no-untyped-def]
    """Number of set bits of a uint64 (LLVM's ctpop)."""
    signature = types.uint64(types.uint64)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        return builder.ctpop(args[0])

    return signature, codegen


@intrinsic
def _first_bit(typingctx, word):  # type: ignore[no-untyped-def]
    """Position of the lowest set bit of a uint64 that is not zero (LLVM's cttz)."""
    signature = types.uint64(types.uint64)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        from llvmlite import ir

        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return signature, codegen


popcount: Callable[[Any], Any] = cast(Any, _popcount)
first_bit: Callable[[Any], Any] = cast(Any, _first_bit)


def pack(matrix: NDArray[np.bool_]) -> Bits:
    """bool [n, m] to uint64 [n, ceil(m / 64)]; at least one word."""
    rows, columns = matrix.shape
    words = max(1, (columns + 63) // 64)
    padded = np.zeros((rows, words * 64), dtype=np.uint8)
    padded[:, :columns] = matrix
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64).reshape(rows, words)


def unpack(bits: Bits, n: int) -> NDArray[np.bool_]:
    """uint64 [rows, W] to bool [rows, n]."""
    rows = bits.shape[0]
    as_bytes = (
        np.ascontiguousarray(bits.astype("<u8")).view(np.uint8).reshape(rows, 8 * bits.shape[1])
    )
    return np.unpackbits(as_bytes, axis=1, bitorder="little")[:, :n].astype(np.bool_)


@inner
def has_bit(row: Bits, i: int) -> bool:
    """Whether i is in the set."""
    return bool((row[i >> 6] >> np.uint64(i & 63)) & ONE)


@inner
def set_bit(row: Bits, i: int) -> None:
    """Put i into the set."""
    row[i >> 6] |= ONE << np.uint64(i & 63)


@inner
def clear_bit(row: Bits, i: int) -> None:
    """Take i out of the set."""
    row[i >> 6] &= ~(ONE << np.uint64(i & 63))


@door_to_sets
def transpose_bits(rows: Bits) -> Bits:
    """The transpose of a square bit matrix."""
    n, words = rows.shape
    out = np.zeros((n, words), dtype=np.uint64)
    for i in range(n):
        for w in range(words):
            word = rows[i, w]
            while word != ZERO:
                j = (w << 6) + int(first_bit(word))
                word &= word - ONE
                set_bit(out[j], i)
    return out
