"""Kicks between climbs: the compiled side of `iterated_local_search.py`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Bits
from fedbn.graphs._bit_kernels import clear_bit, has_bit, set_bit
from fedbn.kernel_door import door
from fedbn.kernel_parts import inner_with_arrays
from fedbn.kernel_state import by_reference
from fedbn.scores._tables import Integer, Tables
from fedbn.search._greedy_kernels import total
from fedbn.search._hill_kernels import (
    REMOVE,
    REVERSE,
    Hill,
    HillRules,
    climb,
    find_descendants,
    make_move,
    refresh_row,
    tolerance_at,
)
from fedbn.search._random_kernels import next_random
from fedbn.search._set_kernels import first, members
from fedbn.search._state import ALL, ZERO

NEVER = 1 << 60  # a step that does not come
NEAR = 2  # edges between the pair that is kicked and the nodes of a walk
BESIDE = 1  # edges between that pair and the nodes that lose edges, too
DRAWS = 4  # for each edge of a kick
KICKS, IDLE, STRENGTH = 0, 1, 2  # of `state`


@by_reference
class Kicks(NamedTuple):
    """The DAG that is kicked, and what the kicks keep to."""

    pa: Bits  # [n, W]
    ch: Bits  # [n, W]
    below: Bits  # [n, W]
    change: NDArray[np.float64]  # [n, n]
    bound: NDArray[np.float64]  # [n]
    tried: Bits  # [n, W] symmetric: pairs that were kicked in this round
    state: NDArray[np.int64]  # [3]: kicks; kicks in vain, halved by a better DAG; edges that a kick
    # takes away
    random: Bits  # [1]: SplitMix64
    patience: int
    reversals: int
    candidates: int
    strongest: int


@inner_with_arrays
def _markov_blankets(hill: Hill) -> Bits:
    """Row y has the parents of y, its children, and the other parents of these."""
    n, words = hill.pa.shape
    blankets = hill.pa | hill.ch
    parents = np.empty(n, dtype=np.int64)
    for v in range(n):
        k = members(hill.pa[v], parents)
        for a in range(k):
            for w in range(words):
                blankets[parents[a], w] |= hill.pa[v, w]
    for y in range(n):
        clear_bit(blankets[y], y)
    return blankets


@inner_with_arrays
def _choose_candidates(t: Tables, hill: Hill, number: Integer) -> None:
    """candidates := for every y its Markov blanket, and the `number` of x that would gain most as a
    further parent, of equals the first; all rows are up to date then."""
    n, words = hill.pa.shape
    tolerance = tolerance_at(hill.score[0])
    chosen = _markov_blankets(hill)
    for y in range(n):
        hill.candidates[y] = ALL
        clear_bit(hill.candidates[y], y)
        for x in range(n, 64 * words):
            clear_bit(hill.candidates[y], x)
        refresh_row(t, hill, y)
        left = hill.candidates[y] & ~hill.pa[y]
        for _ in range(number):
            best = -1
            for x in range(n):
                gain = hill.change[y, x]
                if has_bit(left, x) and (best < 0 or gain > hill.change[y, best] + tolerance):
                    best = x
            if best < 0:
                break
            clear_bit(left, best)
            set_bit(chosen[y], best)
            set_bit(chosen[best], y)
    hill.candidates[:] = chosen


@inner_with_arrays
def _cheapest_edge(hill: Hill, rules: HillRules, kicks: Kicks) -> tuple[int, int]:
    """(y, x) of the edge x -> y that costs least, of equals the first, among those that are not
    required and not tried; (-1, -1) if there is none."""
    least, best_y, best_x = np.inf, -1, -1
    tolerance = tolerance_at(hill.score[0])
    for y in range(hill.pa.shape[0]):
        for w in range(hill.pa.shape[1]):
            word = hill.pa[y, w] & ~rules.required[y, w] & ~kicks.tried[y, w]
            while word != ZERO:
                x = first(w, word)
                word &= word - np.uint64(1)
                if -hill.change[y, x] < least - tolerance:
                    least, best_y, best_x = -hill.change[y, x], y, x
    return best_y, best_x


@inner_with_arrays
def _is_covered(hill: Hill, y: Integer, x: Integer) -> bool:
    """Whether Pa(y) without x is Pa(x)."""
    differ = ZERO
    clear_bit(hill.pa[y], x)
    for w in range(hill.pa.shape[1]):
        differ |= hill.pa[y, w] ^ hill.pa[x, w]
    set_bit(hill.pa[y], x)
    return bool(differ == ZERO)


@inner_with_arrays
def _nodes_near(hill: Hill, y: Integer, x: Integer, distance: Integer) -> NDArray[np.int64]:
    """The nodes at most `distance` edges away from y or x, ascending."""
    n, words = hill.pa.shape
    found = np.zeros(words, dtype=np.uint64)
    nodes = np.empty(n, dtype=np.int64)
    set_bit(found, y)
    set_bit(found, x)
    for _ in range(distance):
        k = members(found, nodes)
        for a in range(k):
            for w in range(words):
                found[w] |= hill.pa[nodes[a], w] | hill.ch[nodes[a], w]
    return nodes[: members(found, nodes)]


@inner_with_arrays
def _draw_edge(
    hill: Hill, rules: HillRules, kicks: Kicks, nodes: NDArray[np.int64]
) -> tuple[int, int]:
    """(y, x): one of the nodes and one of its parents at random; (-1, -1) if it has none, or the
    edge is required."""
    parents = np.empty(hill.pa.shape[0], dtype=np.int64)
    y: Integer = nodes[np.int64(next_random(kicks.random) % np.uint64(nodes.size))]
    k = members(hill.pa[y], parents)
    if k == 0:
        return -1, -1
    x: Integer = parents[np.int64(next_random(kicks.random) % np.uint64(k))]
    if has_bit(rules.required[y], x):
        return -1, -1
    return int(y), int(x)


@inner_with_arrays
def _walk(t: Tables, hill: Hill, rules: HillRules, kicks: Kicks, nodes: NDArray[np.int64]) -> None:
    """Draw `reversals` edges into the nodes, and reverse those that are covered, where knowledge
    allows it."""
    for _ in range(kicks.reversals):
        y, x = _draw_edge(hill, rules, kicks, nodes)
        if y >= 0 and not has_bit(rules.forbidden[x], y) and _is_covered(hill, y, x):
            gain = hill.change[y, x] + hill.change[x, y]
            make_move(t, hill, rules, np.int64(REVERSE), y, x)
            hill.score[0] += gain


@inner_with_arrays
def _take_away(t: Tables, hill: Hill, rules: HillRules, y: Integer, x: Integer) -> None:
    """Take x -> y away; the pair is tabu from then on."""
    hill.score[0] += hill.change[y, x]
    make_move(t, hill, rules, np.int64(REMOVE), y, x)
    hill.tabu[x, y] = hill.tabu[y, x] = NEVER


@inner_with_arrays
def _kick(t: Tables, hill: Hill, rules: HillRules, kicks: Kicks, y: Integer, x: Integer) -> None:
    """Take x -> y away, and edges beside it; climb in order while these pairs are tabu, and climb
    again; both times from a member of the class that a walk nearby leads to."""
    nodes = _nodes_near(hill, y, x, NEAR)
    beside = _nodes_near(hill, y, x, BESIDE)
    _take_away(t, hill, rules, y, x)
    left = kicks.state[STRENGTH] - 1
    for _ in range(DRAWS * left):
        if left == 0:
            break
        v, u = _draw_edge(hill, rules, kicks, beside)
        if v >= 0:
            _take_away(t, hill, rules, v, u)
            left -= 1
    for in_order in (True, False):
        _walk(t, hill, rules, kicks, nodes)
        climb(t, hill, rules, NEVER, in_order)
        hill.tabu[:] = 0


@door
def iterate(t: Tables, hill: Hill, rules: HillRules, kicks: Kicks, budget: int) -> bool:
    """Kick, and go back unless the score is at least the best, until `patience` kicks were in vain;
    hill.best_pa has the best.

    A better DAG halves the number of those in vain. When all edges were tried without one, a kick
    takes one edge more away from then on, at most `strongest`.
    Everything goes on from where it is, so the search may be stopped after `budget` kicks.
    Returns whether it is finished.
    """
    if kicks.state[KICKS] == 0:
        find_descendants(hill)
        _choose_candidates(t, hill, kicks.candidates)
        climb(t, hill, rules, NEVER, False)
    for _ in range(budget):
        if kicks.state[IDLE] >= kicks.patience:
            return True
        y, x = _cheapest_edge(hill, rules, kicks)
        if y < 0:
            if not kicks.tried.any():
                return True
            kicks.tried[:] = ZERO
            kicks.state[STRENGTH] = min(kicks.state[STRENGTH] + 1, kicks.strongest)
            continue
        set_bit(kicks.tried[y], x)
        set_bit(kicks.tried[x], y)
        kicks.pa[:], kicks.ch[:], kicks.below[:] = hill.pa, hill.ch, hill.below
        kicks.change[:], kicks.bound[:] = hill.change, hill.bound
        present, best = hill.score[0], hill.score[1]
        _kick(t, hill, rules, kicks, y, x)
        kicks.state[KICKS] += 1
        kicks.state[IDLE] += 1
        if hill.score[1] > best:  # or is it but rounding, of which many steps add up?
            hill.score[0], hill.score[1] = total(t, hill.pa), total(t, hill.best_pa)
        if hill.score[0] < hill.score[1] - tolerance_at(hill.score[1]):
            hill.pa[:], hill.ch[:], hill.below[:] = kicks.pa, kicks.ch, kicks.below
            hill.change[:], hill.bound[:] = kicks.change, kicks.bound
            hill.score[0] = present
        if hill.score[1] > best + tolerance_at(best):
            kicks.state[IDLE] //= 2
            kicks.state[STRENGTH] = 1
            kicks.tried[:] = ZERO
    return False
