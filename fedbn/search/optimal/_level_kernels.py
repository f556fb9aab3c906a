"""Kernels of the search for parent sets by levels; see `parent_sets.py`.

A set {c_1 < ... < c_k} has the colexicographic rank Σ_j C(c_j, j). Sets of one size are kept in
order of rank. `ranks` with no entry means: all sets of that size, where a rank is its own place.
`binomial[a, b]` is C(a, b).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fedbn.scores._gaussian_kernels import factorise
from fedbn.scores._tables import GAUSSIAN, INFORMATION, Tables

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
TERM_COUNTS = 256  # BDeu terms of smaller counts are stored
TERM_SLOTS = 128


@njit(cache=True, nogil=True)
def unrank(rank: int, size: int, binomial: Ints, top: int, members: Ints) -> None:
    """members[:size] := the set with this rank, ascending, all below `top`."""
    c = top - 1
    for j in range(size, 0, -1):
        while binomial[c, j] > rank:
            c -= 1
        members[j - 1] = c
        rank -= binomial[c, j]
        c -= 1


@njit(cache=True, nogil=True)
def place(rank: int, ranks: Ints) -> int:
    """Where a rank stands, or -1."""
    if ranks.size == 0:
        return rank
    low, high = 0, ranks.size
    while low < high:
        middle = (low + high) >> 1
        if ranks[middle] < rank:
            low = middle + 1
        else:
            high = middle
    if low < ranks.size and ranks[low] == rank:
        return low
    return -1


@njit(cache=True, nogil=True)
def extended(
    old_ranks: Ints,
    old_best: Floats,
    size: int,
    others: int,
    binomial: Ints,
    arities: Ints,
    unit: float,
    slack: float,
) -> tuple[Ints, Floats]:
    """The sets of `size` + 1 all of whose subsets of `size` may be extended, with their bound.

    The bound of a set is the least cost among all its proper subsets. Where `unit` > 0 (BIC, AIC:
    the penalty (r_i - 1) w), a set P with bound + slack < unit Π r is left out with all its
    supersets (theorem 4).

    Parameters: sets over 0 .. others - 1, their `arities`; `old_best` [m] least cost within each
    old set. Returns ranks and bounds, ascending by rank.
    """
    capacity = max(1024, old_best.size)
    ranks = np.empty(capacity, dtype=np.int64)
    bounds = np.empty(capacity, dtype=np.float64)
    found = 0
    members = np.empty(size + 2, dtype=np.int64)
    for v in range(size, others):
        limit = binomial[v, size]
        for a in range(old_best.size):
            rank = a if old_ranks.size == 0 else old_ranks[a]
            if rank >= limit:
                break
            unrank(rank, size, binomial, v, members)
            members[size] = v
            bound = old_best[a]
            below = 0  # Σ_{l < j} C(c_l, l + 1), then the part above, shifted by one place
            above = 0
            for j in range(1, size + 1):
                above += binomial[members[j], j]
            whole = True
            for j in range(size):
                at = place(below + above, old_ranks)
                if at < 0:
                    whole = False
                    break
                bound = min(bound, old_best[at])
                below += binomial[members[j], j + 1]
                above -= binomial[members[j + 1], j + 1]
            if not whole:
                continue
            if unit > 0.0:
                penalty = unit
                for j in range(size + 1):
                    penalty *= arities[members[j]]
                if bound + slack < penalty:
                    continue
            if found == capacity:
                capacity *= 2
                more = np.empty(capacity, dtype=np.int64)
                more[:found] = ranks
                ranks = more
                wider = np.empty(capacity, dtype=np.float64)
                wider[:found] = bounds
                bounds = wider
            ranks[found] = rank + binomial[v, size + 1]
            bounds[found] = bound
            found += 1
    return ranks[:found].copy(), bounds[:found].copy()


@njit(cache=True, nogil=True)
def global_ranks(
    node: int, ranks: Ints, size: int, others: int, binomial: Ints
) -> tuple[Ints, Ints]:
    """Ranks among all variables of each set and of the set with the node; node is left out of
    the numbering of `ranks`."""
    own = np.empty(ranks.size, dtype=np.int64)
    family = np.empty(ranks.size, dtype=np.int64)
    members = np.empty(size + 1, dtype=np.int64)
    for a in range(ranks.size):
        unrank(ranks[a], size, binomial, others, members)
        plain, joined, smaller = 0, 0, 0
        for j in range(size):
            c = members[j] + (members[j] >= node)
            plain += binomial[c, j + 1]
            if c < node:
                joined += binomial[c, j + 1]
                smaller += 1
            else:
                joined += binomial[c, j + 2]
        own[a] = plain
        family[a] = joined + binomial[node, smaller + 1]
    return own, family


@njit(cache=True, nogil=True)
def _log_gamma_terms(terms: Floats, sizes: Floats, log_size: float, ess: float) -> int:
    """The slot of BDeu terms for sets with Π r = exp(log_size); a new slot is emptied."""
    slot = int(log_size * 997.0) % TERM_SLOTS
    if sizes[slot] != log_size:
        sizes[slot] = log_size
        terms[slot, :] = np.nan
        alpha = ess * math.exp(-log_size)
        terms[slot, 0] = alpha
        terms[slot, TERM_COUNTS] = math.lgamma(alpha)
    return slot


@njit(cache=True, nogil=True)
def _term(terms: Floats, slot: int, count: int) -> float:
    """ln Γ(count + α) - ln Γ(α)."""
    if count < TERM_COUNTS:
        value = terms[slot, count]
        if not math.isnan(value):
            return float(value)
    value = math.lgamma(count + terms[slot, 0]) - terms[slot, TERM_COUNTS]
    if count < TERM_COUNTS:
        terms[slot, count] = value
    return float(value)


@njit(cache=True, nogil=True)
def joint_values(
    t: Tables,
    n_log_n: Floats,
    wanted: Ints,
    size: int,
    binomial: Ints,
    values: Floats,
    occupied: NDArray[np.int32],
) -> None:
    """values[a], occupied[a] := joint value and number of observed configurations.

    `wanted` are the ranks, ascending. The joint value is Σ n_c ln n_c (BIC, AIC), the BDeu J of
    `scores`, or the Gaussian J. Sets that share their larger members share the counting of these.
    """
    n, rows = t.codes.shape
    members = np.empty(size + 1, dtype=np.int64)
    if t.kind == GAUSSIAN:
        for a in range(wanted.size):
            unrank(wanted[a], size, binomial, n, members)
            values[a] = t.constant[size] - t.exponent[size] * factorise(t, members, size)
        return
    if size == 0:
        alpha = t.parameter
        values[:] = n_log_n[t.n_rows]
        if t.kind != INFORMATION:
            values[:] = math.lgamma(t.n_rows + alpha) - math.lgamma(alpha)
        occupied[:] = 1
        return
    index = np.zeros((size + 1, rows), dtype=np.int32)  # configuration of the largest d members
    span = np.ones(size + 1, dtype=np.int64)
    before = np.full(size + 1, -1, dtype=np.int64)
    widest = 1
    for v in range(n):
        widest = max(widest, t.arities[v])
    cells = np.zeros(max(rows, 1) * widest + 1, dtype=np.int32)
    terms = np.full((TERM_SLOTS, TERM_COUNTS + 1), np.nan)
    sizes = np.full(TERM_SLOTS, -1.0)
    for a in range(wanted.size):
        unrank(wanted[a], size, binomial, n, members)
        depth = 0
        while depth < size - 1 and before[depth] == members[size - 1 - depth]:
            depth += 1
        for d in range(depth, size - 1):
            v = members[size - 1 - d]
            before[d] = v
            for e in range(d + 1, size):
                before[e] = -1
            span[d + 1] = _refine(index[d], span[d], t.codes[v], t.arities[v], cells, index[d + 1])
        v = members[0]
        column, arity = t.codes[v], np.int32(t.arities[v])
        prefix = index[size - 1]
        total_cells = span[size - 1] * t.arities[v]
        for c in range(total_cells):
            cells[c] = 0
        for row in range(rows):
            cells[prefix[row] * arity + np.int32(column[row])] += t.weights[row]
        total, seen = 0.0, 0
        slot = 0
        if t.kind != INFORMATION:
            log_size = 0.0
            for j in range(size):
                log_size += math.log(t.arities[members[j]])
            slot = _log_gamma_terms(terms, sizes, log_size, t.parameter)
        for c in range(total_cells):
            count = cells[c]
            if count > 0:
                seen += 1
                if t.kind == INFORMATION:
                    total += n_log_n[count]
                else:
                    total += _term(terms, slot, count)
        values[a] = total
        occupied[a] = seen


@njit(cache=True, nogil=True)
def _refine(
    index: NDArray[np.int32],
    span: int,
    column: NDArray[np.uint16],
    arity: int,
    cells: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """out := observed configurations of (index, column), numbered by first appearance."""
    for c in range(span * arity):
        cells[c] = -1
    found = 0
    for row in range(index.size):
        c = index[row] * arity + column[row]
        if cells[c] < 0:
            cells[c] = found
            found += 1
        out[row] = cells[c]
    return found


@njit(cache=True, nogil=True)
def scored(
    t: Tables,
    node: int,
    ranks: Ints,
    bounds: Floats,
    size: int,
    binomial: Ints,
    slack: float,
    floor: float,
    ranks_below: Ints,
    values_below: Floats,
    ranks_own: Ints,
    values_own: Floats,
    occupied_own: NDArray[np.int32],
    ranks_above: Ints,
    values_above: Floats,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Costs of the parent sets of one level, and which of them may be extended.

    `..._below`, `..._own`, `..._above` hold the joint values of sets of `size` - 1, `size`,
    `size` + 1. `floor` is a lower bound on the cost of every set of `size` + 1 or more.
    """
    others = t.arities.size - 1
    cost = np.empty(ranks.size, dtype=np.float64)
    extend = np.ones(ranks.size, dtype=np.bool_)
    members = np.empty(size + 1, dtype=np.int64)
    states = float(t.arities[node]) if t.arities.size > node else 1.0
    for a in range(ranks.size):
        unrank(ranks[a], size, binomial, others, members)
        own, family, smaller = 0, 0, 0
        parameters = states - 1.0
        for j in range(size):
            c = members[j] + (members[j] >= node)
            members[j] = c
            own += binomial[c, j + 1]
            if c < node:
                family += binomial[c, j + 1]
                smaller += 1
            else:
                family += binomial[c, j + 2]
            if t.kind != GAUSSIAN:
                parameters *= t.arities[c]
        family += binomial[node, smaller + 1]
        at_own = place(own, ranks_own)
        joint = values_own[at_own]
        cost[a] = joint - values_above[place(family, ranks_above)]
        best = bounds[a]
        if t.kind == GAUSSIAN:
            best = min(best, cost[a])
            extend[a] = not best + slack < floor
        elif t.kind == INFORMATION:
            cost[a] += t.parameter * parameters
            best = min(best, cost[a])
            below, above = 0, 0  # theorem 7, the half with H(j | P)
            for j in range(1, size):
                above += binomial[members[j], j]
            for j in range(size):
                rest = values_below[place(below + above, ranks_below)]
                arity = t.arities[members[j]]
                lost = t.parameter * parameters / arity * (arity - 1.0)
                if rest - joint + slack < lost:
                    extend[a] = False
                    break
                below += binomial[members[j], j + 1]
                if j + 1 < size:
                    above -= binomial[members[j + 1], j + 1]
        else:  # theorem 8
            extend[a] = not bounds[a] + slack < occupied_own[at_own] * math.log(states)
    return cost, extend


@njit(cache=True, nogil=True)
def set_bits(
    node: int, ranks: Ints, size: int, others: int, binomial: Ints, words: int
) -> NDArray[np.uint64]:
    """uint64 [sets, words]: the sets as bits among all variables."""
    bits = np.zeros((ranks.size, words), dtype=np.uint64)
    members = np.empty(size + 1, dtype=np.int64)
    for a in range(ranks.size):
        unrank(ranks[a], size, binomial, others, members)
        for j in range(size):
            c = members[j] + (members[j] >= node)
            bits[a, c >> 6] |= np.uint64(1) << np.uint64(c & 63)
    return bits
