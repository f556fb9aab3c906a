"""Depth-first search of the parent sets of one node, Gaussian scores; see `gaussian_families.py`.

The candidates are decided one by one, each time the one without which least can be explained; it is
moved to the end of those undecided, and back when it is done with. Index 0 of each matrix is the
node; what is undecided is a leading block; only the lower triangle is kept. `schur[s]` is the
covariance given the included variables, `precision[p]` the inverse covariance where the excluded
ones are left out. Including conditions the first and cuts the second to its leading block,
excluding the reverse; so σ² of the node given the included is schur[0, 0], and given all that is
not excluded 1 / precision[0, 0].
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fedbn.arrays import Bits, Bools, Floats, Ints
from fedbn.kernel_door import door
from fedbn.scores._joint_kernels import Tables, local


class Rules(NamedTuple):
    """What is searched for: cost = scale ln σ² + penalty |P|, price = cost + duals of met clusters.

    A set is dropped when a set met on the way to it, or one of the cheapest sets found, is a subset
    and costs less by more than `slack`, or when its price exceeds the threshold.
    """

    scale: float
    penalty: float
    slack: float
    margin: float  # what rounding may do to a bound
    max_parents: int
    large_first: bool  # include before exclude: good sets come early; else small sets come early
    clusters: Bools  # [clusters, candidates + 1]; column 0 is not used
    duals: Floats  # [clusters]


class Walk(NamedTuple):
    """Where the search is, so that it can pause; arrays by number of undecided candidates."""

    schur: Floats  # [m + 1, m + 1, m + 1]
    precision: Floats
    level: Ints  # [1] undecided candidates
    phase: Ints  # [m + 1] how often candidate m was decided, 2 also where it need not be
    schur_at: Ints  # [m + 1]
    precision_at: Ints
    moved: Ints  # [m + 1] whence the candidate came that is decided
    label: Ints  # [m + 1] which candidate stands where
    best: Floats  # [m + 1] least cost on the way
    new: Bools  # [m + 1] whether the last decision on the way was to include
    included: Bools  # [m + 1] by candidate
    size: Ints  # [1] included candidates
    met: Ints  # [clusters] included members
    paid: Floats  # [1] duals of met clusters
    capped: Bools  # [1] whether `max_parents` cut anything off
    mask: Bits  # [W] included candidates
    known: Bits  # [K, W] the cheapest sets found
    known_cost: Floats  # [K], inf where there is none yet


@door
def walk_on(
    r: Rules, w: Walk, threshold: float, steps: int, sets: Bools, prices: Floats
) -> tuple[int, int]:
    """Search on for `steps` steps or until `sets` is full; returns (sets found, steps left).

    With steps left and `sets` not full, the search is over. sets[k, c] tells whether candidate c
    is in the k-th set found, prices[k] its price.
    """
    found = 0
    while w.level[0] < w.phase.size and steps > 0 and found < prices.size:
        m = w.level[0]
        if w.phase[m] == 0:
            steps -= 1
            found = _arrive(r, w, m, threshold, sets, prices, found)
        elif w.phase[m] == 1:
            w.phase[m] = 2
            if r.large_first:
                _take_back(r, w, m)
                _exclude(w, m)
            else:
                _include(r, w, m)
        else:
            if w.included[w.label[m]]:
                _take_back(r, w, m)
            if m:
                _swap(w, m)
            w.phase[m] = 0
            w.level[0] = m + 1
    return found, steps


@door
def _arrive(
    r: Rules, w: Walk, m: int, threshold: float, sets: Bools, prices: Floats, found: int
) -> int:
    """Report the set of the included variables if it is new and good; go on where that can pay."""
    cost = r.scale * math.log(w.schur[w.schur_at[m], 0, 0]) + r.penalty * w.size[0]
    if w.new[m]:
        before = min(w.best[m], _best_known(w))
        w.best[m] = min(before, cost)
        if not before + r.slack + r.margin < cost:
            _remember(w, cost)
            if cost + w.paid[0] <= threshold:
                sets[found] = w.included
                prices[found] = cost + w.paid[0]
                found += 1
    least = r.penalty * (w.size[0] + 1) - r.scale * math.log(w.precision[w.precision_at[m], 0, 0])
    hopeless = w.best[m] + r.slack + r.margin < least or least + w.paid[0] > threshold + r.margin
    if m > 0 and not hopeless and w.size[0] >= r.max_parents:
        w.capped[0] = True
    w.moved[m] = m
    if m == 0 or hopeless or w.size[0] >= r.max_parents:
        w.phase[m] = 2
        return found
    w.moved[m] = _branching(w.precision[w.precision_at[m]], m)
    _swap(w, m)
    w.phase[m] = 1
    if r.large_first:
        _include(r, w, m)
    else:
        _exclude(w, m)
    return found


@door
def _best_known(w: Walk) -> float:
    """The least cost of a known set inside the included candidates."""
    least = np.inf
    for k in range(w.known_cost.size):
        if w.known_cost[k] < least:
            inside = True
            for v in range(w.mask.size):
                if w.known[k, v] & ~w.mask[v]:
                    inside = False
                    break
            if inside:
                least = w.known_cost[k]
    return least


@door
def _remember(w: Walk, cost: float) -> None:
    """Put the included candidates in the place of the costliest known set if they cost less."""
    costliest = np.argmax(w.known_cost)
    if cost < w.known_cost[costliest]:
        w.known_cost[costliest] = cost
        w.known[costliest] = w.mask


@door
def _branching(precision: Floats, m: int) -> int:
    """The undecided candidate whose exclusion leaves the node the largest variance."""
    most, chosen = -1.0, m
    for j in range(1, m + 1):
        share = precision[j, 0] * precision[j, 0] / precision[j, j]
        if share > most:
            most, chosen = share, j
    return chosen


@door
def _swap(w: Walk, m: int) -> None:
    """Exchange the last undecided candidate with the one at moved[m]; twice is as before."""
    a = w.moved[m]
    if a == m:
        return
    w.label[a], w.label[m] = w.label[m], w.label[a]
    _swap_rows(w.schur[w.schur_at[m]], a, m)
    _swap_rows(w.precision[w.precision_at[m]], a, m)


@door
def _swap_rows(matrix: Floats, a: int, m: int) -> None:
    matrix[a, a], matrix[m, m] = matrix[m, m], matrix[a, a]
    for k in range(a):
        matrix[a, k], matrix[m, k] = matrix[m, k], matrix[a, k]
    for k in range(a + 1, m):
        matrix[k, a], matrix[m, k] = matrix[m, k], matrix[k, a]


@door
def _exclude(w: Walk, m: int) -> None:
    """Go down without candidate m."""
    old, new = w.precision[w.precision_at[m]], w.precision[m - 1]
    for j in range(m):
        share = old[m, j] / old[m, m]
        for k in range(j + 1):
            new[j, k] = old[j, k] - share * old[m, k]
    w.precision_at[m - 1] = m - 1
    w.schur_at[m - 1] = w.schur_at[m]
    w.new[m - 1] = False
    w.best[m - 1] = w.best[m]
    w.level[0] = m - 1


@door
def _include(r: Rules, w: Walk, m: int) -> None:
    """Go down with candidate m."""
    old, new = w.schur[w.schur_at[m]], w.schur[m - 1]
    for j in range(m):
        share = old[m, j] / old[m, m]
        for k in range(j + 1):
            new[j, k] = old[j, k] - share * old[m, k]
    w.schur_at[m - 1] = m - 1
    w.precision_at[m - 1] = w.precision_at[m]
    w.new[m - 1] = True
    candidate = w.label[m]
    w.included[candidate] = True
    w.mask[candidate >> 6] |= np.uint64(1) << np.uint64(candidate & 63)
    w.size[0] += 1
    for c in range(r.duals.size):
        if r.clusters[c, candidate]:
            w.met[c] += 1
            if w.met[c] == 1:
                w.paid[0] += r.duals[c]
    w.best[m - 1] = w.best[m]
    w.level[0] = m - 1


@door
def _take_back(r: Rules, w: Walk, m: int) -> None:
    """Candidate m is not included any more."""
    candidate = w.label[m]
    w.included[candidate] = False
    w.mask[candidate >> 6] &= ~(np.uint64(1) << np.uint64(candidate & 63))
    w.size[0] -= 1
    for c in range(r.duals.size):
        if r.clusters[c, candidate]:
            w.met[c] -= 1
            if w.met[c] == 0:
                w.paid[0] -= r.duals[c]


@door
def family_costs(t: Tables, node: int, has_parent: Bools) -> Floats:
    """-local score of a node with each row of parents, bool [sets, n]."""
    costs = np.empty(has_parent.shape[0])
    parents = np.empty(has_parent.shape[1], dtype=np.int64)
    for f in range(costs.size):
        size = 0
        for j in range(has_parent.shape[1]):
            if has_parent[f, j]:
                parents[size] = j
                size += 1
        costs[f] = -local(t, node, parents, size)
    return costs


@door
def are_undominated(bits: Bits, cost: Floats, slack: float) -> Bools:
    """Which sets no proper subset in the list beats by more than `slack`; costs ascending.

    Only sets that stay need be compared with: who beats another also beats what that one beats.
    """
    keep = np.zeros(cost.size, dtype=np.bool_)
    kept = np.empty(cost.size, dtype=np.int64)
    number = 0
    for f in range(cost.size):
        beaten = False
        for k in range(number):
            g = kept[k]
            if beaten or not cost[g] + slack < cost[f]:
                break
            beaten = True
            for v in range(bits.shape[1]):
                if bits[g, v] & ~bits[f, v]:
                    beaten = False
                    break
        if not beaten:
            keep[f] = True
            kept[number] = f
            number += 1
    return keep
