"""BDeu of all sets of few variables; see `_LevelSearch._all_sets` in `parent_sets.py`.

Sets are masks: bit v for the variable v.
"""

from __future__ import annotations

import math

import numpy as np

from fedbn.arrays import Floats, Ints, Ints32
from fedbn.kernel_door import door
from fedbn.scores._tables import Tables
from fedbn.search.families._level_kernels import TERM_COUNTS, TERM_SLOTS, _log_gamma_terms, _term


@door
def all_joint_values(t: Tables) -> Floats:
    """[2^n]: the BDeu J of every set.

    A set is its superset's partition of the rows made coarser, so sets are visited from the
    largest variable down, each splitting the groups of rows of the set without its smallest. A
    row that is alone in its group stays alone: only its weight is remembered.
    """
    n, rows = t.codes.shape
    values = np.zeros(1 << n)
    values[0] = math.lgamma(t.row_weight * t.n_rows + t.parameter) - math.lgamma(t.parameter)
    row = np.empty((n + 1, rows), dtype=np.int32)
    group = np.zeros((n + 1, rows), dtype=np.int32)
    alone = np.empty(rows, dtype=np.int32)
    row[0] = np.arange(rows)
    # per depth: groups, rows in them, rows alone of weight 1, other rows alone, next variable
    state = np.zeros((n + 1, 5), dtype=np.int64)
    state[0] = (1, rows, 0, 0, n - 1)
    configurations = np.ones(n + 1)
    sets = np.zeros(n + 1, dtype=np.int64)
    terms = np.full((TERM_SLOTS, TERM_COUNTS + 1), np.nan)
    sizes = np.full(TERM_SLOTS, -1.0)
    cells = np.zeros((2, (rows + 1) * t.arities.max()), dtype=np.int32)
    depth = 0
    while depth >= 0:
        v = state[depth, 4]
        if v < 0:
            depth -= 1
            continue
        state[depth, 4] = v - 1
        sets[depth + 1] = sets[depth] | (1 << v)
        configurations[depth + 1] = configurations[depth] * t.arities[v]
        slot = _log_gamma_terms(t, terms, sizes, math.log(configurations[depth + 1]))
        _count_groups(t, v, row[depth], group[depth], state[depth], cells)
        total = state[depth, 2] * _term(t, terms, slot, 1)
        for k in range(state[depth, 3]):
            total += _term(t, terms, slot, alone[k])
        for count in cells[0, : state[depth, 0] * t.arities[v]]:
            if count > 0:
                total += _term(t, terms, slot, count)
        values[sets[depth + 1]] = total
        if v > 0:
            _split(t, v, depth, row, group, alone, state, cells[1])
            state[depth + 1, 4] = v - 1
            depth += 1
    return values


@door
def _count_groups(
    t: Tables, v: int, row: Ints32, group: Ints32, state: Ints, cells: Ints32
) -> None:
    """cells[0], cells[1] := weight and number of the rows per (group, state of v)."""
    arity = t.arities[v]
    cells[:, : state[0] * arity] = 0
    for k in range(state[1]):
        c = group[k] * arity + t.codes[v, row[k]]
        cells[0, c] += t.weights[row[k]]
        cells[1, c] += 1


@door
def _split(
    t: Tables,
    v: int,
    depth: int,
    row: Ints32,
    group: Ints32,
    alone: Ints32,
    state: Ints,
    number: Ints32,
) -> None:
    """The groups of depth + 1: those of depth split by v. `number` of rows becomes their labels."""
    arity = t.arities[v]
    found = 0
    for c in range(state[depth, 0] * arity):
        if number[c] > 1:
            number[c] = found
            found += 1
        else:
            number[c] = -1
    kept, ones, heavy = 0, state[depth, 2], state[depth, 3]
    for k in range(state[depth, 1]):
        r = row[depth, k]
        label = number[group[depth, k] * arity + t.codes[v, r]]
        if label >= 0:
            row[depth + 1, kept], group[depth + 1, kept] = r, label
            kept += 1
        elif t.weights[r] == 1:
            ones += 1
        else:
            alone[heavy] = t.weights[r]
            heavy += 1
    state[depth + 1, :4] = (found, kept, ones, heavy)


@door
def undominated_sets(values: Floats, node: int, n: int, slack: float) -> tuple[Ints, Floats]:
    """The parent sets (masks) of a node that no subset beats by more than the slack, and costs."""
    low = (1 << node) - 1
    number = 1 << (n - 1)
    least = np.empty(number)  # the least cost of a set and its subsets
    masks, costs = np.empty(number, dtype=np.int64), np.empty(number)
    kept = 0
    for a in range(number):
        mask = (a & low) | ((a & ~low) << 1)
        cost = values[mask] - values[mask | (1 << node)]
        best = np.inf
        left = a
        while left:
            bit = left & -left
            best = min(best, least[a ^ bit])
            left ^= bit
        if not best + slack < cost:
            masks[kept], costs[kept] = mask, cost
            kept += 1
        least[a] = min(best, cost)
    return masks[:kept].copy(), costs[:kept].copy()
