"""Kernels of the search for parent sets by levels; see `parent_sets.py`.

A set {c_1 < ... < c_k} has the colexicographic rank Σ_j C(c_j, j). Sets of one size are kept in
order of rank. `ranks` with no entry means: all sets of that size, where a rank is its own place.
`binomial[a, b]` is C(a, b).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedbn.arrays import Floats, Ints
from fedbn.kernel_door import door
from fedbn.scores._gaussian_kernels import factorise
from fedbn.scores._tables import BDEU, GAUSSIAN, INFORMATION, Tables

TERM_COUNTS = 256  # BDeu terms of smaller counts are stored
TERM_SLOTS = 128
COMPACT = 128  # configurations that may be numbered with gaps


@door
def unrank(rank: int, size: int, binomial: Ints, top: int, members: Ints) -> None:
    """members[:size] := the set with this rank, ascending, all below `top`."""
    c = top - 1
    for j in range(size, 0, -1):
        while binomial[c, j] > rank:
            c -= 1
        members[j - 1] = c
        rank -= binomial[c, j]
        c -= 1


@door
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


@door
def times(unit: float, arities: Ints, members: Ints, size: int) -> float:
    """unit Π r over members[:size]."""
    for j in range(size):
        unit *= arities[members[j]]
    return unit


@door
def by_rank(ranks: Ints, best: Floats, total: int) -> Floats:
    """`best` by rank below `total`, nan for none; no entry if that table were too large."""
    if ranks.size == 0:
        return best
    if total > 32 * ranks.size:
        return np.empty(0, dtype=np.float64)
    table = np.full(total, np.nan)
    for a in range(ranks.size):
        table[ranks[a]] = best[a]
    return table


@door
def min_within(
    members: Ints,
    size: int,
    smallest: int,
    binomial: Ints,
    table: Floats,
    ranks: Ints,
    best: Floats,
) -> float:
    """The least of `best` over the subsets of members[:size] without one of the `smallest` first.

    -inf if one of these is not among `ranks`; `table` is what `by_rank` makes of both, or no entry.
    """
    least = np.inf
    below, above = 0, 0  # Σ_{l < j} C(c_l, l + 1), then the part above, shifted by one place
    for j in range(1, size):
        above += binomial[members[j], j]
    for j in range(smallest):
        if table.size:
            value = table[below + above]
        else:
            at = place(below + above, ranks)
            value = best[at] if at >= 0 else np.nan
        if math.isnan(value):
            return -np.inf
        least = min(least, value)
        below += binomial[members[j], j + 1]
        if j + 1 < size:
            above -= binomial[members[j + 1], j + 1]
    return float(least)


@door
def extend(
    old_ranks: Ints,
    old_best: Floats,
    size: int,
    others: int,
    binomial: Ints,
    arities: Ints,
    unit: float,
    floor: float,
    slack: float,
) -> tuple[Ints, Floats]:
    """The sets of `size` + 1 all of whose subsets of `size` may be extended, with their bound.

    The bound of a set is the least cost among all its proper subsets. Where `unit` > 0 (BIC, AIC:
    the penalty (r_i - 1) w), a set P with bound + slack < unit Π r + floor is left out with all its
    supersets (theorem 4), where no set of any size loses less likelihood than `floor`.

    Parameters: sets over 0 .. others - 1, their `arities`; `old_best` [m] least cost within each
    old set. Returns ranks and bounds, ascending by rank.
    """
    table = by_rank(old_ranks, old_best, binomial[others, size])
    ranks = np.empty(max(1024, old_best.size), dtype=np.int64)
    bounds = np.empty(ranks.size, dtype=np.float64)
    found = 0
    members = np.empty(size + 2, dtype=np.int64)
    for v in range(size, others):
        for a in range(old_best.size):
            rank = a if old_ranks.size == 0 else old_ranks[a]
            if rank >= binomial[v, size]:
                break
            unrank(rank, size, binomial, v, members)
            members[size] = v
            bound = min_within(members, size + 1, size, binomial, table, old_ranks, old_best)
            bound = min(bound, old_best[a])
            if bound == -np.inf:
                continue
            if unit > 0.0 and bound + slack < times(unit, arities, members, size + 1) + floor:
                continue
            if found == ranks.size:
                ranks = np.concatenate((ranks, np.empty_like(ranks)))
                bounds = np.concatenate((bounds, np.empty_like(bounds)))
            ranks[found], bounds[found] = rank + binomial[v, size + 1], bound
            found += 1
    return ranks[:found].copy(), bounds[:found].copy()


@door
def family_ranks(
    node: int, rank: int, size: int, others: int, binomial: Ints, members: Ints
) -> tuple[int, int]:
    """Ranks among all variables of a set and of the set with the node.

    `rank` numbers the set without the node; members[:size] becomes the set.
    """
    unrank(rank, size, binomial, others, members)
    plain, joined, smaller = 0, 0, 0
    for j in range(size):
        c = members[j] + (members[j] >= node)
        members[j] = c
        plain += binomial[c, j + 1]
        if c < node:
            joined += binomial[c, j + 1]
            smaller += 1
        else:
            joined += binomial[c, j + 2]
    return plain, joined + binomial[node, smaller + 1]


@door
def global_ranks(
    node: int, ranks: Ints, size: int, others: int, binomial: Ints
) -> tuple[Ints, Ints]:
    """`family_ranks` of each of `ranks`."""
    own = np.empty(ranks.size, dtype=np.int64)
    family = np.empty(ranks.size, dtype=np.int64)
    members = np.empty(size + 1, dtype=np.int64)
    for a in range(ranks.size):
        own[a], family[a] = family_ranks(node, ranks[a], size, others, binomial, members)
    return own, family


@door
def _log_gamma_terms(t: Tables, terms: Floats, sizes: Floats, log_size: float) -> int:
    """The slot of BDeu terms for sets with Π r = exp(log_size); a new slot is emptied."""
    slot = int(log_size * 997.0) % TERM_SLOTS
    if sizes[slot] != log_size:
        sizes[slot] = log_size
        terms[slot, :] = np.nan
        alpha = t.parameter * math.exp(-log_size)
        terms[slot, 0] = alpha
        terms[slot, TERM_COUNTS] = math.lgamma(alpha)
    return slot


@door
def _term(t: Tables, terms: Floats, slot: int, count: int) -> float:
    """ln Γ(k count + α) - ln Γ(α), k the row weight."""
    if count < TERM_COUNTS:
        value = terms[slot, count]
        if not math.isnan(value):
            return float(value)
    value = math.lgamma(t.row_weight * count + terms[slot, 0]) - terms[slot, TERM_COUNTS]
    if count < TERM_COUNTS:
        terms[slot, count] = value
    return float(value)


class Prefix(NamedTuple):
    """The counting of a set's largest members, by how many they are."""

    members: Ints  # [size] the member that each step adds, or -1
    labels: NDArray[np.int32]  # [size, rows] configuration of each row
    held: NDArray[np.int32]  # [size, 2 rows + ...] rows of each configuration
    span: Ints  # [size] number of configurations
    cells: NDArray[np.int32]  # counts with one more member


@door
def _nothing_counted(t: Tables, size: int) -> Prefix:
    """The prefix of no set yet, with room for sets of `size`."""
    rows, widest = t.codes.shape[1], t.arities.max()
    p = Prefix(
        np.full(size + 1, -1, dtype=np.int64),
        np.zeros((size + 1, rows), dtype=np.int32),
        np.zeros((size + 1, (rows + COMPACT) * widest + 1), dtype=np.int32),
        np.ones(size + 1, dtype=np.int64),
        np.empty((rows + COMPACT) * widest + 1, dtype=np.int32),
    )
    p.held[0, 0] = t.n_rows
    return p


@door
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
    if t.kind == GAUSSIAN:
        _gaussian_joint_values(t, wanted, size, binomial, values)
        return
    members = np.empty(size + 1, dtype=np.int64)
    p = _nothing_counted(t, size)
    terms = np.full((TERM_SLOTS, TERM_COUNTS + 1), np.nan)
    sizes = np.full(TERM_SLOTS, -1.0)
    for a in range(wanted.size):
        unrank(wanted[a], size, binomial, t.arities.size, members)
        cells = _counts(t, p, members, size)
        slot = 0
        if t.kind != INFORMATION:
            log_size = 0.0
            for j in range(size):
                log_size += math.log(t.arities[members[j]])
            slot = _log_gamma_terms(t, terms, sizes, log_size)
        total, seen = 0.0, 0
        for count in cells:
            if count > 0:
                seen += 1
                total += n_log_n[count] if t.kind == INFORMATION else _term(t, terms, slot, count)
        values[a] = total
        occupied[a] = seen


@door
def _gaussian_joint_values(
    t: Tables, wanted: Ints, size: int, binomial: Ints, values: Floats
) -> None:
    """values[a] := the Gaussian J."""
    members = np.empty(size + 1, dtype=np.int64)
    for a in range(wanted.size):
        unrank(wanted[a], size, binomial, t.codes.shape[0], members)
        values[a] = t.constant[size] - t.exponent[size] * factorise(t, members, size)


@door
def _counts(t: Tables, p: Prefix, members: Ints, size: int) -> NDArray[np.int32]:
    """Rows of each configuration of the members, with zeros."""
    if size == 0:
        return p.held[0, :1]
    _prepare(t, p, members, size)
    v, span = members[0], p.span[size - 1]
    _count(t, v, p.labels[size - 1], p.held[size - 1, :span], p.cells)
    return p.cells[: span * t.arities[v]]


@door
def _prepare(t: Tables, p: Prefix, members: Ints, size: int) -> None:
    """Count all members but the smallest, from the largest one that has changed."""
    depth = 0
    while depth < size - 1 and p.members[depth] == members[size - 1 - depth]:
        depth += 1
    p.members[depth:] = -1
    for d in range(depth, size - 1):
        v = members[size - 1 - d]
        p.members[d] = v
        arity, span = np.int32(t.arities[v]), p.span[d]
        _count(t, v, p.labels[d], p.held[d, :span], p.held[d + 1])
        span *= t.arities[v]
        index, out, column = p.labels[d], p.labels[d + 1], t.codes[v]
        for row in range(index.size):
            out[row] = index[row] * arity + np.int32(column[row])
        if span > COMPACT:
            span = _compact(p.held[d + 1, :span], p.cells, out)
        p.span[d + 1] = span


@door
def _compact(held: NDArray[np.int32], number: NDArray[np.int32], index: NDArray[np.int32]) -> int:
    """Number the configurations that occur; `held` and `index` change in place."""
    found = 0
    for c in range(held.size):
        if held[c] > 0:
            number[c] = found
            held[found] = held[c]
            found += 1
    for row in range(index.size):
        index[row] = number[index[row]]
    return found


@door
def _count(
    t: Tables,
    v: int,
    index: NDArray[np.int32],
    held: NDArray[np.int32],
    cells: NDArray[np.int32],
) -> None:
    """cells[configuration, state of v]; the mode of v gets what the others leave of `held`."""
    arity, mode = np.int32(t.arities[v]), t.modes[v]
    cells[: held.size * arity] = 0
    for k in range(t.other_start[v], t.other_start[v + 1]):
        row = t.other_rows[k]
        cells[index[row] * arity + np.int32(t.other_codes[k])] += t.weights[row]
    for c in range(held.size):
        rest = held[c]
        for state in range(arity):
            rest -= cells[c * arity + state]
        cells[c * arity + mode] = rest


@door
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


@door
def worth_scoring(
    t: Tables,
    node: int,
    ranks: Ints,
    size: int,
    binomial: Ints,
    slack: float,
    floors: Floats,
    ranks_below: Ints,
    values_below: Floats,
    ranks_own: Ints,
    values_own: Floats,
) -> NDArray[np.bool_]:
    """Which parent sets P, or supersets of P, may be undominated (BIC, AIC; theorem 7).

    In any T ⊇ P the parent j saves N I(i; j | T - j) ≤ N H(j | P - j) - N H(j | all others), and
    costs at least w (r_i - 1)(r_j - 1) Π r over P - j. `floors` are N H(j | all others);
    `..._below` and `..._own` hold the joint values of sets of `size` - 1 and `size`.
    """
    others = t.arities.size - 1
    keep = np.ones(ranks.size, dtype=np.bool_)
    members = np.empty(size + 1, dtype=np.int64)
    for a in range(ranks.size):
        own, _ = family_ranks(node, ranks[a], size, others, binomial, members)
        unit = t.parameter * (float(t.arities[node]) - 1.0)
        parameters = times(unit, t.arities, members, size)
        joint = values_own[place(own, ranks_own)]
        below, above = 0, 0
        for j in range(1, size):
            above += binomial[members[j], j]
        for j in range(size):
            rest = values_below[place(below + above, ranks_below)]
            arity = t.arities[members[j]]
            lost = parameters / arity * (arity - 1.0)
            if rest - joint - floors[members[j]] + slack < lost:
                keep[a] = False
                break
            below += binomial[members[j], j + 1]
            if j + 1 < size:
                above -= binomial[members[j + 1], j + 1]
    return keep


@door
def score_sets(
    t: Tables,
    node: int,
    ranks: Ints,
    bounds: Floats,
    size: int,
    binomial: Ints,
    slack: float,
    ranks_own: Ints,
    values_own: Floats,
    occupied_own: NDArray[np.int32],
    ranks_above: Ints,
    values_above: Floats,
) -> tuple[Floats, NDArray[np.bool_]]:
    """Costs of the parent sets of one level, and which of them may be extended.

    `..._own` and `..._above` hold the joint values of sets of `size` and `size` + 1.
    """
    others = t.arities.size - 1
    cost = np.empty(ranks.size, dtype=np.float64)
    extend = np.ones(ranks.size, dtype=np.bool_)
    members = np.empty(size + 1, dtype=np.int64)
    states = float(t.arities[node]) if t.arities.size > node else 1.0
    for a in range(ranks.size):
        own, family = family_ranks(node, ranks[a], size, others, binomial, members)
        at_own = place(own, ranks_own)
        cost[a] = values_own[at_own] - values_above[place(family, ranks_above)]
        if t.kind == INFORMATION:
            cost[a] += t.parameter * times(states - 1.0, t.arities, members, size)
        elif t.kind == BDEU:  # theorem 8
            extend[a] = not bounds[a] + slack < occupied_own[at_own] * math.log(states)
    return cost, extend


@door
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
