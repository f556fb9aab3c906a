"""Hill climbing over DAGs on bitsets: the compiled side of `hill_climbing.py`.

Each node y keeps add[y, x] = s(y, Pa(y) ∪ {x}) - s(y, Pa(y)) for x outside Pa(y), and
add[y, x] = s(y, Pa(y) \\ {x}) - s(y, Pa(y)) for x in Pa(y); a step changes one row, or two for a
reversal. Acyclicity is read from the sets of descendants.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.graphs._kernels import Bits, clear_bit, first_bit, has_bit, set_bit, topological_bits
from fedbn.scores._kernels import joint_pairs, local
from fedbn.scores._tables import Integer, Tables, inner

ADD, REMOVE, REVERSE = 0, 1, 2
ZERO = np.uint64(0)


@inner
def _parents_of(row: Bits, out: NDArray[np.int64]) -> int:
    """out := the elements of the set, ascending; returns how many."""
    k: Integer = np.int64(0)
    for w in range(row.shape[0]):
        word = row[w]
        while word != ZERO:
            out[k] = (w << 6) + np.int64(first_bit(word))
            word &= word - np.uint64(1)
            k += 1
    return int(k)


@inner
def _refresh_row(t: Tables, pa: Bits, change: NDArray[np.float64], y: Integer) -> None:
    """change[y, :] for the present parents of y."""
    n = pa.shape[0]
    parents, xs = np.empty(n + 2, dtype=np.int64), np.empty(n, dtype=np.int64)
    full, part = np.empty(n), np.empty(n)
    k = _parents_of(pa[y], parents)
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
        k = _parents_of(ch[v], children)
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
            c = (w << 6) + np.int64(first_bit(word))
            word &= word - np.uint64(1)
            if c != y and has_bit(below[c], y):
                return True
    return False


@inner
def _best_move(
    pa: Bits,
    ch: Bits,
    below: Bits,
    change: NDArray[np.float64],
    forbidden: Bits,
    required: Bits,
    tabu: NDArray[np.int64],
    step: int,
    max_parents: int,
    aspired: float,
    least: float,
    hit: NDArray[np.int64],
) -> tuple[int, int, int, float]:
    """(kind, y, x, gain) of the best permitted move on x -> y, kind -1 if there is none; with a
    finite `least` the first by (kind, y, x) that gains so much.

    A pair is tabu until step tabu[x, y], except for a move that gains more than `aspired`.
    """
    n = pa.shape[0]
    kind, best_y, best_x, best = -1, -1, -1, -np.inf
    size = np.zeros(n, dtype=np.int64)
    scratch = np.empty(n, dtype=np.int64)
    for y in range(n):
        size[y] = _parents_of(pa[y], scratch)
    for option in range(3):
        for y in range(n):
            for x in range(n):
                present = has_bit(pa[y], x)
                if x == y or present != (option != ADD):
                    continue
                gain = change[y, x]
                if option == REVERSE:
                    gain += change[x, y]
                if gain <= best or gain < least:
                    continue
                if tabu[x, y] > step and gain <= aspired:
                    continue
                if option == ADD:
                    if has_bit(forbidden[y], x) or has_bit(pa[x], y) or has_bit(below[y], x):
                        continue
                elif has_bit(required[y], x):
                    continue
                if option == REVERSE and (
                    has_bit(forbidden[x], y) or _reaches_otherwise(ch, below, x, y)
                ):
                    continue
                if option != REMOVE and size[y if option == ADD else x] >= max_parents:
                    hit[0] += np.int64(gain > 0.0)
                    continue
                kind, best_y, best_x, best = option, y, x, gain
                if least > -np.inf:
                    return kind, best_y, best_x, best
    return kind, best_y, best_x, best


@njit(cache=True, nogil=True)
def climb_hill(
    t: Tables,
    pa: Bits,
    ch: Bits,
    forbidden: Bits,
    required: Bits,
    max_parents: int,
    tabu_length: int,
    patience: int,
    score: NDArray[np.float64],
    tabu: NDArray[np.int64],
    state: NDArray[np.int64],
    hit: NDArray[np.int64],
    best_pa: Bits,
    budget: int,
) -> bool:
    """Take the best move while it gains, and with a tabu list the least bad one up to `patience`
    times in a row without a new best; best_pa has the best graph met.

    score [2] present and best, state [2] steps and steps since the best, tabu [n, n]: everything
    goes on from where it is, so the search may be stopped after `budget` steps.
    Returns whether it is finished.
    """
    n = pa.shape[0]
    change = np.zeros((n, n))
    for y in range(n):
        _refresh_row(t, pa, change, y)
    for _ in range(budget):
        tolerance = 1e-9 * (1.0 + abs(score[0]))
        below = _descendants(pa, ch)
        aspired = score[1] - score[0] + tolerance
        least = -np.inf
        for _ in range(2):
            kind, y, x, gain = _best_move(
                pa, ch, below, change, forbidden, required, tabu, state[0], max_parents, aspired,
                least, hit,
            )  # fmt: skip
            least = gain - tolerance
        if kind < 0 or (gain <= tolerance and state[1] >= patience):
            return True
        if kind == ADD:
            set_bit(pa[y], x)
            set_bit(ch[x], y)
        else:
            clear_bit(pa[y], x)
            clear_bit(ch[x], y)
        _refresh_row(t, pa, change, y)
        if kind == REVERSE:
            set_bit(pa[x], y)
            set_bit(ch[y], x)
            _refresh_row(t, pa, change, x)
        state[0] += 1
        tabu[x, y] = tabu[y, x] = state[0] + tabu_length
        score[0] += gain
        state[1] += 1
        if score[0] > score[1] + tolerance:
            score[1] = score[0]
            best_pa[:] = pa
            state[1] = 0
    return False
