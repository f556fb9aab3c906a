"""Delete(x, y, H) in the CPDAG P, and the slots of the edges that it touches."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._bound_kernels import make_root
from fedbn.consensus._delete_kernels import delete_in_class
from fedbn.consensus._engine import (
    AFTER,
    CH,
    DEAD,
    FIRST,
    NA,
    NE,
    PA,
    PAX,
    Engine,
    F,
    Scratch,
    X,
    Y,
)
from fedbn.consensus._slot_kernels import free_chain
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit
from fedbn.kernel_parts import inner, inner_with_arrays


@inner_with_arrays
def delete_in_pattern(e: Engine, x: int, y: int, h: Bits, s: Scratch) -> bool:
    """P := P after Delete(x, y, H); new slots for edges whose NA, parents or cliques changed."""
    words = e.p.shape[2]
    look = np.zeros(words, dtype=np.uint64)
    if not delete_in_class(e.p, e.dag, e.places, x, y, h, look, s.spare):
        return False
    number = e.edge[x, y]
    free_chain(e, e.edges[number, FIRST])
    e.edges[number, FIRST] = -1
    e.edge[x, y] = -1
    e.edge[y, x] = -1
    for v in (x, y):
        for w in range(words):
            look[w] |= e.p[PA, v, w] | e.p[CH, v, w] | e.p[NE, v, w]
    for w in range(words):
        word = look[w]
        while word != ZERO:
            _refresh_edges_into(e, (w << 6) + np.int64(first_bit(word)), x, y, s)
            word &= word - ONE
    return True


@inner
def _refresh_edges_into(e: Engine, v: int, x: int, y: int, s: Scratch) -> None:
    """Repair the slots of all edges u -> v and u - v after x and y were parted."""
    for w in range(e.p.shape[2]):
        word = e.p[PA, v, w] | e.p[NE, v, w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if has_bit(e.p[NE, v], u) and v < u:
                _refresh(e, v, u, x, y, s)
            else:
                _refresh(e, u, v, x, y, s)


@inner
def describe(e: Engine, x: int, y: int, na: Bits, pax: Bits) -> None:
    """NA_yx = neighbours of y adjacent to x (Chickering 2002), and Pa(y) - x."""
    for w in range(na.shape[0]):
        na[w] = e.p[NE, y, w] & (e.p[PA, x, w] | e.p[CH, x, w] | e.p[NE, x, w])
        pax[w] = e.p[PA, y, w]
    clear_bit(pax, x)


@inner
def _refresh(e: Engine, a: int, b: int, x: int, y: int, s: Scratch) -> None:
    """Repair the slots of a -> b: new ones if NA or parents changed; otherwise only operators with
    both x and y in NA \\ H are valid no more."""
    number = e.edge[a, b]
    na, pax = s.spare[0], s.spare[1]
    describe(e, a, b, na, pax)
    same = e.edges[number, X] == a
    for w in range(na.shape[0]):
        same = same and na[w] == e.edge_sets[number, NA, w]
        same = same and pax[w] == e.edge_sets[number, PAX, w]
    if not same:
        e.edges[number, X] = a
        e.edges[number, Y] = b
        for w in range(na.shape[0]):
            e.edge_sets[number, NA, w] = na[w]
            e.edge_sets[number, PAX, w] = pax[w]
        make_root(e, number, s)
    elif has_bit(na, x) and has_bit(na, y):
        slot = e.edges[number, FIRST]
        while slot >= 0:
            if has_bit(e.sets[slot, F], x) and has_bit(e.sets[slot, F], y):
                e.bound[slot] = DEAD
            slot = e.slots[slot, AFTER]
