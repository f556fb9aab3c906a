"""Kernels of the Greedy Delete on bitsets: rows of uint64 words, bit j of word j >> 6.

Public callers: `mcbnc.py` (`advance` and the making of an `Engine`), `min_cut.py`, `threshold.py`.
The search keeps, for every edge x -> y of the CPDAG P (undirected ones with x < y: both
orientations have the same NA and the same parents of y, hence the same cuts), a set of *slots*
that together stand for all subsets H of NA_yx with at most k_max elements. A slot (H, F, U): H is
left out of S, S contains F, and the elements of U are undecided. Its kind: OPERATOR, U is empty;
FAMILY, all H + T with T in U; REST, the same without H itself.

Bounds (a slot never needs more than its bound to be known not to be the best):

1. Sub-families. Let lo = F and hi = F + U. For every S with lo <= S <= hi the graph
   moral(An({x, y} + lo)) - hi is a subgraph of moral(An({x, y} + S)) - S: ancestors grow with
   the set, arcs and marriages grow with the ancestors, and more is removed. Minimum cuts are
   monotone in the graph, so mincut(lo, hi) bounds the whole family from below; U empty: equality.
2. Adjacency. x and y joined by an arc of input i: its cut is at least 1. `votes` keeps the sums.
3. Arcs of an input only ever disappear, so its ancestral moral graphs only shrink: a cached value
   is an upper bound for ever. Hence a cached 0 stays 0, and a cached 1 stays 1 while x and y are
   joined. Any other value is kept iff no removed arc a -> b had b in An({x, y} + hi), else what it
   was computed from may have changed and it falls back to bound 2.
4. Certain marriages. If x and y have a common child c outside An({x, y} + lo) with more
   descendants in U than H may still grow by, one of them is in S, so c is in An({x, y} + S) and
   x, y are married in every member: one edge more than in bound 1, unless it is there already.

Bound 1 is attained in each input by S = hi intersected with An({x, y} + lo); only because inputs
disagree on that S, and H is limited, must families be split: on an element of disagreement.
So the best operator is found by best-first search over slots in the order (bound, x, y, |H|, H).
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.fusion._kernels import ancestors_bits
from fedbn.graphs._kernels import (
    ONE,
    ZERO,
    Bits,
    clear_bit,
    cpdag_bits,
    extend_bits,
    first_bit,
    has_bit,
    popcount,
    set_bit,
    topological_bits,
    transposed_bits,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Ints16 = NDArray[np.int16]

DONE, LIMIT, NO_SLOT, PAUSE, BROKEN = 0, 1, 2, 3, 4
DEAD = np.int64(2**62)
FREE, REMOVED_ARCS, STEPS = 0, 1, 2
SPLIT_AT_ONCE = 2
OPERATOR, FAMILY, REST = 0, 1, 2


class Engine(NamedTuple):
    """All arrays of a running search, changed in place by the kernels.

    Inputs: pa, ch, anc and des (ancestors, descendants, with self), mor (moral graph), [r, n, W];
    topo int64 [r, n], a topological order;
    weights int64 [r]; votes int64 [n, n], weight of the inputs that join a pair by an arc.
    P: p_pa, p_ch, p_ne [n, W]. Edges of P: edge int32 [n, n], number of the edge of a pair or -1;
    head int32 [E, 2], its (x, y); joined int8 [E, r], 1 where an input joins the pair; na, pax
    [E, W], NA_yx and Pa(y) - x; first int32 [E], its slots.
    Slots: owner (edge, -1 free) and after (next of the same edge, or next free) int32 [C];
    kind int8 [C]; H, F, U [C, W]; bound int64 [C]; unknown int32 [C], number of inexact inputs;
    cut int16 [C, r], v >= 0 exact, -1 - b a lower bound b.
    clip int64 [1]: a cut counts as at most this.
    counters int64 [3]: first free slot, arcs removed so far, steps so far.
    Records: step_xy int32 [E, 2], step_psi int64 [E], step_h [E, W]; arcs int32 [arcs, 4] (step,
    input, a, b) of the arcs a -> b removed.
    """

    pa: Bits
    ch: Bits
    anc: Bits
    des: Bits
    mor: Bits
    topo: Ints
    weights: Ints
    votes: Ints
    p_pa: Bits
    p_ch: Bits
    p_ne: Bits
    edge: Ints32
    head: Ints32
    joined: NDArray[np.int8]
    na: Bits
    pax: Bits
    first: Ints32
    owner: Ints32
    after: Ints32
    kind: NDArray[np.int8]
    h: Bits
    f: Bits
    u: Bits
    bound: Ints
    unknown: Ints32
    cut: Ints16
    clip: Ints
    counters: Ints
    step_xy: Ints32
    step_psi: Ints
    step_h: Bits
    arcs: Ints32


class Scratch(NamedTuple):
    """Working memory of one minimum cut.

    inside, allowed, reach [W]; row, used [n, W]; have, origin, queue, touched int64 [n];
    size int64 [1], the number of touched nodes.
    """

    inside: Bits
    allowed: Bits
    reach: Bits
    row: Bits
    used: Bits
    have: Ints
    origin: Ints
    queue: Ints
    touched: Ints
    size: Ints


@njit(cache=True, nogil=True)
def make_scratch(n: int, words: int) -> Scratch:
    """Zeroed working memory for graphs of n nodes."""
    return Scratch(
        np.zeros(words, dtype=np.uint64),
        np.zeros(words, dtype=np.uint64),
        np.zeros(words, dtype=np.uint64),
        np.zeros((n, words), dtype=np.uint64),
        np.zeros((n, words), dtype=np.uint64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def moral_bits(pa: Bits, ch: Bits, v: int, out: Bits) -> None:
    """Neighbours of v in the moral graph of one DAG, into `out`."""
    words = pa.shape[1]
    for w in range(words):
        out[w] = pa[v, w] | ch[v, w]
    for w in range(words):
        word = ch[v, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                out[k] |= pa[c, k]
    clear_bit(out, v)


@njit(cache=True, nogil=True)
def _fetch_row(pa: Bits, ch: Bits, mor: Bits, v: int, s: Scratch) -> None:
    """Row of v in the moral graph of the ancestral subgraph minus S, into s.row[v]."""
    words = pa.shape[1]
    s.have[v] = 1
    s.touched[s.size[0]] = v
    s.size[0] += 1
    row = s.row[v]
    whole = True
    for w in range(words):
        if ch[v, w] & ~s.inside[w] != ZERO:
            whole = False
    if whole:
        for w in range(words):
            row[w] = mor[v, w] & s.allowed[w]
        return
    for w in range(words):
        row[w] = pa[v, w]
    for w in range(words):
        word = ch[v, w] & s.inside[w]
        row[w] |= word
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                row[k] |= pa[c, k]
    clear_bit(row, v)
    for w in range(words):
        row[w] &= s.allowed[w]


@njit(cache=True, nogil=True)
def _augmented(pa: Bits, ch: Bits, mor: Bits, y: int, x: int, s: Scratch) -> bool:
    """One augmenting path from y to x in the residual graph; else s.reach is what y reaches."""
    words = pa.shape[1]
    s.reach[:] = ZERO
    set_bit(s.reach, y)
    s.queue[0] = y
    start, end = 0, 1
    while start < end:
        v = s.queue[start]
        start += 1
        if s.have[v] == 0:
            _fetch_row(pa, ch, mor, v, s)
        for w in range(words):
            fresh = s.row[v, w] & ~s.used[v, w] & ~s.reach[w]
            s.reach[w] |= fresh
            while fresh != ZERO:
                c = (w << 6) + np.int64(first_bit(fresh))
                fresh &= fresh - ONE
                s.origin[c] = v
                s.queue[end] = c
                end += 1
        if has_bit(s.reach, x):
            c = x
            while c != y:
                v = s.origin[c]
                if has_bit(s.used[c], v):
                    clear_bit(s.used[c], v)
                else:
                    set_bit(s.used[v], c)
                c = v
            return True
    return False


@njit(cache=True, nogil=True)
def min_cut_bits(
    pa: Bits, ch: Bits, anc: Bits, mor: Bits, x: int, y: int, low: Bits, free: Bits, s: Scratch
) -> int:
    """Minimum cut between x and y in moral(An({x, y} + low)) - (low + free), unit capacities.

    Afterwards, for a value > 0, s.reach is the side of y of the minimum cut nearest to y: what y
    reaches in the residual graph of a maximum flow from y (unique). s.inside is the ancestral
    set, s.allowed the same without low + free.
    """
    words = pa.shape[1]
    for w in range(words):
        s.inside[w] = anc[x, w] | anc[y, w]
    for w in range(words):
        word = low[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                s.inside[k] |= anc[v, k]
    for w in range(words):
        s.allowed[w] = s.inside[w] & ~(low[w] | free[w])
    s.size[0] = 0
    value = 0
    _fetch_row(pa, ch, mor, x, s)
    _fetch_row(pa, ch, mor, y, s)
    from_x, from_y = ZERO, ZERO
    for w in range(words):
        from_x |= s.row[x, w]
        from_y |= s.row[y, w]
    if from_x != ZERO and from_y != ZERO:
        if has_bit(s.row[y], x):
            value += 1
            set_bit(s.used[y], x)
        for w in range(words):
            word = s.row[y, w] & s.row[x, w]
            s.used[y, w] |= word
            while word != ZERO:
                c = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                _fetch_row(pa, ch, mor, c, s)
                set_bit(s.used[c], x)
                value += 1
        while _augmented(pa, ch, mor, y, x, s):
            value += 1
    for i in range(s.size[0]):
        v = s.touched[i]
        s.have[v] = 0
        for w in range(words):
            s.used[v, w] = ZERO
    return value


@njit(cache=True, nogil=True)
def cut_arcs_bits(pa: Bits, ch: Bits, s: Scratch, out: Ints32) -> int:
    """Arcs (a, b) of the input across the cut that `min_cut_bits` left in `s`; their number."""
    words = pa.shape[1]
    count = 0
    for w in range(words):
        word = s.reach[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                over = s.allowed[k] & ~s.reach[k]
                up = pa[v, k] & over
                while up != ZERO:
                    out[count, 0] = (k << 6) + np.int64(first_bit(up))
                    out[count, 1] = v
                    count += 1
                    up &= up - ONE
                down = ch[v, k] & over
                while down != ZERO:
                    out[count, 0] = v
                    out[count, 1] = (k << 6) + np.int64(first_bit(down))
                    count += 1
                    down &= down - ONE
    return count


@njit(cache=True, nogil=True)
def prepare(e: Engine, k_max: int) -> None:
    """Fill what follows from pa, ch, weights and P: anc, mor, topo, votes, edges and slots."""
    r, n, words = e.pa.shape
    for i in range(r):
        e.topo[i] = topological_bits(e.pa[i], e.ch[i])
        e.anc[i] = ancestors_bits(e.pa[i], e.ch[i])
        e.des[i] = transposed_bits(e.anc[i])
        for v in range(n):
            moral_bits(e.pa[i], e.ch[i], v, e.mor[i, v])
            for w in range(words):
                word = e.pa[i, v, w]
                while word != ZERO:
                    p = (w << 6) + np.int64(first_bit(word))
                    word &= word - ONE
                    e.votes[p, v] += e.weights[i]
                    e.votes[v, p] += e.weights[i]
    slots = e.owner.shape[0]
    for k in range(slots):
        e.owner[k] = -1
        e.after[k] = k + 1
    e.after[slots - 1] = -1
    e.counters[FREE] = 0
    count = 0
    for y in range(n):
        for w in range(words):
            word = e.p_pa[y, w] | e.p_ne[y, w]
            while word != ZERO:
                x = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                if has_bit(e.p_pa[y], x) or x < y:
                    e.edge[x, y] = count
                    e.edge[y, x] = count
                    e.first[count] = -1
                    e.head[count, 0] = x
                    e.head[count, 1] = y
                    for i in range(r):
                        if has_bit(e.pa[i, x], y) or has_bit(e.pa[i, y], x):
                            e.joined[count, i] = 1
                    _describe(e, x, y, e.na[count], e.pax[count])
                    _make_root(e, count, k_max)
                    count += 1


@njit(cache=True, nogil=True)
def _describe(e: Engine, x: int, y: int, na: Bits, pax: Bits) -> None:
    """NA_yx = neighbours of y adjacent to x (Chickering 2002), and Pa(y) - x."""
    for w in range(na.shape[0]):
        na[w] = e.p_ne[y, w] & (e.p_pa[x, w] | e.p_ch[x, w] | e.p_ne[x, w])
        pax[w] = e.p_pa[y, w]
    clear_bit(pax, x)


@njit(cache=True, nogil=True)
def _new_slot(e: Engine, number: int) -> int:
    """Take a free slot and chain it to the edge; -1 when none is free."""
    slot = e.counters[FREE]
    if slot < 0:
        return -1
    e.counters[FREE] = e.after[slot]
    e.owner[slot] = number
    e.after[slot] = e.first[number]
    e.first[number] = slot
    return slot


@njit(cache=True, nogil=True)
def _free_slots(e: Engine, number: int) -> None:
    """Give all slots of an edge back."""
    slot = e.first[number]
    while slot >= 0:
        following = e.after[slot]
        e.owner[slot] = -1
        e.after[slot] = e.counters[FREE]
        e.counters[FREE] = slot
        slot = following
    e.first[number] = -1


@njit(cache=True, nogil=True)
def _make_root(e: Engine, number: int, k_max: int) -> None:
    """Replace the slots of an edge by the one slot that stands for all H, with bound 2."""
    _free_slots(e, number)
    slot = _new_slot(e, number)
    x, y = e.head[number, 0], e.head[number, 1]
    for w in range(e.na.shape[1]):
        e.h[slot, w] = ZERO
        e.f[slot, w] = e.pax[number, w]
        e.u[slot, w] = e.na[number, w]
    e.kind[slot] = FAMILY if _size(e.na[number]) > 0 else OPERATOR
    e.bound[slot] = e.votes[x, y]
    e.unknown[slot] = e.weights.shape[0]
    for i in range(e.weights.shape[0]):
        e.cut[slot, i] = -1 - e.joined[number, i]


@njit(cache=True, nogil=True)
def _size(row: Bits) -> int:
    count = 0
    for w in range(row.shape[0]):
        count += np.int64(popcount(row[w]))
    return count


@njit(cache=True, nogil=True)
def _joins_all(e: Engine, v: int, nodes: Bits) -> bool:
    """Whether v is adjacent in P to every other one of `nodes`."""
    for w in range(nodes.shape[0]):
        rest = nodes[w] & ~(e.p_pa[v, w] | e.p_ch[v, w] | e.p_ne[v, w])
        if w == v >> 6:
            rest &= ~(ONE << np.uint64(v & 63))
        if rest != ZERO:
            return False
    return True


@njit(cache=True, nogil=True)
def _is_clique(e: Engine, nodes: Bits) -> bool:
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if not _joins_all(e, v, nodes):
                return False
    return True


@njit(cache=True, nogil=True)
def _comes_before(e: Engine, a: int, b: int) -> bool:
    """Order of slots: bound, then the first (x, y, |H|, H) that they hold."""
    if e.bound[a] != e.bound[b]:
        return e.bound[a] < e.bound[b]
    p, q = e.owner[a], e.owner[b]
    if p != q:
        if e.head[p, 0] != e.head[q, 0]:
            return e.head[p, 0] < e.head[q, 0]
        return e.head[p, 1] < e.head[q, 1]
    size_a = _size(e.h[a]) + (1 if e.kind[a] == REST else 0)
    size_b = _size(e.h[b]) + (1 if e.kind[b] == REST else 0)
    if size_a != size_b:
        return size_a < size_b
    more_a = _lowest(e.u[a]) if e.kind[a] == REST else -1
    more_b = _lowest(e.u[b]) if e.kind[b] == REST else -1
    for w in range(e.h.shape[1]):
        row_a, row_b = e.h[a, w], e.h[b, w]
        if more_a >> 6 == w:
            row_a |= ONE << np.uint64(more_a & 63)
        if more_b >> 6 == w:
            row_b |= ONE << np.uint64(more_b & 63)
        different = row_a ^ row_b
        if different != ZERO:
            return row_a & different & (~different + ONE) != ZERO
    return False


@njit(cache=True, nogil=True)
def _lowest(row: Bits) -> int:
    """The smallest element, or -1."""
    for w in range(row.shape[0]):
        if row[w] != ZERO:
            return (w << 6) + np.int64(first_bit(row[w]))
    return -1


@njit(cache=True, nogil=True)
def _sift_down(e: Engine, heap: Ints32, size: int, place: int) -> None:
    slot = heap[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _comes_before(e, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(e, heap[child], slot):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = slot


@njit(cache=True, nogil=True)
def _push(e: Engine, heap: Ints32, size: int, slot: int) -> None:
    place = size
    while place > 0 and _comes_before(e, slot, heap[(place - 1) >> 1]):
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = slot


@njit(cache=True, nogil=True)
def _fill_heap(e: Engine, heap: Ints32) -> tuple[int, int]:
    """All slots with a bound up to a known operator's value: (their number, that value)."""
    best = DEAD - 1
    slots = e.owner.shape[0]
    for k in range(slots):
        if e.owner[k] >= 0 and e.unknown[k] == 0 and e.bound[k] < best and e.kind[k] == OPERATOR:
            best = e.bound[k]
    size = 0
    for k in range(slots):
        if e.owner[k] >= 0 and e.bound[k] <= best:
            heap[size] = k
            size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sift_down(e, heap, size, place)
    return size, best


@njit(cache=True, nogil=True)
def _evaluate(e: Engine, slot: int, limit: int, k_max: int, s: Scratch) -> int:
    """Replace bounds by minimum cuts, input by input, until the sum exceeds `limit`; cuts made."""
    number = e.owner[slot]
    x, y = e.head[number, 0], e.head[number, 1]
    made = 0
    more = k_max - _size(e.h[slot])
    for i in range(e.weights.shape[0]):
        old = e.cut[slot, i]
        if old < 0:
            value = min_cut_bits(
                e.pa[i], e.ch[i], e.anc[i], e.mor[i], x, y, e.f[slot], e.u[slot], s
            )
            if e.kind[slot] != OPERATOR and _surely_married(e, i, x, y, slot, more, s):
                value += 1
            value = min(value, e.clip[0])
            e.bound[slot] += e.weights[i] * (value + old + 1)
            e.cut[slot, i] = value
            e.unknown[slot] -= 1
            made += 1
            if e.bound[slot] > limit:
                break
    return made


@njit(cache=True, nogil=True)
def _surely_married(e: Engine, i: int, x: int, y: int, slot: int, more: int, s: Scratch) -> bool:
    """Bound 4, after the family's cut in input i was computed: whether x - y is one more edge."""
    if has_bit(s.row[x], y):
        return False
    for w in range(s.inside.shape[0]):
        word = e.ch[i, x, w] & e.ch[i, y, w] & ~s.inside[w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            open_ones = 0
            for k in range(s.inside.shape[0]):
                open_ones += np.int64(popcount(e.des[i, c, k] & e.u[slot, k]))
            if open_ones > more:
                return True
    return False


@njit(cache=True, nogil=True)
def _room(e: Engine, wanted: int) -> bool:
    """Whether so many slots are free."""
    slot = e.counters[FREE]
    while wanted > 0 and slot >= 0:
        slot = e.after[slot]
        wanted -= 1
    return wanted == 0


@njit(cache=True, nogil=True)
def _forget(e: Engine, slot: int) -> None:
    """Exact values of a family are only bounds for its parts."""
    for i in range(e.weights.shape[0]):
        if e.cut[slot, i] >= 0:
            e.cut[slot, i] = -1 - e.cut[slot, i]
    e.unknown[slot] = e.weights.shape[0]


@njit(cache=True, nogil=True)
def _copied(e: Engine, slot: int) -> int:
    """A new slot of the same edge with the bounds of `slot`, none of them exact."""
    made = _new_slot(e, e.owner[slot])
    e.kind[made] = e.kind[slot]
    e.h[made] = e.h[slot]
    e.f[made] = e.f[slot]
    e.u[made] = e.u[slot]
    e.bound[made] = e.bound[slot]
    e.cut[made] = e.cut[slot]
    _forget(e, made)
    return made


@njit(cache=True, nogil=True)
def _close(e: Engine, slot: int) -> None:
    """Make the slot the one operator that leaves out just H; DEAD if NA \\ H is no clique."""
    for w in range(e.h.shape[1]):
        e.f[slot, w] |= e.u[slot, w]
        e.u[slot, w] = ZERO
    e.kind[slot] = OPERATOR
    if not _is_clique(e, e.f[slot] & e.na[e.owner[slot]]):
        e.bound[slot] = DEAD


@njit(cache=True, nogil=True)
def _split(e: Engine, slot: int, k_max: int) -> int:
    """Split a FAMILY into its operator H and its REST; a REST into S with and without one u.

    The part that stays is in `slot`; the other is in a new slot, the result, or -1. Parts that
    hold no valid operator are DEAD (Chickering: NA \\ H is a clique).
    """
    if e.kind[slot] == FAMILY:
        if _size(e.h[slot]) >= k_max:
            _forget(e, slot)
            _close(e, slot)
            return -1
        made = _copied(e, slot)
        _close(e, made)
        e.kind[slot] = REST
        return made
    whole = _operator_of(e, slot)
    u = _dividing_element(e, slot, whole)
    made = _copied(e, slot)
    clear_bit(e.u[made], u)
    set_bit(e.h[made], u)
    e.kind[made] = FAMILY
    if _size(e.u[made]) == 0 or _size(e.h[made]) >= k_max:
        _close(e, made)
    _inherit(e, slot, made, whole, u)
    clear_bit(e.u[slot], u)
    set_bit(e.f[slot], u)
    if _size(e.u[slot]) == 0 or not _joins_all(e, u, e.f[slot] & e.na[e.owner[slot]]):
        e.bound[slot] = DEAD
    return made


@njit(cache=True, nogil=True)
def _inherit(e: Engine, slot: int, made: int, whole: int, u: int) -> None:
    """Which values of a REST stay final when it is split on u, before u moves.

    With u in S (`slot`): those where u was an ancestor already, and those that equal the cut of
    the operator H (`whole`), whose S is the largest in the family. With u out of S (`made`, if
    still a family): those where u is not in the ancestral set.
    """
    number = e.owner[slot]
    x, y = e.head[number, 0], e.head[number, 1]
    for i in range(e.weights.shape[0]):
        value = e.cut[slot, i]
        ancestor = has_bit(e.des[i, u], x) or has_bit(e.des[i, u], y)
        for w in range(e.f.shape[1]):
            ancestor = ancestor or e.des[i, u, w] & e.f[slot, w] != ZERO
        if value >= 0 and not ancestor:
            if e.kind[made] == FAMILY:
                e.cut[made, i] = value
                e.unknown[made] -= 1
            e.cut[slot, i] = -1 - value
            e.unknown[slot] += 1
        if e.cut[slot, i] < 0 and whole >= 0 and e.cut[whole, i] == -1 - e.cut[slot, i]:
            e.cut[slot, i] = e.cut[whole, i]
            e.unknown[slot] -= 1


@njit(cache=True, nogil=True)
def _operator_of(e: Engine, slot: int) -> int:
    """The slot of the operator H of a REST, valid or not, or -1."""
    words = e.h.shape[1]
    other = e.first[e.owner[slot]]
    while other >= 0:
        same = e.kind[other] == OPERATOR
        for w in range(words):
            same = same and e.f[other, w] == e.f[slot, w] | e.u[slot, w]
        if same:
            return other
        other = e.after[other]
    return -1


@njit(cache=True, nogil=True)
def _dividing_element(e: Engine, slot: int, whole: int) -> int:
    """The undecided element on which to split a REST.

    If NA \\ H is no clique: the one with most non-neighbours there. Otherwise the one that stands
    in the way of most weight: over the inputs in which the operator H is known to cost more than
    the bound, descendants of common children of x and y, which marry them when in S; if none, any
    element that is no ancestor. `whole` is the slot of that operator, or -1.
    """
    words = e.h.shape[1]
    number = e.owner[slot]
    x, y = e.head[number, 0], e.head[number, 1]
    score = np.zeros(words * 64, dtype=np.int64)
    in_s = np.empty(words, dtype=np.uint64)
    for w in range(words):
        in_s[w] = (e.f[slot, w] | e.u[slot, w]) & e.na[number, w]
    if not _is_clique(e, in_s):
        for w in range(words):
            word = e.u[slot, w]
            while word != ZERO:
                u = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for k in range(words):
                    joined = e.p_pa[u, k] | e.p_ch[u, k] | e.p_ne[u, k]
                    score[u] += np.int64(popcount(in_s[k] & ~joined))
        return _highest(e.u[slot], score)
    if whole >= 0:
        for i in range(e.weights.shape[0]):
            extra = e.cut[whole, i] - max(e.cut[slot, i], -1 - e.cut[slot, i])
            if e.cut[whole, i] >= 0 and extra > 0:
                _blame(e, i, x, y, slot, e.weights[i] * extra, score)
    return _highest(e.u[slot], score)


@njit(cache=True, nogil=True)
def _blame(e: Engine, i: int, x: int, y: int, slot: int, weight: int, score: Ints) -> None:
    """Add `weight` to the undecided elements that make input i disagree with its bound."""
    words = e.h.shape[1]
    wanted = np.zeros(words, dtype=np.uint64)
    for w in range(words):
        word = e.ch[i, x, w] & e.ch[i, y, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(words):
                wanted[k] |= e.des[i, c, k]
    found = False
    for w in range(words):
        found = found or wanted[w] & e.u[slot, w] != ZERO
    for w in range(words):
        word = e.u[slot, w] & ~(e.anc[i, x, w] | e.anc[i, y, w])
        if found:
            word &= wanted[w]
        while word != ZERO:
            score[(w << 6) + np.int64(first_bit(word))] += weight
            word &= word - ONE


@njit(cache=True, nogil=True)
def _highest(nodes: Bits, score: Ints) -> int:
    """The first of `nodes` with the highest score."""
    best = -1
    for w in range(nodes.shape[0]):
        word = nodes[w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            if best < 0 or score[u] > score[best]:
                best = u
    return best


@njit(cache=True, nogil=True)
def _settle_operator(e: Engine, slot: int, k_max: int, heap: Ints32, size: int, s: Scratch) -> int:
    """Complete the cuts of the operator H of a REST, which guide its splits; cuts made."""
    whole = _operator_of(e, slot)
    if whole < 0 or e.bound[whole] == DEAD or e.unknown[whole] == 0:
        return 0
    made = _evaluate(e, whole, DEAD, k_max, s)
    for place in range(size):
        if heap[place] == whole:
            _sift_down(e, heap, size, place)
            break
    return made


@njit(cache=True, nogil=True)
def _find_best(
    e: Engine, k_max: int, draws: Floats, heap: Ints32, ties: Ints32, patience: int, s: Scratch
) -> tuple[int, int, int]:
    """The best operator: (code, slot, number of tied slots in `ties`).

    Without draws the search ends at the first operator on top of the heap that is exact: no slot
    that is left can hold one before it in the order (Ψ, x, y, H). With draws it goes on until all
    tied operators are exact. Bounds of slots in the heap only grow.
    """
    size, best = _fill_heap(e, heap)
    tied = 0
    while size > 0:
        top = heap[0]
        if e.bound[top] > best:
            break
        operator = e.kind[top] == OPERATOR
        if operator and e.unknown[top] == 0:
            if draws.shape[0] == 0:
                return DONE, top, 0
            ties[tied] = top
            tied += 1
            size -= 1
            heap[0] = heap[size]
            if size > 0:
                _sift_down(e, heap, size, 0)
        elif not operator and (
            e.unknown[top] == 0 or _size(e.u[top]) <= SPLIT_AT_ONCE or _size(e.h[top]) >= k_max
        ):
            if not _room(e, 1):
                return NO_SLOT, -1, 0
            if e.kind[top] == REST:
                patience -= _settle_operator(e, top, k_max, heap, size, s)
            made = _split(e, top, k_max)
            if e.bound[top] == DEAD:
                size -= 1
                heap[0] = heap[size]
            if size > 0:
                _sift_down(e, heap, size, 0)
            if made >= 0 and e.bound[made] != DEAD:
                _push(e, heap, size, made)
                size += 1
        else:
            if patience <= 0:
                return PAUSE, -1, 0
            limit = best
            for child in range(1, min(3, size)):
                limit = min(limit, e.bound[heap[child]])
            patience -= _evaluate(e, top, limit, k_max, s)
            if operator and e.unknown[top] == 0:
                best = min(best, e.bound[top])
            _sift_down(e, heap, size, 0)
    return (DONE if tied else BROKEN), -1, tied


@njit(cache=True, nogil=True)
def _prune_inputs(
    e: Engine, slot: int, x: int, y: int, s: Scratch, lost: Ints32, gone: Bits, found: Ints32
) -> int:
    """Remove the arcs of the cut nearest to y from every input: number of inputs that lost arcs.

    lost[k]: such an input; gone[k]: the descendants, before, of the heads of its lost arcs.
    """
    n = e.p_pa.shape[0]
    changed = 0
    for i in range(e.weights.shape[0]):
        if e.cut[slot, i] == 0:
            continue
        min_cut_bits(e.pa[i], e.ch[i], e.anc[i], e.mor[i], x, y, e.f[slot], e.u[slot], s)
        count = cut_arcs_bits(e.pa[i], e.ch[i], s, found)
        if count == 0:
            continue
        lost[changed] = i
        gone[changed] = ZERO
        for v in range(n):
            for k in range(count):
                if has_bit(e.anc[i, v], found[k, 1]):
                    set_bit(gone[changed], v)
        _remove_arcs(e, i, found[:count], gone[changed])
        changed += 1
    return changed


@njit(cache=True, nogil=True)
def _remove_arcs(e: Engine, i: int, found: Ints32, gone: Bits) -> None:
    """Take arcs out of input i, record them, and repair votes, ancestors and moral rows."""
    n, words = e.p_pa.shape
    stale = np.zeros(words, dtype=np.uint64)
    before = np.empty(words, dtype=np.uint64)
    for k in range(found.shape[0]):
        a, b = np.int64(found[k, 0]), np.int64(found[k, 1])
        for w in range(words):
            stale[w] |= e.pa[i, b, w]
        set_bit(stale, b)
        clear_bit(e.pa[i, b], a)
        clear_bit(e.ch[i, a], b)
        e.votes[a, b] -= e.weights[i]
        e.votes[b, a] -= e.weights[i]
        if e.edge[a, b] >= 0:
            e.joined[e.edge[a, b], i] = 0
        record = e.counters[REMOVED_ARCS]
        e.arcs[record, 0] = e.counters[STEPS]
        e.arcs[record, 1] = i
        e.arcs[record, 2] = a
        e.arcs[record, 3] = b
        e.counters[REMOVED_ARCS] = record + 1
    for w in range(words):
        word = stale[w]
        while word != ZERO:
            v = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            moral_bits(e.pa[i], e.ch[i], v, e.mor[i, v])
    for place in range(n):
        v = e.topo[i, place]
        if has_bit(gone, v):
            anc = e.anc[i, v]
            before[:] = anc
            anc[:] = ZERO
            set_bit(anc, v)
            for w in range(words):
                word = e.pa[i, v, w]
                while word != ZERO:
                    p = (w << 6) + np.int64(first_bit(word))
                    word &= word - ONE
                    for k in range(words):
                        anc[k] |= e.anc[i, p, k]
            for w in range(words):
                word = before[w] & ~anc[w]
                while word != ZERO:
                    clear_bit(e.des[i, (w << 6) + np.int64(first_bit(word))], v)
                    word &= word - ONE


@njit(cache=True, nogil=True)
def _invalidate(e: Engine, lost: Ints32, gone: Bits) -> None:
    """Bound 3 of the module: cached values that an input's lost arcs touch become bounds."""
    words = gone.shape[1]
    for slot in range(e.owner.shape[0]):
        number = e.owner[slot]
        if number < 0 or e.bound[slot] == DEAD:
            continue
        x, y = e.head[number, 0], e.head[number, 1]
        for k in range(lost.shape[0]):
            i = lost[k]
            value = e.cut[slot, i]
            if value == 0 or value == -1:
                continue
            touched = has_bit(gone[k], x) or has_bit(gone[k], y)
            for w in range(words):
                if gone[k, w] & (e.f[slot, w] | e.u[slot, w]) != ZERO:
                    touched = True
            if not touched:
                continue
            joined = e.joined[number, i]
            if value < 0:
                e.bound[slot] -= e.weights[i] * (-1 - value - joined)
            elif value == 1 and joined == 1:
                continue
            else:
                e.bound[slot] -= e.weights[i] * (value - joined)
                e.unknown[slot] += 1
            e.cut[slot, i] = -1 - joined


@njit(cache=True, nogil=True)
def delete_bits(
    pa: Bits, ch: Bits, ne: Bits, x: int, y: int, h: Bits
) -> tuple[bool, Bits, Bits, Bits]:
    """Chickering's Delete(x, y, H) in a CPDAG: (valid, pa, ch, ne) of the CPDAG that results.

    Removes the edge between x and y; for every h in H directs y - h as y -> h and x - h, if
    undirected, as x -> h; then takes the CPDAG of a consistent extension.
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
    valid, dag_pa, dag_ch = extend_bits(pa, ch, ne)
    if not valid:
        return False, pa, ch, ne
    pa, ch, ne = cpdag_bits(dag_pa, dag_ch)
    return True, pa, ch, ne


@njit(cache=True, nogil=True)
def _update_graph(e: Engine, x: int, y: int, h: Bits, k_max: int) -> bool:
    """P := P after Delete(x, y, H); new slots for edges whose NA, parents or cliques changed."""
    n, words = e.p_pa.shape
    valid, pa, ch, ne = delete_bits(e.p_pa, e.p_ch, e.p_ne, x, y, h)
    if not valid:
        return False
    number = e.edge[x, y]
    _free_slots(e, number)
    e.edge[x, y] = -1
    e.edge[y, x] = -1
    look = np.zeros(words, dtype=np.uint64)
    for v in range(n):
        for w in range(words):
            if pa[v, w] != e.p_pa[v, w] or ne[v, w] != e.p_ne[v, w]:
                set_bit(look, v)
                break
    for w in range(words):
        look[w] |= pa[x, w] | ch[x, w] | ne[x, w] | pa[y, w] | ch[y, w] | ne[y, w]
    e.p_pa[:] = pa
    e.p_ch[:] = ch
    e.p_ne[:] = ne
    na = np.empty(words, dtype=np.uint64)
    pax = np.empty(words, dtype=np.uint64)
    for v in range(n):
        if not has_bit(look, v):
            continue
        for w in range(words):
            word = pa[v, w] | ne[v, w]
            while word != ZERO:
                u = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                if has_bit(ne[v], u) and v < u:
                    _refresh(e, v, u, x, y, k_max, na, pax)
                else:
                    _refresh(e, u, v, x, y, k_max, na, pax)
    return True


@njit(cache=True, nogil=True)
def _refresh(e: Engine, a: int, b: int, x: int, y: int, k_max: int, na: Bits, pax: Bits) -> None:
    """Repair the slots of a -> b after x and y were parted: new ones if NA or parents changed;
    otherwise only operators with both x and y in NA \\ H are valid no more."""
    number = e.edge[a, b]
    _describe(e, a, b, na, pax)
    same = e.head[number, 0] == a
    for w in range(na.shape[0]):
        if na[w] != e.na[number, w] or pax[w] != e.pax[number, w]:
            same = False
    if not same:
        e.head[number, 0] = a
        e.head[number, 1] = b
        e.na[number] = na
        e.pax[number] = pax
        _make_root(e, number, k_max)
    elif has_bit(na, x) and has_bit(na, y):
        slot = e.first[number]
        while slot >= 0:
            if has_bit(e.f[slot], x) and has_bit(e.f[slot], y):
                e.bound[slot] = DEAD
            slot = e.after[slot]


@njit(cache=True, nogil=True)
def collapse(e: Engine, k_max: int) -> None:
    """Forget all cached values: one slot per edge again. Results stay the same."""
    for number in range(e.first.shape[0]):
        if e.first[number] >= 0:
            _make_root(e, number, k_max)


@njit(cache=True, nogil=True)
def advance(e: Engine, k_max: int, steps: int, patience: int, largest: int, draws: Floats) -> int:
    """Up to `steps` deletions: DONE (no edge left), LIMIT (steps made, or the next Ψ > largest),
    NO_SLOT (more slots are needed; call again with larger arrays), PAUSE (more than `patience`
    minimum cuts in one step; call again), BROKEN (must not happen).

    `largest`: bound on Ψ in integer units. `draws` [E]: one float in [0, 1) per step to choose
    among ties; empty: the first in the order (x, y, H).
    """
    r, n, words = e.pa.shape
    scratch = make_scratch(n, words)
    heap = np.empty(e.owner.shape[0], dtype=np.int32)
    ties = np.empty(e.owner.shape[0] if draws.shape[0] else 1, dtype=np.int32)
    lost = np.empty(r, dtype=np.int32)
    gone = np.empty((r, words), dtype=np.uint64)
    found = np.empty((n * n // 2 + 1, 2), dtype=np.int32)
    h = np.empty(words, dtype=np.uint64)
    for _ in range(steps):
        step = e.counters[STEPS]
        if step == e.step_psi.shape[0]:
            return DONE
        code, slot, tied = _find_best(e, k_max, draws, heap, ties, patience, scratch)
        if code != DONE:
            return code
        swap = False
        if tied > 0:
            slot, swap = _drawn(e, ties, tied, draws[step])
        if e.bound[slot] > largest:
            return LIMIT
        x, y = e.head[e.owner[slot], 0], e.head[e.owner[slot], 1]
        if swap:
            x, y = y, x
        h[:] = e.h[slot]
        e.step_xy[step, 0] = x
        e.step_xy[step, 1] = y
        e.step_psi[step] = e.bound[slot]
        e.step_h[step] = h
        changed = _prune_inputs(e, slot, x, y, scratch, lost, gone, found)
        if not _update_graph(e, x, y, h, k_max):
            return BROKEN
        _invalidate(e, lost[:changed], gone)
        e.counters[STEPS] = step + 1
    return DONE if e.counters[STEPS] == e.step_psi.shape[0] else LIMIT


@njit(cache=True, nogil=True)
def _drawn(e: Engine, ties: Ints32, tied: int, draw: float) -> tuple[int, bool]:
    """The tied operator that a draw in [0, 1) selects: (slot, whether y -> x is meant).

    An undirected edge counts twice, once in each orientation; order (x, y, H).
    """
    total = 0
    for k in range(tied):
        total += _orientations(e, ties[k])
    wanted = int(draw * total)
    for k in range(tied):
        count = _orientations(e, ties[k])
        if wanted < count:
            return ties[k], wanted == 1
        wanted -= count
    return ties[tied - 1], False


@njit(cache=True, nogil=True)
def _orientations(e: Engine, slot: int) -> int:
    x, y = e.head[e.owner[slot], 0], e.head[e.owner[slot], 1]
    return 2 if has_bit(e.p_ne[y], x) else 1
