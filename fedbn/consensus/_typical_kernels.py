"""One minimum cut for many inputs: those that differ from the typical graph out of its reach.

Many inputs are copies of one graph with a few arcs changed. The typical graph is such a graph; of
every input the engine keeps the arcs in which it differs from that one (`differs`). A flow reads
nothing of a graph but the rows of the nodes that it touches, T, in moral(A) - S, where A is
An({x, y} + low). If those rows are the same in an input, so are the flow, its value and its cut.
They are the same if, for every arc a -> b in which the two differ and whose head b is in the A of
the typical graph,

1. a is in A of both, or no node of T is a or one of its ancestors, in the graph that has the arc.
   For what A gains or loses are such ancestors; they touch the rest of A as children, whose parents
   are ancestors too, or by an arc in which the graphs differ;
2. a is in S, or neither b nor a parent of b in either graph is in T. For the arc changes no pair of
   the moral graph but a - b, and a - q for the other parents q of b.

The typical graph loses arcs like an input, and `differs` is kept, so this stays a good guess and
is always exact.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._cut_kernels import is_inside
from fedbn.consensus._engine import ALLOWED, ANC, INSIDE, PA, TOUCHED, Engine, Scratch
from fedbn.graphs._bit_kernels import ZERO, has_bit, inner, set_bit


@inner
def fill_touched(s: Scratch, touched: Bits) -> None:
    """touched := the nodes that the last minimum cut read the rows of."""
    for w in range(touched.shape[0]):
        touched[w] = ZERO
    for k in range(s.size[0]):
        set_bit(touched, s.lists[TOUCHED, k])


@inner
def _overlap(row: Bits, other: Bits) -> bool:
    """Whether two sets have a member in common."""
    common = ZERO
    for w in range(row.shape[0]):
        common |= row[w] & other[w]
    return common != ZERO


@inner
def has_same_cut(e: Engine, i: int, x: int, y: int, low: Bits, touched: Bits, s: Scratch) -> bool:
    """Whether input i has the cut that was found in the typical graph, as far as can be told.

    s: as `min_cut_bits` of the typical graph left it.
    """
    if e.differing[i] < 0:
        return False
    g, typical = e.graphs[i], e.typical
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        if not has_bit(s.sets[INSIDE], b):
            continue
        if has_bit(g[PA, b], a):
            if not has_bit(s.sets[INSIDE], a) and _overlap(g[ANC, a], touched):
                return False
        elif _overlap(typical[ANC, a], touched) and not is_inside(g, a, x, y, low):
            return False
        if has_bit(s.sets[INSIDE], a) and not has_bit(s.sets[ALLOWED], a):
            continue
        if has_bit(touched, b):
            return False
        if _overlap(g[PA, b], touched) or _overlap(typical[PA, b], touched):
            return False
    return True


@inner
def note_difference(e: Engine, i: int, a: int, b: int) -> None:
    """The arc a -> b left input i or the typical graph, and not the other one.

    An input with more differences than `differs` holds is compared no more.
    """
    count = e.differing[i]
    if count < 0:
        return
    for k in range(count):
        if e.differs[i, k, 0] == a and e.differs[i, k, 1] == b:
            e.differs[i, k, 0] = e.differs[i, count - 1, 0]
            e.differs[i, k, 1] = e.differs[i, count - 1, 1]
            e.differing[i] = count - 1
            return
    if count == e.differs.shape[1]:
        e.differing[i] = -1
        return
    e.differs[i, count, 0] = a
    e.differs[i, count, 1] = b
    e.differing[i] = count + 1
