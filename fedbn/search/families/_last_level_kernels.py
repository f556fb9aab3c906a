"""The last level of the search for parent sets, without lists per node; see `parent_sets.py`.

Sets are numbered as in `_level_kernels.py`.
"""

from __future__ import annotations

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.kernel_door import door
from fedbn.scores._tables import Tables
from fedbn.search.families._level_kernels import _refine, min_within, unrank


@door
def _bound(members: Ints, left_out: int, binomial: Ints, ranks: Ints, best: Floats) -> float:
    """The least cost within P = members - members[left_out]; -inf if P may not be considered.

    `ranks`, `best` are the node's frontier one level below, numbered without the node.
    """
    node, size = members[left_out], members.size - 1
    P = np.empty(size, dtype=np.int64)
    at = 0
    for c in members:
        if c != node:
            P[at] = c - (c > node)
            at += 1
    return min_within(P, size, size, binomial, np.empty(0, dtype=np.float64), ranks, best)


@door
def _next_set(members: Ints) -> int:
    """members := the set of the next rank; returns the largest place that changed."""
    j = 0
    while j < members.size - 1 and members[j] + 1 == members[j + 1]:
        members[j] = j
        j += 1
    members[j] += 1
    return j


@door
def _set_costs(
    t: Tables, members: Ints, joint: float, values: Floats, binomial: Ints, cost: Floats
) -> None:
    """cost[j] := that of the other members as the parents of members[j]; `joint` is of them all."""
    configurations = 1.0
    for c in members:
        configurations *= t.arities[c]
    below, above = 0, 0
    for j in range(1, members.size):
        above += binomial[members[j], j]
    for j in range(members.size):
        arity = t.arities[members[j]]
        penalty = t.parameter * (arity - 1.0) * configurations / arity
        cost[j] = values[below + above] - joint + penalty
        below += binomial[members[j], j + 1]
        if j + 1 < members.size:
            above -= binomial[members[j + 1], j + 1]


@door
def last_level(
    t: Tables,
    n_log_n: Floats,
    first: int,
    last: int,
    size: int,
    binomial: Ints,
    values: Floats,
    start: Ints,
    ranks: Ints,
    best: Floats,
    limit: Floats,
    slack: float,
) -> tuple[Ints, Ints, Floats]:
    """Families (i, P) with |P| = size that stay, among P + i of ranks first .. last - 1.

    Every set S of size + 1 is counted once and gives the costs of all S - i -> i. Few are below
    `limit` [n], the cost of the empty set plus the slack; only these are compared with their
    subsets. `values` are the joint values of all sets of `size`; the frontier of node i one level
    below is ranks, best [start[i] : start[i + 1]], where all ranks stand.
    Returns nodes, ranks among the others, costs.
    """
    n, rows = t.codes.shape
    members = np.empty(size + 2, dtype=np.int64)[: size + 1]
    unrank(first, size + 1, binomial, n, members)
    index = np.zeros((size + 1, rows), dtype=np.int32)  # configuration of the largest d members
    span = np.ones(size + 1, dtype=np.int64)
    cells = np.zeros(max(rows, 1) * t.arities.max() + 1, dtype=np.int32)
    cost = np.empty(size + 1)
    nodes, kept, costs = np.empty(64, np.int64), np.empty(64, np.int64), np.empty(64)
    found, valid = 0, 0
    for rank in range(first, last):
        if rank > first:
            valid = min(valid, size - _next_set(members))
        for d in range(valid, size):
            v = members[size - d]
            span[d + 1] = _refine(index[d], span[d], t.codes[v], t.arities[v], cells, index[d + 1])
        valid = size
        joint = _joint_value(t, n_log_n, index[size], span[size], members[0], cells)
        _set_costs(t, members, joint, values, binomial, cost)
        for j in range(size + 1):
            i = members[j]
            if cost[j] > limit[i]:
                continue
            inside = slice(start[i], start[i + 1])
            bound = _bound(members, j, binomial, ranks[inside], best[inside])
            if bound + slack < cost[j]:
                continue
            if found == nodes.size:
                nodes = np.concatenate((nodes, np.empty_like(nodes)))
                kept = np.concatenate((kept, np.empty_like(kept)))
                costs = np.concatenate((costs, np.empty_like(costs)))
            nodes[found], costs[found] = i, cost[j]
            kept[found] = _rank_without(members, j, binomial)
            found += 1
    return nodes[:found].copy(), kept[:found].copy(), costs[:found].copy()


@door
def _joint_value(
    t: Tables, n_log_n: Floats, prefix: np.ndarray, span: int, v: int, cells: np.ndarray
) -> float:
    """Σ n ln n over the configurations of (prefix, v)."""
    column, arity = t.codes[v], np.int32(t.arities[v])
    for c in range(span * arity):
        cells[c] = 0
    for row in range(prefix.size):
        cells[prefix[row] * arity + np.int32(column[row])] += t.weights[row]
    total = 0.0
    for c in range(span * arity):
        total += n_log_n[cells[c]]
    return total


@door
def _rank_without(members: Ints, left_out: int, binomial: Ints) -> int:
    """The rank of members - members[left_out], numbered without that node."""
    total, at = 0, 1
    for c in members:
        if c != members[left_out]:
            total += binomial[c - (c > members[left_out]), at]
            at += 1
    return total
