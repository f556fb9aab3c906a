"""A bound by overlapping groups of nodes, each solved exactly: what listed families can be dropped.

A DAG is acyclic on every group of nodes. Let each family's cost be shared among the groups that
hold its node; then the least costs of a DAG on each group, by dynamic programming with parents
outside the group for free, add up to a lower bound, and what a family costs its group above that
adds to it for all DAGs with this family (Lagrangian decomposition, Guignard & Kim 1987). The shares
are improved by dual ascent (as in max-sum diffusion, Werner 2007): a group gives away what its
families cost above its least cost, divided by the number of nodes that it shares. With at most that
much the bound never falls; `STEP` times as much is tried first. Families that no DAG as cheap as
the best one known can use are dropped on the way, which betters the bound once more.

At the start the groups are apart, and each family belongs to its node's. Of the clusters of a
linear relaxation those that no group holds may be charged, with their duals: a family that misses
such a cluster of its node costs so much less, the bound is so much higher (see `cluster_lp`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from fedbn.arrays import Bools, Floats, Indices
from fedbn.graphs.bits import unpack
from fedbn.limits import SearchLimits
from fedbn.search.families.cluster_lp import ClusterBound, covered_families
from fedbn.search.families.components import components
from fedbn.search.families.families import Families
from fedbn.search.families.subset_dp import min_cost, min_cost_through, subset_bytes
from fedbn.search.optimal.node_groups import joined_groups, pair_weights, shared_duals, widen

MARGIN = 1e-6  # natural logarithms: what is given away for rounding
WIDEST = 20  # nodes of a group: half a second, 110 MB
NEAR = 4  # nodes by which a group is widened
CORES = (18, 16, 15, 14, 12)  # largest groups before they are widened; the best of these is taken
STEP = 2.0
ROUNDS = 60
GAIN = 0.01  # of the gap: a round that gains less is the last one


@dataclass(frozen=True)
class GroupBound:
    """What the groups prove.

    Parameters
    ----------
    bound : no DAG of the families costs less than this or than the best one known.
    keep : bool [F], the families that a DAG can use that costs no more than the best one known.
    """

    bound: float
    keep: Bools


@dataclass(frozen=True)
class Group:
    """Nodes (ascending), their families with parents inside only, and where these were."""

    nodes: Indices
    inside: Families
    places: Indices

    @classmethod
    def of(cls, families: Families, nodes: Indices) -> Group:
        return cls(nodes, *families.restrict(nodes))


@dataclass(frozen=True)
class Shares:
    """The costs shared out, float64 [groups, F], 0 where a group does not hold the node.

    `bound` is the sum of the groups' least costs; a DAG with family f costs at least
    bound + excess[:, f].sum(), which is infinite where no DAG of what is kept can use f.
    """

    shares: Floats
    bound: float
    excess: Floats

    def keep(self, best: float) -> Bools:
        """Which families a DAG that costs at most `best` can use."""
        return np.asarray(self.bound + self.excess.sum(axis=0) <= best + MARGIN)


@dataclass(frozen=True)
class Start:
    """Groups apart, the weights that made them, and costs [F] + constant that bound all DAGs'."""

    cores: list[Indices]
    weights: Floats
    cost: Floats
    constant: float


def group_bytes(families: Families) -> int:
    """Peak memory of `group_bound`, in bytes: one group, several shares, some 3 n clusters."""
    groups = 2 + 2 * families.n // CORES[-1]
    numbers = (8 * groups + 3 * families.n) * families.size
    return subset_bytes(min(WIDEST, families.n)) + 8 * numbers


def group_bound(
    families: Families, best: float, guide: ClusterBound | None, enough: int, limits: SearchLimits
) -> GroupBound:
    """Shares improved until the bound meets `best`, little is gained or time ends.

    Parameters
    ----------
    families : with those of the cheapest DAG known.
    best : its cost.
    guide : a relaxation of these families whose clusters are charged, or None.
    enough : it ends also when components of what is kept have at most so many nodes.
    """
    start = best_start(families, guide, limits)
    groups = [
        Group.of(families, widen(start.weights, core, min(WIDEST, len(core) + NEAR)))
        for core in start.cores
    ]
    target = best - start.constant
    keep = np.ones(families.size, dtype=np.bool_)
    known = solve(groups, own(families, start), keep)
    keep &= known.keep(target)
    step = STEP
    for _ in range(ROUNDS):
        gap = target - known.bound
        if gap <= MARGIN or limits.over or _largest(families, keep) <= enough:
            break
        found = solve(groups, move(families, groups, known, step), keep)
        if found.bound <= known.bound and step > 1.0:
            step /= 2.0
            continue
        gained = found.bound - known.bound
        known = found
        keep &= known.keep(target)
        if gained < GAIN * gap:
            break
    return GroupBound(known.bound + start.constant, keep)


def best_start(families: Families, guide: ClusterBound | None, limits: SearchLimits) -> Start:
    """The start of greatest bound: groups by either weights, up to each of the sizes `CORES`."""
    weights = [pair_weights(families)]
    clusters, duals = np.zeros((0, families.n), dtype=np.bool_), np.zeros(0)
    covered = np.zeros((0, families.size), dtype=np.bool_)
    if guide is not None:
        clusters, duals = unpack(guide.clusters, families.n), guide.duals
        covered = covered_families(families, guide.clusters)
        weights.append(shared_duals(clusters, duals))
    best, chosen = -np.inf, None
    for weight, max_size in product(weights, CORES):
        if chosen is not None and limits.over:
            break
        cores = joined_groups(weight, max_size)
        charged = ~_are_held(clusters, cores)
        cost = families.cost - duals[charged] @ covered[charged]
        start = Start(cores, weight, cost, float(duals[charged].sum()))
        bound = start.constant + sum(_least(families, core, cost) for core in cores)
        if chosen is None or bound > best:
            best, chosen = bound, start
    assert chosen is not None
    return chosen


def _are_held(clusters: Bools, cores: Sequence[Indices]) -> Bools:
    """[C]: whether one group holds all of a cluster."""
    outside = np.array([np.delete(clusters, core, axis=1).any(axis=1) for core in cores])
    return np.asarray(~outside.all(axis=0))


def _least(families: Families, core: Indices, cost: Floats) -> float:
    part, places = families.restrict(core)
    return min_cost(part, cost[places])


def own(families: Families, start: Start) -> Floats:
    """The first shares: all of a family's cost for the group that its node is from."""
    of_node = [np.isin(families.node, core) for core in start.cores]
    return np.array([np.where(mine, start.cost, 0.0) for mine in of_node])


def solve(groups: Sequence[Group], shares: Floats, keep: Bools) -> Shares:
    """What shares prove of the DAGs of the families that are kept."""
    bound, excess = 0.0, np.zeros_like(shares)
    for g, group in enumerate(groups):
        kept = keep[group.places]
        cost = np.where(kept, shares[g, group.places], np.inf)
        least, through = min_cost_through(group.inside, cost)
        bound += least
        excess[g, group.places[kept]] = through[kept] - least
    return Shares(shares, bound, excess)


def move(families: Families, groups: Sequence[Group], known: Shares, step: float) -> Floats:
    """New shares: `step` / (shared nodes of the group) of the excess goes to the other groups."""
    holds = np.array([np.isin(np.arange(families.n), group.nodes) for group in groups])
    others = holds.sum(axis=0) - 1
    part = step / np.maximum(1, (holds & (others > 0)).sum(axis=1))
    mine = (holds & (others > 0))[:, families.node] & np.isfinite(known.excess)
    given = np.where(mine, part[:, None] * known.excess, 0.0)
    received = (given.sum(axis=0) - given) / np.maximum(1, others)[families.node]
    return known.shares - given + np.where(mine, received, 0.0)


def _largest(families: Families, keep: Bools) -> int:
    return max(len(nodes) for nodes in components(families.select(keep)))
