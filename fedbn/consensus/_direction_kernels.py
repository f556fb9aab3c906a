"""Kernel that moves inside an equivalence class. Public caller: `directions.py`.

Rows of uint64 words, bit j of word j >> 6.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.graphs._bit_kernels import ONE, ZERO, Bits, clear_bit, first_bit, has_bit, inner, set_bit

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def arc_margins(pa_inputs: Bits, weights: Ints, pa: Bits) -> Ints:
    """int64 [n, n]: for every edge x -> y of a DAG, at [x, y], the weight of the inputs with
    x -> y less that of those with y -> x; at [y, x] the negative."""
    n, words = pa.shape
    margins = np.zeros((n, n), dtype=np.int64)
    for y in range(n):
        for w in range(words):
            word = pa[y, w]
            while word != ZERO:
                x = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for i in range(weights.shape[0]):
                    if has_bit(pa_inputs[i, y], x):
                        margins[x, y] += weights[i]
                    elif has_bit(pa_inputs[i, x], y):
                        margins[x, y] -= weights[i]
                margins[y, x] = -margins[x, y]
    return margins


@njit(cache=True, nogil=True)
def reverse_covered(pa: Bits, margins: Ints) -> int:
    """Reverse covered edges x -> y of negative margin, in place, until there is none; how many.

    The most negative margin first, then the first (x, y).
    """
    n = pa.shape[0]
    count = 0
    while True:
        least, best_x, best_y = np.int64(0), -1, -1
        for x in range(n):
            for y in range(n):
                if margins[x, y] < least and has_bit(pa[y], x) and _is_covered(pa, x, y):
                    least, best_x, best_y = margins[x, y], x, y
        if best_x < 0:
            return count
        count += 1
        clear_bit(pa[best_y], best_x)
        set_bit(pa[best_x], best_y)


@inner
def _is_covered(pa: Bits, x: int, y: int) -> bool:
    """Whether the parents of y are x and the parents of x."""
    for w in range(pa.shape[1]):
        others = pa[y, w]
        if w == x >> 6:
            others &= ~(ONE << np.uint64(x & 63))
        if others != pa[x, w]:
            return False
    return True
