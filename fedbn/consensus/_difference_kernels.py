"""How the inputs differ from the typical graph: the arcs in which they do, and marks to find them.

`differs` has the arcs of every input that one of it and the typical graph has. To look at every
input would cost more than a minimum cut. `marks` tell which inputs have a difference that leaves or
enters a node, 64 inputs in a word: the few that must be looked at are found by or and and. The
inputs with such an arc of their own, which the typical graph lacks, are marked once more: an arc
that an input lacks can only make its cuts smaller.

The typical graph loses arcs like an input, and `differs` is kept, so this stays a good guess and
is always exact.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._engine import (
    ANC,
    DES,
    DIFFERENT,
    HEADS,
    PA,
    SOME,
    TAILS,
    UNLIKE,
    Engine,
    Scratch,
)
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, popcount, set_bit
from fedbn.kernel_parts import inner

MANY_NODES = 48  # nearly all inputs have a mark at one of so many nodes


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
            for kind in range(2):
                clear_bit(e.marks[kind, TAILS, a], i)
                clear_bit(e.marks[kind, HEADS, b], i)
            mark_differences(e, i)
            return
    if count == e.differs.shape[1]:
        e.differing[i] = -1
    else:
        e.differs[i, count, 0] = a
        e.differs[i, count, 1] = b
        e.differing[i] = count + 1
    mark_differences(e, i)


@inner
def mark_differences(e: Engine, i: int) -> None:
    """Set the marks of input i, of which none is wrong."""
    for k in range(e.differing[i]):
        a, b = np.int64(e.differs[i, k, 0]), np.int64(e.differs[i, k, 1])
        for kind in range(2 - has_bit(e.typical[PA, b], a)):
            set_bit(e.marks[kind, TAILS, a], i)
            set_bit(e.marks[kind, HEADS, b], i)
    if e.differing[i] < 0:
        for v in range(e.marks.shape[2]):
            for kind in range(2):
                set_bit(e.marks[kind, TAILS, v], i)
                set_bit(e.marks[kind, HEADS, v], i)


@inner
def fill_joined(rows: Bits, nodes: Bits, out: Bits) -> None:
    """out := the union of the rows of `nodes`."""
    for w in range(out.shape[0]):
        out[w] = ZERO
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(out.shape[0]):
                out[k] |= rows[v, k]


@inner
def fill_marked(marks: Bits, nodes: Bits, out: Bits) -> None:
    """out := the inputs with a mark at one of `nodes`; all of them if these are many.

    marks [n, R]: of one kind (DIFFERENT or ALONE) and one end (TAILS or HEADS).
    """
    count = 0
    for w in range(nodes.shape[0]):
        count += np.int64(popcount(nodes[w]))
    if count <= MANY_NODES:
        fill_joined(marks, nodes, out)
        return
    for k in range(out.shape[0]):
        out[k] = ~ZERO


@inner
def fill_reached_anew(e: Engine, nodes: Bits, x: int, y: int, given: Bits, s: Scratch) -> None:
    """s.inputs[UNLIKE] := all inputs but such as surely have the same ones of `nodes` in
    An({x, y} + given) as the typical graph.

    On a path that only one of the graphs has, the first difference leaves a node below `nodes`,
    and the last one enters an ancestor of {x, y} + given.
    """
    g = e.typical
    below, above = s.spare[6], s.spare[7]
    fill_joined(g[DES], nodes, below)
    fill_joined(g[ANC], given, above)
    for w in range(given.shape[0]):
        above[w] |= g[ANC, x, w] | g[ANC, y, w]
    fill_marked(e.marks[DIFFERENT, TAILS], below, s.inputs[UNLIKE])
    fill_marked(e.marks[DIFFERENT, HEADS], above, s.inputs[SOME])
    for k in range(s.inputs.shape[1]):
        s.inputs[UNLIKE, k] &= s.inputs[SOME, k]
