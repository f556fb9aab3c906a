"""Delete(x, y, H) in the CPDAG P, and the slots of the edges that it touches."""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np

from fedbn.arrays import Bits
from fedbn.consensus._bound_kernels import make_root
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
from fedbn.consensus._slot_kernels import free_chain, size_of
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
def delete_in_pattern(e: Engine, x: int, y: int, h: Bits, s: Scratch) -> bool:
    """P := P after Delete(x, y, H); new slots for edges whose NA, parents or cliques changed."""
    words = e.p.shape[2]
    look = np.zeros(words, dtype=np.uint64)
    number = e.edge[x, y]
    if size_of(e.edge_sets[number, NA]) == 0:
        _label_without(e, x, y, look, s)
    elif not _label_anew(e, x, y, h, look):
        return False
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


@inner_with_arrays
def _label_anew(e: Engine, x: int, y: int, h: Bits, look: Bits) -> bool:
    """P after a Delete from a new extension; `look`: nodes whose parents or neighbours changed."""
    n, words = e.p.shape[1:]
    valid, dag_pa, dag_ch = _extend_parted(e.p[PA], e.p[CH], e.p[NE], x, y, h)
    if not valid:
        return False
    pa, ch, ne = cpdag_bits(dag_pa, dag_ch)
    order = topological_bits(dag_pa, dag_ch)
    for v in range(n):
        e.places[0, v] = order[v]
        e.places[1, order[v]] = v
        for w in range(words):
            if pa[v, w] != e.p[PA, v, w] or ne[v, w] != e.p[NE, v, w]:
                set_bit(look, v)
            e.p[PA, v, w] = pa[v, w]
            e.p[CH, v, w] = ch[v, w]
            e.p[NE, v, w] = ne[v, w]
            e.dag[PA, v, w] = dag_pa[v, w]
            e.dag[CH, v, w] = dag_ch[v, w]
    return True


@inner
def _label_without(e: Engine, x: int, y: int, look: Bits, s: Scratch) -> None:
    """P after a Delete with NA_yx empty; `look`: nodes whose parents or neighbours changed.

    Then every common child of x and y in the extension is one in P, so the extension without the
    edge extends P without it. Labels change only where those of parents do, in topological order.
    """
    dirty, before, known = s.spare[0], s.spare[1], s.spare[2]
    tail, head = (x, y) if has_bit(e.dag[PA, y], x) else (y, x)
    clear_bit(e.dag[PA, head], tail)
    clear_bit(e.dag[CH, tail], head)
    for part in range(3):
        clear_bit(e.p[part, x], y)
        clear_bit(e.p[part, y], x)
    set_bit(look, x)
    set_bit(look, y)
    for w in range(dirty.shape[0]):
        dirty[w] = e.dag[CH, head, w]
    set_bit(dirty, head)
    for place in range(e.places[1, head], e.p.shape[1]):
        v = e.places[0, place]
        if not has_bit(dirty, v):
            continue
        for w in range(dirty.shape[0]):
            before[w] = e.p[PA, v, w]
        label_parents(e.dag[PA], e.p[PA], e.places[1], v, known)
        if _turn_edges_into(e, v, before, look):
            for w in range(dirty.shape[0]):
                dirty[w] |= e.dag[CH, v, w]


@inner
def _turn_edges_into(e: Engine, v: int, before: Bits, look: Bits) -> bool:
    """CH and NE of P where the compelled parents of v are not those `before`; whether they are."""
    turned = False
    for w in range(before.shape[0]):
        word = before[w] ^ e.p[PA, v, w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            turned = True
            set_bit(look, u)
            set_bit(look, v)
            if has_bit(e.p[PA, v], u):
                set_bit(e.p[CH, u], v)
                clear_bit(e.p[NE, u], v)
                clear_bit(e.p[NE, v], u)
            else:
                clear_bit(e.p[CH, u], v)
                set_bit(e.p[NE, u], v)
                set_bit(e.p[NE, v], u)
    return turned


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
