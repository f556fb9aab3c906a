"""The order heuristic on bitsets: rows of uint64 words, bit j of word j >> 6.

Public caller: `order.py`; also the refusion reading of the consensus. Arrays of several inputs are
[r, n, W]: `pa[i, v]` and `ch[i, v]` are the parents and the children of node v in input i. Node
indices are in name order, so the smallest index is the smallest name.
"""

# mypy: disable-error-code="arg-type, assignment, return-value, no-any-return"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits, Floats, Ints
from fedbn.graphs._bit_kernels import ONE, ZERO, clear_bit, first_bit, popcount, set_bit
from fedbn.kernel_door import door_to_sets
from fedbn.kernel_parts import inner, inner_with_arrays


@inner
def sink_cost(pa: Bits, ch: Bits, v: int, marry: Bits) -> int:
    """What making v a sink costs in one DAG, as in the order heuristic; `marry` is scratch.

    (children - 1) + #{(p, c): p parent, c child, not adjacent}
    + #{q: other parent of a child of v, not adjacent to v}.
    """
    words = pa.shape[1]
    cost = -1
    for w in range(words):
        marry[w] = ZERO
    for w in range(words):
        word = ch[v, w]
        while word != ZERO:
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            cost += 1
            for u in range(words):
                cost += np.int64(popcount(pa[v, u] & ~(pa[c, u] | ch[c, u])))
                marry[u] |= pa[c, u]
    for u in range(words):
        others = marry[u] & ~(pa[v, u] | ch[v, u])
        if u == v >> 6:
            others &= ~(ONE << np.uint64(v & 63))
        cost += np.int64(popcount(others))
    return cost


@inner
def _first_reversible_child(ch: Bits, v: int, below: Bits, new: Bits) -> int:
    """The smallest child c of v such that v -> c is the only directed path, or -1 for a sink.

    `below` (scratch) collects the strict descendants of the children of v, from those in `new`.
    """
    words = ch.shape[1]
    for w in range(words):
        below[w] = ZERO
        new[w] = ch[v, w]
    growing = True
    while growing:
        growing = False
        for w in range(words):
            word = new[w]
            new[w] = ZERO
            while word != ZERO:
                u = (w << 6) + np.int64(first_bit(word))
                word &= word - ONE
                for k in range(words):
                    fresh = ch[u, k] & ~below[k]
                    if fresh != ZERO:
                        below[k] |= fresh
                        new[k] |= fresh
                        growing = True
    for w in range(words):
        free = ch[v, w] & ~below[w]
        if free != ZERO:
            return (w << 6) + np.int64(first_bit(free))
    return -1


@inner
def _reverse_covered(pa: Bits, ch: Bits, v: int, c: int, changed: Bits) -> None:
    """Cover v -> c (c gets the parents of v, v the other parents of c) and reverse it."""
    words = pa.shape[1]
    clear_bit(pa[c], v)
    clear_bit(ch[v], c)
    for w in range(words):
        to_c = pa[v, w] & ~pa[c, w]
        to_v = pa[c, w] & ~pa[v, w]
        pa[c, w] |= to_c
        pa[v, w] |= to_v
        changed[w] |= to_c | to_v
        while to_c != ZERO:
            p = (w << 6) + np.int64(first_bit(to_c))
            to_c &= to_c - ONE
            set_bit(ch[p], c)
        while to_v != ZERO:
            q = (w << 6) + np.int64(first_bit(to_v))
            to_v &= to_v - ONE
            set_bit(ch[q], v)
    set_bit(pa[v], c)
    set_bit(ch[c], v)
    set_bit(changed, v)
    set_bit(changed, c)


@inner
def remove_as_sink(pa: Bits, ch: Bits, v: int, changed: Bits, scratch: Bits) -> None:
    """Make v a sink by covered reversals, then remove it; `changed` = nodes with new edges."""
    words = pa.shape[1]
    for w in range(words):
        changed[w] = ZERO
    while True:
        c = _first_reversible_child(ch, v, scratch[0], scratch[1])
        if c < 0:
            break
        _reverse_covered(pa, ch, v, c, changed)
    for w in range(words):
        word = pa[v, w]
        changed[w] |= word
        while word != ZERO:
            p = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            clear_bit(ch[p], v)
        pa[v, w] = ZERO
    clear_bit(changed, v)


@door_to_sets
def order_bits(pa: Bits, ch: Bits, weights: Ints, draws: Floats) -> Ints:
    """The order of Puerta et al. (2021), built from last to first, as indices [n].

    `draws`: floats in [0, 1), one per node, that choose among tied nodes; empty: smallest index.
    """
    r, n, _ = pa.shape
    costs = np.zeros((r + 1, n), dtype=np.int64)
    order = np.zeros(n, dtype=np.int64)
    for place in range(n):
        order[place] = -1
    _fill_places(pa.copy(), ch.copy(), weights, draws, costs, order, n)
    return order


@door_to_sets
def extend_order(
    pa: Bits, ch: Bits, weights: Ints, draws: Floats, costs: Ints, order: Ints, count: int
) -> int:
    """Fill up to `count` more places of an order, in place, from the last; how many are empty.

    pa, ch: the graphs without the nodes that have their place. order [n]: -1 where empty.
    costs [r + 1, n], zeros at first: costs of every node in every graph, and their sums, kept and
    computed again only where a neighbourhood changed.
    """
    return _fill_places(pa, ch, weights, draws, costs, order, count)


@inner_with_arrays
def _fill_places(
    pa: Bits, ch: Bits, weights: Ints, draws: Floats, costs: Ints, order: Ints, count: int
) -> int:
    r, n, words = pa.shape
    scratch = np.zeros((2, words), dtype=np.uint64)
    changed = np.zeros(words, dtype=np.uint64)
    dirty = np.zeros(words, dtype=np.uint64)
    left = np.ones(n, dtype=np.bool_)
    empty = n
    while empty > 0 and order[empty - 1] >= 0:
        empty -= 1
        left[order[empty]] = False
    if empty == n:
        for i in range(r):
            for v in range(n):
                _update_cost(pa[i], ch[i], v, i, weights, costs, scratch[0])
    for place in range(empty - 1, max(empty - count, 0) - 1, -1):
        v = _cheapest(costs[r], left, draws, place)
        order[place] = v
        left[v] = False
        for i in range(r):
            remove_as_sink(pa[i], ch[i], v, changed, scratch)
            _collect_dirty(pa[i], ch[i], changed, dirty)
            for w in range(words):
                word = dirty[w]
                while word != ZERO:
                    u = (w << 6) + np.int64(first_bit(word))
                    word &= word - ONE
                    _update_cost(pa[i], ch[i], u, i, weights, costs, scratch[0])
    return max(empty - count, 0)


@inner
def _update_cost(
    pa: Bits, ch: Bits, v: int, i: int, weights: Ints, costs: Ints, scratch: Bits
) -> None:
    """The cost of v in graph i, and the sum over the graphs."""
    new = sink_cost(pa, ch, v, scratch)
    costs[-1, v] += weights[i] * (new - costs[i, v])
    costs[i, v] = new


@inner
def _collect_dirty(pa: Bits, ch: Bits, changed: Bits, dirty: Bits) -> None:
    """dirty := the nodes in `changed` and their neighbours."""
    for w in range(changed.shape[0]):
        dirty[w] = changed[w]
    for w in range(changed.shape[0]):
        word = changed[w]
        while word != ZERO:
            u = (w << 6) + np.int64(first_bit(word))
            word &= word - ONE
            for k in range(changed.shape[0]):
                dirty[k] |= pa[u, k] | ch[u, k]


@inner
def _cheapest(total: Ints, left: NDArray[np.bool_], draws: Floats, place: int) -> int:
    """The node of smallest total cost among those left; ties by index or by draw."""
    best = -1
    ties = 0
    for v in range(total.shape[0]):
        if left[v]:
            if best < 0 or total[v] < total[best]:
                best = v
                ties = 1
            elif total[v] == total[best]:
                ties += 1
    if draws.shape[0] == 0 or ties == 1:
        return best
    wanted = int(draws[place] * ties)
    for v in range(best, total.shape[0]):
        if left[v] and total[v] == total[best]:
            if wanted == 0:
                return v
            wanted -= 1
    return best
