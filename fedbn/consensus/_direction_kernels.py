"""Kernel that moves inside an equivalence class. Public caller: `directions.py`.

Rows of uint64 words, bit j of word j >> 6.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.graphs._bit_kernels import ONE, clear_bit, has_bit, set_bit
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner


@door_to_sets
def reverse_covered(pa: Bits, margins: Ints) -> int:
    """Reverse covered edges x -> y of negative margin, in place, until there is none; how many.

    margins int64 [n, n], at [x, y]: the weight of the inputs with x -> y less that of those with
    y -> x. The most negative one first, then the first (x, y).
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
