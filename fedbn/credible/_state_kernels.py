"""States of the search for credible DAGs; see `diagram.py`.

One component has m nodes and F families, sorted by node; `bits` [F, Wu] are parents inside the
component. A state is a row of words: the Wu words of the set U that is placed, then Wf words of
the families that the unplaced nodes may still take.
"""

# mypy: disable-error-code="assignment, return-value"
# (numbers inside kernels are machine integers, which numpy's stubs tell from int)

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bits, Floats, Ints, Ints32
from fedbn.kernel_door import door

ONE = np.uint64(1)
ZERO = np.uint64(0)


class Bound(NamedTuple):
    """What bounds the completion of a state from below; all costs are those of the problem.

    With `rest` [2^m] the exact least excess cost for the placed set (`reduced` [F] are then the
    excess costs); else cluster duals. `lowest` [m] is the least cost of each node's families,
    which excess costs leave out.
    """

    lowest: Floats
    rest: Floats
    least: Floats
    reduced: Floats
    clusters: Bits
    duals: Floats
    cover_start: Ints
    cover: Ints32


class Scratch(NamedTuple):
    """Room for the bounds: clusters that U meets [C], least prices [m], a growing set [Wu]."""

    met: Bits
    best: Floats
    placed: Bits


@door
def price_of(f: int, bound: Bound, met: Bits) -> float:
    """Reduced cost of a family plus the duals of the met clusters that it covers."""
    price = bound.reduced[f]
    for k in range(bound.cover_start[f], bound.cover_start[f + 1]):
        if met[bound.cover[k]] != ZERO:
            price += bound.duals[bound.cover[k]]
    return float(price)


@door
def cheapest_alive(v: int, key: Bits, start: Ints, words: int, bound: Bound) -> float:
    """The least `reduced` of the families that v may still take; infinite if there is none."""
    for f in range(start[v], start[v + 1]):
        if (key[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
            return float(bound.reduced[f])
    return np.inf


@door
def demand_bound(key: Bits, start: Ints, words: int, bound: Bound) -> tuple[np.int64, float, float]:
    """A bound by the table `rest`: (U and K as bits, Σ_K a, the bound).

    A node w that may no longer take its cheap families costs at least a(w), the cheapest of the
    others; were it placed already, the rest would cost no more than now. Hence for each set K of
    unplaced nodes Σ_K a(w) + rest(U and K) is a bound. K grows as long as the bound does.
    """
    m = start.size - 1
    placed = np.int64(key[0])
    paid, total = 0.0, bound.rest[placed]
    grown = True
    while grown:
        grown = False
        for v in range(m):
            if (placed >> v) & 1:
                continue
            least = cheapest_alive(v, key, start, words, bound)
            more = paid + least + bound.rest[placed | (1 << v)]
            if more > total:
                placed |= 1 << v
                paid += least
                total = more
                grown = True
    return placed, paid, float(total)


@door
def completion_bound(key: Bits, start: Ints, words: int, bound: Bound, scratch: Scratch) -> float:
    """A lower bound on the excess cost to complete a state; also the least price of each node.

    A cluster that U meets has had its node; only clusters outside U still bind.
    """
    if bound.rest.size:
        return float(demand_bound(key, start, words, bound)[2])
    m = start.size - 1
    met, best = scratch.met, scratch.best
    total = 0.0
    for v in range(m):
        if not (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            total -= bound.lowest[v]
    for c in range(bound.duals.size):
        met[c] = ZERO
        for w in range(words):
            if bound.clusters[c, w] & key[w]:
                met[c] = ONE
                break
        if met[c] == ZERO:
            total += bound.duals[c]
    for v in range(m):
        if (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            continue
        best[v] = np.inf
        for f in range(start[v], start[v + 1]):
            if (key[words + (f >> 6)] >> np.uint64(f & 63)) & ONE and bound.reduced[f] < best[v]:
                best[v] = min(best[v], price_of(f, bound, met))
        total += bound.least[v] + best[v]
    return float(total)


@door
def can_end(
    key: Bits,
    start: Ints,
    bits: Bits,
    bound: Bound,
    scratch: Scratch,
    slack: float,
) -> bool:
    """Whether the unplaced nodes can be placed one by one with families that they may take.

    A family dearer than the best of its node by more than the slack cannot be taken.
    """
    m = start.size - 1
    words = bits.shape[1]
    met, best, placed = scratch.met, scratch.best, scratch.placed
    left = 0
    for w in range(words):
        placed[w] = key[w]
    for v in range(m):
        if not (key[v >> 6] >> np.uint64(v & 63)) & ONE:
            left += 1
    byprice_of = bound.rest.size == 0
    grown = True
    while left and grown:
        grown = False
        for v in range(m):
            if (placed[v >> 6] >> np.uint64(v & 63)) & ONE:
                continue
            for f in range(start[v], start[v + 1]):
                if not (key[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
                    continue
                inside = True
                for w in range(words):
                    if bits[f, w] & ~placed[w]:
                        inside = False
                        break
                if not inside:
                    continue
                if byprice_of and (
                    bound.reduced[f] > best[v] + slack or price_of(f, bound, met) > best[v] + slack
                ):
                    continue
                placed[v >> 6] |= ONE << np.uint64(v & 63)
                left -= 1
                grown = True
                break
    return left == 0


@door
def fits(f: int, bits: Bits, words: int, state: Bits) -> bool:
    """Whether a family may still be taken and has all its parents placed."""
    missing = (state[words + (f >> 6)] >> np.uint64(f & 63)) & ONE == ZERO
    for w in range(words):
        missing |= bits[f, w] & ~state[w] != ZERO
    return not missing


@door
def place(v: int, start: Ints, words: int, state: Bits, below: Bits) -> None:
    """below := the state after v."""
    below[:] = state
    below[v >> 6] |= ONE << np.uint64(v & 63)
    for f in range(start[v], start[v + 1]):
        below[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))


@door
def keep_misfits(v: int, start: Ints, bits: Bits, words: int, state: Bits) -> bool:
    """Take from v, unless it is placed, the families that fit; whether it has one left."""
    if (state[v >> 6] >> np.uint64(v & 63)) & ONE:
        return True
    others = False
    for f in range(start[v], start[v + 1]):
        if fits(f, bits, words, state):
            state[words + (f >> 6)] &= ~(ONE << np.uint64(f & 63))
        elif (state[words + (f >> 6)] >> np.uint64(f & 63)) & ONE:
            others = True
    return others
