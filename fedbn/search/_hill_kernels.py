"""Hill climbing over DAGs on bitsets: the compiled side of `hill_climbing.py`.

Each node y keeps change[y, x] = s(y, Pa(y) ∪ {x}) - s(y, Pa(y)) for candidates x outside Pa(y),
and change[y, x] = s(y, Pa(y) \\ {x}) - s(y, Pa(y)) for x in Pa(y); a step changes one row, or two
for a reversal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, set_bit
from fedbn.graphs._cpdag_kernels import topological_bits
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner, inner_with_arrays
from fedbn.kernel_state import by_reference
from fedbn.scores._joint_kernels import joint_pairs, local
from fedbn.scores._tables import Integer, Tables
from fedbn.search._set_kernels import any_in, first, members, size_of
from fedbn.search._state import ZERO

ADD, REMOVE, REVERSE, KINDS, ANY = 0, 1, 2, 3, -1


@by_reference
class Hill(NamedTuple):
    """The present DAG, what its moves gain, and the best DAG met; n nodes, W words."""

    pa: Bits  # [n, W]
    ch: Bits  # [n, W]
    below: Bits  # [n, W]: descendants
    best_pa: Bits  # [n, W]
    candidates: Bits  # [n, W] symmetric, with all adjacent pairs: who may become adjacent to whom
    change: NDArray[np.float64]  # [n, n]: of row y by x -> y, added or removed
    bound: NDArray[np.float64]  # [n]: no permitted move on an edge into y gains more
    score: NDArray[np.float64]  # [2]: present and best
    state: NDArray[np.int64]  # [2]: steps, and steps since the best
    tabu: NDArray[np.int64]  # [n, n]: the step until which a pair is left alone
    hit: NDArray[np.int64]  # [1]: steps in which max_parents left a better move out


@by_reference
class HillRules(NamedTuple):
    """Limits and background knowledge."""

    forbidden: Bits  # [n, W]: row y has x if x -> y is forbidden
    required: Bits  # [n, W]: row y has x if x -> y is required
    max_parents: int
    tabu_length: int
    patience: int


@inner_with_arrays
def tolerance_at(score: float) -> float:
    """What two scores near `score` may differ by and count as equal."""
    return 1e-9 * (1.0 + abs(score))


@inner_with_arrays
def refresh_row(t: Tables, hill: Hill, y: Integer) -> None:
    """change[y, :] for the present parents and the candidates of y, which moves on its children
    depend on, too."""
    pa, change = hill.pa, hill.change
    n = pa.shape[0]
    parents, xs = np.empty(n + 2, dtype=np.int64), np.empty(n, dtype=np.int64)
    full, part = np.empty(n), np.empty(n)
    k = members(pa[y], parents)
    m = np.int64(0)
    for w in range(pa.shape[1]):
        word = hill.candidates[y, w] & ~pa[y, w]
        while word != ZERO:
            xs[m] = first(w, word)
            word &= word - np.uint64(1)
            m += 1
    here = local(t, y, parents, k)
    if m > 0:
        joint_pairs(t, y, parents, k, xs, m, full, part)
    for i in range(m):
        change[y, xs[i]] = full[i] - part[i] - here
    others = np.empty(k, dtype=np.int64)
    for a in range(k):
        others[:a] = parents[:a]
        others[a : k - 1] = parents[a + 1 : k]
        change[y, parents[a]] = local(t, y, others, k - 1) - here
    hill.bound[y] = np.inf
    k = members(hill.ch[y], xs)
    for a in range(k):
        hill.bound[xs[a]] = np.inf


@inner_with_arrays
def find_descendants(hill: Hill) -> None:
    """below[v] := the nodes that v reaches by a directed path, of all v."""
    below, ch = hill.below, hill.ch
    below[:] = ZERO
    order = topological_bits(hill.pa, ch)
    for i in range(order.size - 1, -1, -1):
        v = order[i]
        for w in range(ch.shape[1]):
            word = ch[v, w]
            below[v, w] |= word
            while word != ZERO:
                c = first(w, word)
                word &= word - np.uint64(1)
                for u in range(ch.shape[1]):
                    below[v, u] |= below[c, u]


@inner_with_arrays
def find_descendants_again(hill: Hill) -> None:
    """below, after edges were taken away; forgets the bounds of rows in which new paths matter."""
    n, words = hill.below.shape
    before = hill.below.copy()
    find_descendants(hill)
    for v in range(n):
        for w in range(words):
            before[v, w] ^= hill.below[v, w]
        if any_in(before[v]):
            hill.bound[v] = np.inf
            for w in range(words):
                word = hill.pa[v, w]
                while word != ZERO:
                    forget_bounds(hill.bound, hill.ch[first(w, word)])
                    word &= word - np.uint64(1)


@inner
def forget_bounds(bound: NDArray[np.float64], rows: Bits) -> None:
    """Rows of this set are looked at again."""
    for w in range(rows.shape[0]):
        word = rows[w]
        while word != ZERO:
            bound[first(w, word)] = np.inf
            word &= word - np.uint64(1)


@inner_with_arrays
def _add_descendants(hill: Hill, y: Integer, x: Integer) -> None:
    """below, after x -> y was added."""
    below = hill.below
    for v in range(below.shape[0]):
        if v == x or has_bit(below[v], x):
            set_bit(below[v], y)
            for w in range(below.shape[1]):
                below[v, w] |= below[y, w]


@inner_with_arrays
def _reaches_otherwise(ch: Bits, below: Bits, x: Integer, y: Integer) -> bool:
    """Whether x reaches y by a path other than the edge x -> y."""
    for w in range(ch.shape[1]):
        word = ch[x, w]
        while word != ZERO:
            c = first(w, word)
            word &= word - np.uint64(1)
            if c != y and has_bit(below[c], y):
                return True
    return False


@inner_with_arrays
def _is_permitted(hill: Hill, rules: HillRules, option: Integer, y: Integer, x: Integer) -> bool:
    """Whether a move on x -> y keeps the knowledge and closes no cycle."""
    if option == ADD:
        return not (has_bit(rules.forbidden[y], x) or has_bit(hill.below[y], x))
    if has_bit(rules.required[y], x):
        return False
    return option == REMOVE or not (
        has_bit(rules.forbidden[x], y) or _reaches_otherwise(hill.ch, hill.below, x, y)
    )


@inner_with_arrays
def _best_move(
    hill: Hill, rules: HillRules, aspired: float, floor: float, first_of: bool, only: Integer
) -> tuple[int, int, int, float]:
    """(kind, y, x, gain) of the best permitted move on x -> y that gains more than `floor`, kind -1
    if there is none; with `first_of` the first of them by (kind, y, x). `only` is a kind, or ANY.

    A pair is tabu until step tabu[x, y], except for a move that gains more than `aspired`.
    """
    pa, ch, change, tabu, step = hill.pa, hill.ch, hill.change, hill.tabu, hill.state[0]
    kind, best_y, best_x, best, bar, lost = -1, -1, -1, floor, floor, 0.0
    for y in range(pa.shape[0]):
        if hill.bound[y] <= bar:
            continue
        hill.bound[y] = -np.inf
        for w in range(pa.shape[1]):
            word, parents = hill.candidates[y, w] & ~ch[y, w], pa[y, w]
            while word != ZERO:
                x = first(w, word)
                bit = word & (~word + np.uint64(1))
                word ^= bit
                begin, end = (REMOVE, REVERSE + 1) if parents & bit != ZERO else (ADD, ADD + 1)
                for option in range(begin, end):
                    gain = change[y, x]
                    if option == REVERSE:
                        gain += change[x, y]
                    if gain <= bar and gain <= hill.bound[y]:
                        continue
                    if not _is_permitted(hill, rules, option, y, x):
                        continue
                    hill.bound[y] = max(hill.bound[y], gain)
                    if gain <= bar or (first_of and 0 <= kind <= option):
                        continue
                    is_other = only != ANY and option != only
                    if is_other or (tabu[x, y] > step and gain <= aspired):
                        continue
                    grown = pa[y if option == ADD else x]
                    if option != REMOVE and size_of(grown) >= rules.max_parents:
                        lost = max(lost, gain)
                        continue
                    kind, best_y, best_x, best = option, y, x, gain
                    bar = floor if first_of else gain
    if not first_of and lost > max(best, 0.0):
        hill.hit[0] += 1
    return kind, best_y, best_x, best


@inner_with_arrays
def make_move(
    t: Tables, hill: Hill, rules: HillRules, kind: Integer, y: Integer, x: Integer
) -> None:
    """Make a move on x -> y and count it."""
    if kind == ADD:
        set_bit(hill.pa[y], x)
        set_bit(hill.ch[x], y)
        _add_descendants(hill, y, x)
    else:
        clear_bit(hill.pa[y], x)
        clear_bit(hill.ch[x], y)
        hill.bound[x] = np.inf  # y -> x was no move before
    refresh_row(t, hill, y)
    if kind == REVERSE:
        set_bit(hill.pa[x], y)
        set_bit(hill.ch[y], x)
        refresh_row(t, hill, x)
    if kind != ADD:
        forget_bounds(hill.bound, hill.ch[x])
        find_descendants_again(hill)
    hill.state[0] += 1
    hill.state[1] += 1
    hill.tabu[x, y] = hill.tabu[y, x] = hill.state[0] + rules.tabu_length


@inner_with_arrays
def _choose_move(
    hill: Hill, rules: HillRules, aspired: float, floor: float, in_order: bool
) -> tuple[int, int, int, float]:
    """(kind, y, x, gain) of the best permitted move that gains more than `floor`, of equals the
    first by (kind, y, x); kind -1 if there is none.

    With `in_order` the best of the removals, if there is none of the reversals, then of the
    additions: XGES-0 takes its operators so.
    """
    tolerance = tolerance_at(hill.score[0])
    for turn in range(KINDS if in_order else 1):
        only = (REMOVE + turn) % KINDS if in_order else ANY
        kind, _, _, gain = _best_move(hill, rules, aspired, floor, False, only)
        if kind >= 0:
            return _best_move(hill, rules, aspired, max(floor, gain - tolerance), True, only)
    return -1, -1, -1, 0.0


@inner_with_arrays
def climb(t: Tables, hill: Hill, rules: HillRules, budget: int, in_order: bool) -> bool:
    """At most `budget` steps of `climb_hill`, from a state of which all rows are up to date; for
    `in_order` see `_choose_move`."""
    score = hill.score
    for _ in range(budget):
        tolerance = tolerance_at(score[0])
        aspired = score[1] - score[0] + tolerance
        floor = tolerance if hill.state[1] >= rules.patience else -np.inf
        kind, y, x, gain = _choose_move(hill, rules, aspired, floor, in_order)
        if kind < 0:
            return True
        make_move(t, hill, rules, kind, y, x)
        score[0] += gain
        if score[0] > score[1] + tolerance:
            score[1] = score[0]
            hill.best_pa[:] = hill.pa
            hill.state[1] = 0
    return False


@door
def climb_hill(t: Tables, hill: Hill, rules: HillRules, budget: int) -> bool:
    """Take the best move while it gains, and with a tabu list the least bad one up to `patience`
    times in a row without a new best; best_pa has the best graph met.

    Everything goes on from where it is, so the search may be stopped after `budget` steps.
    Returns whether it is finished.
    """
    find_descendants(hill)
    for y in range(hill.pa.shape[0]):
        refresh_row(t, hill, y)
    return bool(climb(t, hill, rules, budget, False))
