"""Kernel of the greedy descent on the mean SMHD. Public caller: `median.py`.

Rows of uint64 words, bit j of word j >> 6. gain int64 [n, n] = W - 2 c_e: what a moral edge e adds
to the weighted sum of SMHD. reasons int32 [n, n]: how often a pair is joined in the moral graph,
by an edge or by a common child.
"""
# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints, Ints32
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, set_bit
from fedbn.graphs._cpdag_kernels import ancestors_bits
from fedbn.kernel_door import door

ADD, DELETE, REVERSE = 0, 1, 2


@door
def toggle_delta(pa: Bits, x: int, y: int, reasons: Ints32, gain: Ints, sign: int) -> int:
    """Change of the sum when x -> y is added (sign 1) or deleted (sign -1)."""
    edge = 0 if sign > 0 else 1
    delta = gain[x, y] if reasons[x, y] == edge else 0
    for w in range(pa.shape[1]):
        word = pa[y, w]
        while word != ZERO:
            p = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if p != x and reasons[x, p] == edge:
                delta += gain[x, p]
    return sign * delta


@door
def toggle(pa: Bits, ch: Bits, x: int, y: int, reasons: Ints32, sign: int) -> None:
    """Add (sign 1) or delete (sign -1) x -> y and keep `reasons`."""
    reasons[x, y] += sign
    reasons[y, x] += sign
    for w in range(pa.shape[1]):
        word = pa[y, w]
        while word != ZERO:
            p = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if p != x:
                reasons[x, p] += sign
                reasons[p, x] += sign
    if sign > 0:
        set_bit(pa[y], x)
        set_bit(ch[x], y)
    else:
        clear_bit(pa[y], x)
        clear_bit(ch[x], y)


@door
def _reversible(ch: Bits, anc: Bits, x: int, y: int) -> bool:
    """Whether x -> y is the only directed path from x to y."""
    for w in range(ch.shape[1]):
        others = ch[x, w] & anc[y, w]
        if w == y >> 6:
            others &= ~(ONE << np.uint64(y & 63))
        if others != ZERO:
            return False
    return True


@door
def descend(pa: Bits, ch: Bits, gain: Ints) -> int:
    """Apply the valid single-edge change that lowers the sum most, until none does, in place.

    Ties: the first (x, y), then delete before reverse. Returns the number of changes.
    """
    n, words = pa.shape
    reasons = np.zeros((n, n), dtype=np.int32)
    empty = np.zeros((n, words), dtype=np.uint64)
    children = np.zeros((n, words), dtype=np.uint64)
    for y in range(n):
        for w in range(words):
            word = pa[y, w]
            while word != ZERO:
                toggle(empty, children, (w << 6) + np.int64(first_bit(word)), y, reasons, 1)
                word &= word - ONE
    changes = 0
    while True:
        anc = ancestors_bits(pa, ch)
        best, best_x, best_y, kind = 0, -1, -1, ADD
        for x in range(n):
            for y in range(n):
                if x == y:
                    continue
                if has_bit(pa[y], x):
                    delta = toggle_delta(pa, x, y, reasons, gain, -1)
                    if delta < best:
                        best, best_x, best_y, kind = delta, x, y, DELETE
                    if _reversible(ch, anc, x, y):
                        toggle(pa, ch, x, y, reasons, -1)
                        delta += toggle_delta(pa, y, x, reasons, gain, 1)
                        toggle(pa, ch, x, y, reasons, 1)
                        if delta < best:
                            best, best_x, best_y, kind = delta, x, y, REVERSE
                elif not has_bit(anc[x], y):
                    delta = toggle_delta(pa, x, y, reasons, gain, 1)
                    if delta < best:
                        best, best_x, best_y, kind = delta, x, y, ADD
        if best_x < 0:
            return changes
        changes += 1
        if kind != ADD:
            toggle(pa, ch, best_x, best_y, reasons, -1)
        if kind == ADD:
            toggle(pa, ch, best_x, best_y, reasons, 1)
        elif kind == REVERSE:
            toggle(pa, ch, best_y, best_x, reasons, 1)
