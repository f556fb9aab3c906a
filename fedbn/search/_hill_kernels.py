"""Hill climbing over DAGs on bitsets: the compiled side of `hill_climbing.py`.

Each node y keeps add[y, x] = s(y, Pa(y) ∪ {x}) - s(y, Pa(y)) for x outside Pa(y), and
add[y, x] = s(y, Pa(y) \\ {x}) - s(y, Pa(y)) for x in Pa(y); a step changes one row, or two for a
reversal. Acyclicity is read from the sets of descendants.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, set_bit
from fedbn.graphs._cpdag_kernels import topological_bits
from fedbn.scores._joint_kernels import joint_pairs, local
from fedbn.scores._tables import Integer, Tables, inner
from fedbn.search._set_kernels import first, members, size_of
from fedbn.search._state import ZERO

ADD, REMOVE, REVERSE = 0, 1, 2


class Hill(NamedTuple):
    """The present DAG, what its moves gain, and the best DAG met; n nodes, W words."""

    pa: Bits  # [n, W]
    ch: Bits  # [n, W]
    best_pa: Bits  # [n, W]
    change: NDArray[np.float64]  # [n, n]: of row y by x -> y, added or removed
    score: NDArray[np.float64]  # [2]: present and best
    state: NDArray[np.int64]  # [2]: steps, and steps since the best
    tabu: NDArray[np.int64]  # [n, n]: the step until which a pair is left alone
    hit: NDArray[np.int64]  # [1]: how often max_parents left a move out


class HillRules(NamedTuple):
    """Limits and background knowledge."""

    forbidden: Bits  # [n, W]: row y has x if x -> y is forbidden
    required: Bits  # [n, W]: row y has x if x -> y is required
    max_parents: int
    tabu_length: int
    patience: int


@inner
def _refresh_row(t: Tables, hill: Hill, y: Integer) -> None:
    """change[y, :] for the present parents of y."""
    pa, change = hill.pa, hill.change
    n = pa.shape[0]
    parents, xs = np.empty(n + 2, dtype=np.int64), np.empty(n, dtype=np.int64)
    full, part = np.empty(n), np.empty(n)
    k = members(pa[y], parents)
    m = np.int64(0)
    for x in range(n):
        if x != y and not has_bit(pa[y], x):
            xs[m] = x
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


@inner
def _descendants(pa: Bits, ch: Bits) -> Bits:
    """below[v] = the nodes that v reaches by a directed path."""
    n, words = pa.shape
    below = np.zeros((n, words), dtype=np.uint64)
    children = np.empty(n, dtype=np.int64)
    order = topological_bits(pa, ch)
    for i in range(n - 1, -1, -1):
        v = order[i]
        k = members(ch[v], children)
        for a in range(k):
            set_bit(below[v], children[a])
            for w in range(words):
                below[v, w] |= below[children[a], w]
    return below


@inner
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


@inner
def _is_allowed(
    hill: Hill,
    rules: HillRules,
    below: Bits,
    option: Integer,
    y: Integer,
    x: Integer,
    gain: float,
) -> bool:
    """Whether a move on x -> y keeps the knowledge, closes no cycle, and keeps the in-degree; a
    gain that is lost to the in-degree alone is counted."""
    if option == ADD:
        if has_bit(rules.forbidden[y], x) or has_bit(hill.pa[x], y) or has_bit(below[y], x):
            return False
    elif has_bit(rules.required[y], x):
        return False
    if option == REVERSE and (
        has_bit(rules.forbidden[x], y) or _reaches_otherwise(hill.ch, below, x, y)
    ):
        return False
    if option == REMOVE:
        return True
    fits = size_of(hill.pa[y if option == ADD else x]) < rules.max_parents
    if not fits and gain > 0.0:
        hill.hit[0] += 1
    return fits


@inner
def _best_move(
    hill: Hill, rules: HillRules, below: Bits, aspired: float, least: float
) -> tuple[int, int, int, float]:
    """(kind, y, x, gain) of the best permitted move on x -> y, kind -1 if there is none; with a
    finite `least` the first by (kind, y, x) that gains so much.

    A pair is tabu until step tabu[x, y], except for a move that gains more than `aspired`.
    """
    n = hill.pa.shape[0]
    kind, best_y, best_x, best = -1, -1, -1, -np.inf
    for option in range(3):
        for y in range(n):
            for x in range(n):
                if x == y or has_bit(hill.pa[y], x) != (option != ADD):
                    continue
                gain = hill.change[y, x]
                if option == REVERSE:
                    gain += hill.change[x, y]
                if gain <= best or gain < least:
                    continue
                if hill.tabu[x, y] > hill.state[0] and gain <= aspired:
                    continue
                if not _is_allowed(hill, rules, below, option, y, x, gain):
                    continue
                kind, best_y, best_x, best = option, y, x, gain
                if least > -np.inf:
                    return kind, best_y, best_x, best
    return kind, best_y, best_x, best


@inner
def _move(t: Tables, hill: Hill, rules: HillRules, kind: Integer, y: Integer, x: Integer) -> None:
    """Make a move on x -> y and count it."""
    if kind == ADD:
        set_bit(hill.pa[y], x)
        set_bit(hill.ch[x], y)
    else:
        clear_bit(hill.pa[y], x)
        clear_bit(hill.ch[x], y)
    _refresh_row(t, hill, y)
    if kind == REVERSE:
        set_bit(hill.pa[x], y)
        set_bit(hill.ch[y], x)
        _refresh_row(t, hill, x)
    hill.state[0] += 1
    hill.state[1] += 1
    hill.tabu[x, y] = hill.tabu[y, x] = hill.state[0] + rules.tabu_length


@njit(cache=True, nogil=True)
def climb_hill(t: Tables, hill: Hill, rules: HillRules, budget: int) -> bool:
    """Take the best move while it gains, and with a tabu list the least bad one up to `patience`
    times in a row without a new best; best_pa has the best graph met.

    Everything goes on from where it is, so the search may be stopped after `budget` steps.
    Returns whether it is finished.
    """
    score = hill.score
    for y in range(hill.pa.shape[0]):
        _refresh_row(t, hill, y)
    for _ in range(budget):
        tolerance = 1e-9 * (1.0 + abs(score[0]))
        below = _descendants(hill.pa, hill.ch)
        aspired = score[1] - score[0] + tolerance
        least = -np.inf
        for _ in range(2):
            kind, y, x, gain = _best_move(hill, rules, below, aspired, least)
            least = gain - tolerance
        if kind < 0 or (gain <= tolerance and hill.state[1] >= rules.patience):
            return True
        _move(t, hill, rules, kind, y, x)
        score[0] += gain
        if score[0] > score[1] + tolerance:
            score[1] = score[0]
            hill.best_pa[:] = hill.pa
            hill.state[1] = 0
    return False
