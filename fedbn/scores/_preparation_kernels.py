"""What is made of a table before anything is counted: merged rows, bitmaps, modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import first_bit, popcount
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner
from fedbn.scores._tables import ZERO, Integer

BLOCK = 1024  # rows that are packed while they are at hand


@intrinsic
def _equal_block(typingctx, codes, v, start, state):  # type: ignore[no-untyped-def]
    """Bit j: whether codes[v, start + j] is `state`, j < 64; one or two machine instructions."""
    signature = types.uint64(codes, types.intp, types.intp, types.uint16)

    def codegen(context, builder, sig, args):  # type: ignore[no-untyped-def]
        from llvmlite import ir

        array = context.make_array(sig.args[0])(context, builder, args[0])
        columns = builder.extract_value(array.shape, 1)
        offset = builder.add(builder.mul(args[1], columns), args[2])
        many = ir.VectorType(ir.IntType(16), 64)
        place = builder.bitcast(builder.gep(array.data, [offset]), many.as_pointer())
        empty = ir.Constant(many, ir.Undefined)
        one = builder.insert_element(empty, args[3], ir.Constant(ir.IntType(32), 0))
        everywhere = ir.Constant(ir.VectorType(ir.IntType(32), 64), None)
        wanted = builder.shuffle_vector(one, empty, everywhere)
        equal = builder.icmp_unsigned("==", builder.load(place, align=2), wanted)
        return builder.bitcast(equal, ir.IntType(64))

    return signature, codegen


equal_block: Callable[..., Any] = cast(Any, _equal_block)


@inner
def _where(codes: NDArray[np.uint16], v: Integer, start: Integer, state: Integer) -> Integer:
    """Bit j: whether codes[v, start + j] is `state`, for the rows that there are."""
    rows = codes.shape[1]
    if start + 64 <= rows:
        return equal_block(codes, v, start, np.uint16(state))
    word = ZERO
    for i in range(start, rows):
        if np.int64(codes[v, i]) == state:
            word |= np.uint64(1) << np.uint64(i - start)
    return word


@inner
def _pack(codes: NDArray[np.uint16], bits: NDArray[np.int64], packed: Bits) -> None:
    """packed[:, i] := the codes of row i, bits[v] of them for variable v; `packed` is 0."""
    for begin in range(0, codes.shape[1], BLOCK):
        end = begin + BLOCK  # or the last row
        word, shift = 0, np.int64(0)
        for v in range(codes.shape[0]):
            if shift + bits[v] > 64:
                word, shift = word + 1, np.int64(0)
            column, out = codes[v, begin:end], packed[word, begin:end]
            for i in range(column.shape[0]):
                out[i] |= np.uint64(column[i]) << np.uint64(shift)
            shift += bits[v]


@inner
def _differ(packed: Bits, i: Integer, j: Integer) -> bool:
    differ = ZERO
    for w in range(packed.shape[0]):
        differ |= packed[w, i] ^ packed[w, j]
    return bool(differ != ZERO)


@door
def merge_rows(
    codes: NDArray[np.uint16], bits: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Which rows of codes [n, M] are the first of their kind, and how many equal each of them.

    `bits` [n], at most 16: every code of variable v is below 2^bits[v].
    """
    rows = codes.shape[1]
    words, used = 1, np.int64(0)
    for v in range(bits.size):
        if used + bits[v] > 64:
            words, used = words + 1, np.int64(0)
        used += bits[v]
    packed = np.zeros((words, rows), dtype=np.uint64)
    _pack(codes, bits, packed)
    capacity = 16
    while capacity < 2 * rows:
        capacity *= 2
    slots = np.full(capacity, -1, dtype=np.int32)
    first = np.empty(rows, dtype=np.int64)
    weights = np.zeros(rows, dtype=np.int32)
    kinds = np.int32(0)
    for i in range(rows):
        key = ZERO
        for w in range(words):
            key = (key ^ packed[w, i]) * np.uint64(0x9E3779B97F4A7C15)
            key ^= key >> np.uint64(29)
        slot = np.int64(key & np.uint64(capacity - 1))
        while slots[slot] >= 0 and _differ(packed, first[slots[slot]], i):
            slot = (slot + 1) & (capacity - 1)
        if slots[slot] < 0:
            slots[slot] = kinds
            first[kinds] = i
            kinds += np.int32(1)
        weights[slots[slot]] += 1
    return first[:kinds].copy(), weights[:kinds].copy()


@door
def state_bitmaps(
    codes: NDArray[np.uint16], arities: NDArray[np.int64], words: Integer
) -> NDArray[np.uint64]:
    """One bitmap of `words` words over the rows for each state of each variable, one below the
    other."""
    lines = 0
    for v in range(arities.shape[0]):
        lines += arities[v]
    bitmaps = np.zeros((lines, words), dtype=np.uint64)
    line = 0
    for v in range(codes.shape[0]):
        for state in range(arities[v]):
            for start in range(0, codes.shape[1], 64):
                bitmaps[line, start >> 6] = _where(codes, v, start, state)
            line += 1
    return bitmaps


@door
def rows_outside_modes(
    codes: NDArray[np.uint16], arities: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], NDArray[np.uint16]]:
    """(modes, other_start, other_rows, other_codes) of `Tables`, for codes [n, M].

    The mode is the state of most (merged) rows, the first of them if there are several.
    """
    n, rows = codes.shape
    modes = np.zeros(n, dtype=np.int64)
    begin = np.zeros(n + 1, dtype=np.int64)
    for v in range(n):
        most = np.int64(-1)
        for state in range(arities[v]):
            count = ZERO
            for start in range(0, rows, 64):
                count += popcount(_where(codes, v, start, state))
            if np.int64(count) > most:
                most, modes[v] = np.int64(count), state
        begin[v + 1] = begin[v] + rows - most
    others = np.empty(begin[n], dtype=np.int32)
    states = np.empty(begin[n], dtype=np.uint16)
    k = 0
    for v in range(n):
        for start in range(0, rows, 64):
            word = ~_where(codes, v, start, modes[v])
            if start + 64 > rows:
                word &= (np.uint64(1) << np.uint64(rows - start)) - np.uint64(1)
            while word != ZERO:
                i = start + np.int64(first_bit(word))
                word &= word - np.uint64(1)
                others[k] = i
                states[k] = codes[v, i]
                k += 1
    return modes, begin, others, states
