"""A bound by overlapping groups of nodes, each solved exactly: what listed families can be dropped.

A DAG is acyclic on every group of nodes. Let each family's cost be shared among the groups that
hold its node; then the least costs of a DAG on each group, by dynamic programming with parents
outside the group for free, add up to a lower bound, and what a family costs its group above that
adds to it for all DAGs with this family (Lagrangian decomposition, Guignard & Kim 1987). The shares
are bettered by dual ascent (as in max-sum diffusion, Werner 2007): a group gives away what its
families cost above its least cost, divided by the number of nodes that it shares. With at most that
much the bound never falls; `STEP` times as much is tried first. Families that no DAG as cheap as
the best one known can use are dropped on the way, which betters the bound once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedbn.search.optimal.components import components
from fedbn.search.optimal.families import Families
from fedbn.search.optimal.limits import Limits
from fedbn.search.optimal.node_groups import joined_groups, pair_weights, widened
from fedbn.search.optimal.subset_dp import least_through, subset_bytes, subset_optimum

__all__ = ["Group", "GroupBound", "Shares", "group_bound", "group_bytes"]

MARGIN = 1e-6  # natural logarithms: what is given away for rounding
WIDEST = 18  # nodes of a group, a tenth of a second and 30 MB
CORES = (18, 16, 15, 14, 12)  # largest groups before they are widened; the best of these is taken
STEP = 2.0
ROUNDS = 60
GAIN = 0.01  # of the gap: a round that gains less is the last one

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Nodes = NDArray[np.intp]


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

    nodes: Nodes
    inside: Families
    places: Nodes

    @classmethod
    def of(cls, families: Families, nodes: Nodes) -> Group:
        return cls(nodes, *families.restricted(nodes))


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


def group_bytes(families: Families) -> int:
    """Peak memory of `group_bound`, in bytes."""
    groups = 2 + 2 * families.n // CORES[-1]
    return subset_bytes(min(WIDEST, families.n)) + 8 * 8 * groups * families.size


def group_bound(families: Families, best: float, enough: int, limits: Limits) -> GroupBound:
    """Shares bettered until the bound meets `best`, little is gained or time ends.

    Parameters
    ----------
    families : with those of the cheapest DAG known.
    best : its cost.
    enough : it ends also when components of what is kept have at most so many nodes.
    """
    cores = core_groups(families)
    groups = widened_groups(families, cores)
    keep = np.ones(families.size, dtype=np.bool_)
    known = solved(groups, owned(families, cores), keep)
    keep &= known.keep(best)
    step = STEP
    for _ in range(ROUNDS):
        gap = best - known.bound
        if gap <= MARGIN or limits.over or _largest(families, keep) <= enough:
            break
        found = solved(groups, moved(families, groups, known, step), keep)
        if found.bound <= known.bound and step > 1.0:
            step /= 2.0
            continue
        gained = found.bound - known.bound
        known = found
        keep &= known.keep(best)
        if gained < GAIN * gap:
            break
    return GroupBound(known.bound, keep)


def core_groups(families: Families) -> list[Nodes]:
    """The partition, of those of `CORES`, whose groups have the greatest least costs together."""
    weights = pair_weights(families)
    best, chosen = -np.inf, []
    for most in CORES:
        cores = joined_groups(weights, most)
        total = sum(subset_optimum(families.restricted(nodes)[0])[0] for nodes in cores)
        if total > best:
            best, chosen = total, cores
    return chosen


def widened_groups(families: Families, cores: Sequence[Nodes]) -> list[Group]:
    """The groups with nodes near them, `WIDEST` nodes each."""
    weights = pair_weights(families)
    return [Group.of(families, widened(weights, nodes, WIDEST)) for nodes in cores]


def owned(families: Families, cores: Sequence[Nodes]) -> Floats:
    """The first shares: all of a family's cost for the group that its node is from."""
    return np.array([np.where(np.isin(families.node, core), families.cost, 0.0) for core in cores])


def solved(groups: Sequence[Group], shares: Floats, keep: Bools) -> Shares:
    """What shares prove of the DAGs of the families that are kept."""
    bound, excess = 0.0, np.zeros_like(shares)
    for g, group in enumerate(groups):
        kept = keep[group.places]
        cost = np.where(kept, shares[g, group.places], np.inf)
        least, through = least_through(group.inside, cost)
        bound += least
        excess[g, group.places[kept]] = through[kept] - least
    return Shares(shares, bound, excess)


def moved(families: Families, groups: Sequence[Group], known: Shares, step: float) -> Floats:
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
