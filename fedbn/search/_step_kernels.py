"""The application of an operator: the DAG is reordered, then the CPDAG labelled anew."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, set_bit
from fedbn.graphs._cpdag_kernels import cpdag_bits
from fedbn.kernel_parts import inner_with_arrays
from fedbn.scores._tables import Integer
from fedbn.search._record_kernels import mark_new_neighbour, mark_stale, raise_ceilings
from fedbn.search._set_kernels import first, members
from fedbn.search._state import DELETE, INSERT, TURN, ZERO, Graph, Record


@inner_with_arrays
def step(g: Graph, record: Record, kind: Integer, y: Integer, x: Integer, chosen: Bits) -> bool:
    """Apply an operator and void what it touched; False if it was not valid."""
    n, words = g.adj.shape
    pa, ne = g.pa.copy(), g.ne.copy()
    if not apply_operator(g, kind, y, x, chosen):
        return False
    changed = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        for w in range(words):
            if pa[v, w] != g.pa[v, w] or ne[v, w] != g.ne[v, w]:
                set_bit(changed, v)
    if kind != INSERT or _some_edge_was_directed(g, ne):
        raise_ceilings(record)
    for other in range(1, 3):
        mark_stale(record, g, other, changed, y, x, kind)
    if kind == INSERT and has_bit(g.ne[y], x):
        for v, z in ((y, x), (x, y)):
            if _only_gained(g, pa[v], ne[v], v, z):
                clear_bit(changed, v)
                mark_new_neighbour(record, g, v, z)
    mark_stale(record, g, np.int64(INSERT), changed, y, x, kind)
    return True


@inner_with_arrays
def _some_edge_was_directed(g: Graph, ne: Bits) -> bool:
    """Whether an undirected edge of `ne` is not undirected any more."""
    for v in range(ne.shape[0]):
        for w in range(ne.shape[1]):
            if ne[v, w] & ~g.ne[v, w] != ZERO:
                return True
    return False


@inner_with_arrays
def _only_gained(g: Graph, pa: Bits, ne: Bits, v: Integer, z: Integer) -> bool:
    """Whether v, which had parents pa and neighbours ne, has changed by the neighbour z alone."""
    for w in range(pa.shape[0]):
        added = np.uint64(1) << np.uint64(z & 63) if w == z >> 6 else ZERO
        if g.pa[v, w] != pa[w] or g.ne[v, w] != ne[w] | added:
            return False
    return True


@inner_with_arrays
def apply_operator(g: Graph, kind: Integer, y: Integer, x: Integer, chosen: Bits) -> bool:
    """Move g to the class that an operator leads to; False if the operator was not valid."""
    n, words = g.adj.shape
    start = np.empty(n, dtype=np.int64)
    turned_back = kind == TURN and not has_bit(g.ne[y], x)  # y -> x becomes x -> y
    k = np.int64(_begin_order(g, kind, y, x, chosen, start))
    if not _put_component_in_order(g, start, k):
        return False
    if turned_back:
        start[0] = x
        if not _put_component_in_order(g, start, np.int64(1)):
            return False
    if not _change_edge(g, kind, y, x):
        return False
    pa, ch, ne = cpdag_bits(g.dag_pa, g.dag_ch)
    for v in range(n):
        for w in range(words):
            g.pa[v, w], g.ch[v, w], g.ne[v, w] = pa[v, w], ch[v, w], ne[v, w]
    return True


@inner_with_arrays
def _begin_order(
    g: Graph, kind: Integer, y: Integer, x: Integer, chosen: Bits, start: NDArray[np.int64]
) -> int:
    """start := how the order of y's chain component begins; returns the length.

    First the clique C, the neighbours of y that become its parents: NA_yx ∪ T of Insert,
    NA_yx \\ H of Delete, C of Turn. Then y, with an undirected neighbour x before it in a Delete
    and after it in a Turn.
    """
    clique = np.empty(chosen.shape[0], dtype=np.uint64)
    for w in range(chosen.shape[0]):
        na = g.ne[y, w] & g.adj[x, w]
        clique[w] = chosen[w]
        if kind == INSERT:
            clique[w] |= na
        elif kind == DELETE:
            clique[w] = na & ~chosen[w]
    k = members(clique, start)
    undirected = has_bit(g.ne[y], x)
    if kind == DELETE and undirected:
        start[k] = x
        k += 1
    start[k] = y
    k += 1
    if kind == TURN and undirected:
        start[k] = x
        k += 1
    return int(k)


@inner_with_arrays
def _change_edge(g: Graph, kind: Integer, y: Integer, x: Integer) -> bool:
    """Insert, delete or turn the edge in the DAG; False if a cycle would close."""
    if kind == DELETE:
        clear_bit(g.dag_pa[y], x)
        clear_bit(g.dag_ch[x], y)
        clear_bit(g.adj[y], x)
        clear_bit(g.adj[x], y)
        return True
    if kind == TURN:
        clear_bit(g.dag_pa[x], y)
        clear_bit(g.dag_ch[y], x)
    if _reaches(g, y, x):
        return False
    set_bit(g.dag_pa[y], x)
    set_bit(g.dag_ch[x], y)
    set_bit(g.adj[y], x)
    set_bit(g.adj[x], y)
    return True


@inner_with_arrays
def _reaches(g: Graph, source: Integer, target: Integer) -> bool:
    """Whether the DAG has a directed path from source to target."""
    words = g.dag_ch.shape[1]
    seen = np.zeros(words, dtype=np.uint64)
    set_bit(seen, source)
    head, tail = 0, 1
    g.queue[0] = source
    while head < tail:
        u = g.queue[head]
        head += 1
        if u == target:
            return True
        for w in range(words):
            word = g.dag_ch[u, w] & ~seen[w]
            seen[w] |= word
            while word != ZERO:
                g.queue[tail] = first(w, word)
                word &= word - np.uint64(1)
                tail += 1
    return False


@inner_with_arrays
def _put_component_in_order(g: Graph, start: NDArray[np.int64], given: Integer) -> bool:
    """Direct the chain component of start[0] in the DAG by an order that begins with `start`.

    The rest follows by maximum cardinality (smallest index first). False unless the earlier
    neighbours of every node are a clique, that is, unless the order is perfect.
    """
    waiting = np.zeros(g.ne.shape[1], dtype=np.uint64)
    size = _undirect_component(g, start[0], waiting)
    for position in range(size):
        v = start[position] if position < given else _most_preceded(g, waiting)
        clear_bit(waiting, v)
        g.rank[v] = position
        if not _is_preceded_by_clique(g, v):
            return False
        for w in range(waiting.shape[0]):
            word = g.ne[v, w] & waiting[w]
            g.dag_ch[v, w] |= word
            while word != ZERO:
                u = first(w, word)
                word &= word - np.uint64(1)
                set_bit(g.dag_pa[u], v)
                g.before[u] += 1
    return True


@inner_with_arrays
def _undirect_component(g: Graph, v: Integer, component: Bits) -> int:
    """component := the chain component of v, its edges taken out of the DAG; returns its size."""
    set_bit(component, v)
    head, size = 0, 1
    g.queue[0] = v
    while head < size:
        u = g.queue[head]
        head += 1
        g.before[u] = 0
        for w in range(component.shape[0]):
            word = g.ne[u, w] & ~component[w]
            component[w] |= word
            while word != ZERO:
                g.queue[size] = first(w, word)
                word &= word - np.uint64(1)
                size += 1
            g.dag_pa[u, w] &= ~g.ne[u, w]
            g.dag_ch[u, w] &= ~g.ne[u, w]
    return size


@inner_with_arrays
def _most_preceded(g: Graph, waiting: Bits) -> Integer:
    """The node that waits with most neighbours in front of it, the smallest of them."""
    best = np.int64(-1)
    for w in range(waiting.shape[0]):
        word = waiting[w]
        while word != ZERO:
            u = first(w, word)
            word &= word - np.uint64(1)
            if best < 0 or g.before[u] > g.before[best]:
                best = u
    return best


@inner_with_arrays
def _is_preceded_by_clique(g: Graph, v: Integer) -> bool:
    """Whether the neighbours in front of v are adjacent to the last of them; as this holds for
    every node, they are a clique."""
    last = np.int64(-1)
    for w in range(g.ne.shape[1]):
        word = g.ne[v, w] & g.dag_pa[v, w]
        while word != ZERO:
            u = first(w, word)
            word &= word - np.uint64(1)
            if last < 0 or g.rank[u] > g.rank[last]:
                last = u
    if last < 0:
        return True
    for w in range(g.ne.shape[1]):
        others = g.ne[v, w] & g.dag_pa[v, w] & ~g.adj[last, w]
        if w == last >> 6:
            others &= ~(np.uint64(1) << np.uint64(last & 63))
        if others != ZERO:
            return False
    return True


@inner_with_arrays
def settle_components(g: Graph) -> bool:
    """Make the DAG of g the one that depends on the CPDAG alone: each chain component in order
    of maximum cardinality from its smallest node."""
    n, words = g.adj.shape
    start = np.empty(1, dtype=np.int64)
    done = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        if has_bit(done, v):
            continue
        start[0] = v
        _undirect_component(g, start[0], done)
        if not _put_component_in_order(g, start, np.int64(1)):
            return False
    return True
