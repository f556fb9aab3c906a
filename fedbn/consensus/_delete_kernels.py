"""Delete(x, y, H) in a CPDAG of which a consistent extension is at hand.

p uint64 [3, n, W]: PA, CH, NE of every node. dag [2, n, W]: PA, CH of the extension; places int64
[2, n]: a topological order of it, and the place of every node.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits, Ints
from fedbn.consensus._engine import CH, NE, PA
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, has_bit, set_bit
from fedbn.graphs._cpdag_kernels import (
    cpdag_bits,
    extend_bits,
    label_parents,
    topological_bits,
)
from fedbn.kernel_parts import inner, inner_with_arrays


@inner_with_arrays
def _extend_parted(
    pa: Bits, ch: Bits, ne: Bits, x: int, y: int, h: Bits
) -> tuple[bool, Bits, Bits]:
    """A DAG of the class that Delete(x, y, H) leads to, as (valid, pa, ch).

    Removes the edge between x and y; for every h in H directs y - h as y -> h and x - h, if
    undirected, as x -> h; then takes a consistent extension.
    """
    pa, ch, ne = pa.copy(), ch.copy(), ne.copy()
    clear_bit(pa[y], x)
    clear_bit(ch[x], y)
    clear_bit(ne[y], x)
    clear_bit(ne[x], y)
    for w in range(h.shape[0]):
        word = h[w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for p in (x, y):
                if has_bit(ne[p], c):
                    clear_bit(ne[p], c)
                    clear_bit(ne[c], p)
                    set_bit(ch[p], c)
                    set_bit(pa[c], p)
    return extend_bits(pa, ch, ne)


@inner_with_arrays
def delete_bits(
    pa: Bits, ch: Bits, ne: Bits, x: int, y: int, h: Bits
) -> tuple[bool, Bits, Bits, Bits]:
    """Chickering's Delete(x, y, H) in a CPDAG: (valid, pa, ch, ne) of the CPDAG that results."""
    valid, dag_pa, dag_ch = _extend_parted(pa, ch, ne, x, y, h)
    if not valid:
        return False, pa, ch, ne
    pa, ch, ne = cpdag_bits(dag_pa, dag_ch)
    return True, pa, ch, ne


@inner_with_arrays
def delete_in_class(
    p: Bits, dag: Bits, places: Ints, x: int, y: int, h: Bits, look: Bits, spare: Bits
) -> bool:
    """P := P after Delete(x, y, H), with its extension; whether that is valid.

    look: gets the nodes whose parents or neighbours changed. spare [3, W] is scratch.
    """
    apart = True
    for w in range(h.shape[0]):
        apart = apart and p[NE, y, w] & (p[PA, x, w] | p[CH, x, w] | p[NE, x, w]) == ZERO
    if not apart:
        return _label_anew(p, dag, places, x, y, h, look)
    _label_without(p, dag, places, x, y, look, spare)
    return True


@inner_with_arrays
def _label_anew(p: Bits, dag: Bits, places: Ints, x: int, y: int, h: Bits, look: Bits) -> bool:
    """P after a Delete from a new extension; `look`: nodes whose parents or neighbours changed."""
    n, words = p.shape[1:]
    valid, dag_pa, dag_ch = _extend_parted(p[PA], p[CH], p[NE], x, y, h)
    if not valid:
        return False
    pa, ch, ne = cpdag_bits(dag_pa, dag_ch)
    order = topological_bits(dag_pa, dag_ch)
    for v in range(n):
        places[0, v] = order[v]
        places[1, order[v]] = v
        for w in range(words):
            if pa[v, w] != p[PA, v, w] or ne[v, w] != p[NE, v, w]:
                set_bit(look, v)
            p[PA, v, w] = pa[v, w]
            p[CH, v, w] = ch[v, w]
            p[NE, v, w] = ne[v, w]
            dag[PA, v, w] = dag_pa[v, w]
            dag[CH, v, w] = dag_ch[v, w]
    return True


@inner
def _label_without(
    p: Bits, dag: Bits, places: Ints, x: int, y: int, look: Bits, spare: Bits
) -> None:
    """P after a Delete with NA_yx empty; `look`: nodes whose parents or neighbours changed.

    Then every common child of x and y in the extension is one in P, so the extension without the
    edge extends P without it. Labels change only where those of parents do, in topological order.
    """
    dirty, before, known = spare[0], spare[1], spare[2]
    tail, head = (x, y) if has_bit(dag[PA, y], x) else (y, x)
    clear_bit(dag[PA, head], tail)
    clear_bit(dag[CH, tail], head)
    for part in range(3):
        clear_bit(p[part, x], y)
        clear_bit(p[part, y], x)
    set_bit(look, x)
    set_bit(look, y)
    for w in range(dirty.shape[0]):
        dirty[w] = dag[CH, head, w]
    set_bit(dirty, head)
    for place in range(places[1, head], p.shape[1]):
        v = places[0, place]
        if not has_bit(dirty, v):
            continue
        for w in range(dirty.shape[0]):
            before[w] = p[PA, v, w]
        label_parents(dag[PA], p[PA], places[1], v, known)
        if _turn_edges_into(p, v, before, look):
            for w in range(dirty.shape[0]):
                dirty[w] |= dag[CH, v, w]


@inner
def _turn_edges_into(p: Bits, v: int, before: Bits, look: Bits) -> bool:
    """CH and NE of P where the compelled parents of v are not those `before`; whether they are."""
    turned = False
    for w in range(before.shape[0]):
        word = before[w] ^ p[PA, v, w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            turned = True
            set_bit(look, u)
            set_bit(look, v)
            if has_bit(p[PA, v], u):
                set_bit(p[CH, u], v)
                clear_bit(p[NE, u], v)
                clear_bit(p[NE, v], u)
            else:
                clear_bit(p[CH, u], v)
                set_bit(p[NE, u], v)
                set_bit(p[NE, v], u)
    return turned
