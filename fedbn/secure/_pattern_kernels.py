"""Kernels on P, the CPDAG that loses edges: its valid operators, and their application.

Public caller: `pattern.py`. p uint64 [3, n, W]: PA, CH, NE of every node.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.consensus._delete_kernels import delete_bits
from fedbn.consensus._engine import CH, NE, PA
from fedbn.consensus._slot_kernels import lowest, size_of
from fedbn.graphs._bit_kernels import ZERO, clear_bit, has_bit, set_bit
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner

VISITS_PER_OPERATOR = 32  # cliques looked at, at most, for every operator that may be found
HAS, MAY = 0, 1  # of a clique in the making: its elements, and those that it may still get


@door
def delete(p: Bits, x: int, y: int, h: Bits) -> tuple[bool, Bits]:
    """P after Delete(x, y, H), and whether that is valid."""
    out = np.empty_like(p)
    valid, pa, ch, ne = delete_bits(p[PA], p[CH], p[NE], x, y, h)
    out[PA], out[CH], out[NE] = pa, ch, ne
    return valid, out


@door
def list_operators(
    p: Bits, k_max: int, max_operators: int
) -> tuple[int, NDArray[np.int64], Bits, Bits]:
    """All valid Delete(x, y, H) with |H| <= k_max: (their number, x and y, S, H).

    x -> y, or x - y with x < y; valid: NA_yx \\ H is a clique. The number is -1 when there are more
    than `max_operators`, or too many cliques to look at. A clique of NA_yx grows by an element
    larger than all that it has, so each is met once; one that cannot become large enough is not
    followed.
    """
    _, n, words = p.shape
    xy = np.empty((max_operators, 2), dtype=np.int64)
    given = np.empty((max_operators, words), dtype=np.uint64)
    left_out = np.empty((max_operators, words), dtype=np.uint64)
    na = np.empty(words, dtype=np.uint64)
    cliques = np.empty((n * n + 1, 2, words), dtype=np.uint64)  # HAS and MAY, a stack
    count, visits = 0, 0
    for x in range(n):
        for y in range(n):
            if not (has_bit(p[PA, y], x) or (x < y and has_bit(p[NE, y], x))):
                continue
            for w in range(words):
                na[w] = p[NE, y, w] & (p[PA, x, w] | p[CH, x, w] | p[NE, x, w])
                cliques[0, HAS, w] = ZERO
                cliques[0, MAY, w] = na[w]
            least = size_of(na) - k_max
            size = 1
            while size > 0:
                visits += 1
                top = cliques[size - 1, HAS]
                if size_of(top) >= least:
                    if count == max_operators:
                        return -1, xy, given, left_out
                    xy[count, 0], xy[count, 1] = x, y
                    for w in range(words):
                        given[count, w] = top[w] | p[PA, y, w]
                        left_out[count, w] = na[w] & ~top[w]
                    clear_bit(given[count], x)
                    count += 1
                if visits > VISITS_PER_OPERATOR * max_operators:
                    return -1, xy, given, left_out
                size = _grow(p, cliques, size, least)
    return count, xy, given, left_out


@inner
def _grow(p: Bits, cliques: Bits, size: int, least: int) -> int:
    """Replace the clique on top of a stack by those with one more element; the stack's new size.

    The clique itself stays in its place until the last of them takes it.
    """
    words = p.shape[2]
    top = size - 1
    while True:
        v = lowest(cliques[top, MAY])
        if v < 0:
            break
        clear_bit(cliques[top, MAY], v)
        for w in range(words):
            cliques[size, HAS, w] = cliques[top, HAS, w]
            joined = p[PA, v, w] | p[CH, v, w] | p[NE, v, w]
            cliques[size, MAY, w] = cliques[top, MAY, w] & joined
        set_bit(cliques[size, HAS], v)
        if size_of(cliques[size, HAS]) + size_of(cliques[size, MAY]) >= least:
            size += 1
    size -= 1
    for w in range(words):
        cliques[top, HAS, w] = cliques[size, HAS, w]
        cliques[top, MAY, w] = cliques[size, MAY, w]
    return size
