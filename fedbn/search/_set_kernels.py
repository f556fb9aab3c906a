"""Sets of nodes as rows of uint64 words."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import first_bit, popcount
from fedbn.kernel_parts import inner
from fedbn.scores._tables import Integer
from fedbn.search._state import ZERO


@inner
def first(w: Integer, word: Integer) -> Integer:
    """The smallest element of a set whose word number w is `word`, which is not zero."""
    return (w << 6) + np.int64(first_bit(word))


@inner
def members(row: Bits, out: NDArray[np.int64]) -> int:
    """out := the elements, ascending; returns how many."""
    k: Integer = np.int64(0)
    for w in range(row.shape[0]):
        word = row[w]
        while word != ZERO:
            out[k] = first(w, word)
            word &= word - np.uint64(1)
            k += 1
    return int(k)


@inner
def size_of(row: Bits) -> int:
    """The number of elements."""
    count = ZERO
    for w in range(row.shape[0]):
        count += popcount(row[w])
    return int(count)


@inner
def any_in(row: Bits) -> bool:
    """Whether the set is not empty."""
    union = ZERO
    for w in range(row.shape[0]):
        union |= row[w]
    return bool(union != ZERO)


@inner
def comes_before(left: Bits, right: Bits) -> bool:
    """Whether the sorted elements of `left` come before those of `right`, as words do."""
    words = left.shape[0]
    for w in range(words):
        differ = left[w] ^ right[w]
        if differ != ZERO:
            bit = first_bit(differ)
            in_left = (left[w] >> bit) & np.uint64(1) != ZERO
            other = right if in_left else left
            more = (other[w] >> bit) != ZERO
            for v in range(w + 1, words):
                more = more or other[v] != ZERO
            return bool(in_left == more)
    return False
