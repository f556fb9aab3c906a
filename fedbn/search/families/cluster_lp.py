"""A bound on the optimum: linear relaxation with cluster constraints (Jaakkola et al. 2010).

Variables x(i, P) ≥ 0, Σ_P x(i, P) = 1; for each cluster C of nodes, Σ_{i in C} Σ_{P ∩ C = ∅} x ≥ 1:
in a DAG some node of C has no parent in C. Violated clusters are added as they are found. The bound
that is reported is computed anew from the duals, not taken from the solver, so it holds whatever
the solver's tolerances are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from fedbn._core import families as core
from fedbn.arrays import Bits, Bools, Floats, Ints32
from fedbn.errors import SearchError
from fedbn.graphs.bits import pack
from fedbn.graphs.components import cyclic_components
from fedbn.search.families.families import Families
from fedbn.search.families.family_program import family_program, require_cluster

VIOLATION = 1e-4


@dataclass(frozen=True)
class ClusterBound:
    """A certificate: clusters with duals, and what they prove.

    Parameters
    ----------
    bound : no DAG of these families costs less.
    least : float64 [n], λ_i.
    reduced : float64 [F] ≥ 0; a DAG with family f costs at least bound + reduced[f].
    clusters, duals : uint64 [C, W] and float64 [C] > 0.
    """

    bound: float
    least: Floats
    reduced: Floats
    clusters: Bits
    duals: Floats


class ClusterLP:
    """The relaxation of one set of families, solved and cut step by step."""

    def __init__(self, families: Families) -> None:
        self.names = families.names
        self.n = families.n
        self.node, self.cost, self.bits = families.node, families.cost, families.bits
        self.has_parent = families.has_parent
        self.clusters: list[Bits] = []
        self.x = np.zeros(families.size)
        self._lowest = families.cost[families.start[:-1]]
        self._solver = family_program(families)

    def solve(self) -> bool:
        """Solve the present relaxation; False if it is infeasible.

        Raises
        ------
        SearchError : the solver fails.
        """
        from fedbn.extras import highspy

        self._solver.run()
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return False
        if status != highspy.HighsModelStatus.kOptimal:
            text = self._solver.modelStatusToString(status)
            raise SearchError(f"the linear relaxation was not solved: the status is {text!r}")
        self.x = np.array(self._solver.getSolution().col_value)
        return True

    def allows(self, family: int, limit: float, rng: np.random.Generator, rounds: int) -> bool:
        """Whether the relaxation with this family costs at most `limit`; if not, it is forbidden.

        Clusters that the forced solutions violate stay in the relaxation, `rounds` times at most.
        """
        from fedbn.extras import highspy

        known = self.x
        self._solver.changeColBounds(family, 1.0, 1.0)
        possible = True
        for _ in range(rounds):
            if not self.solve() or self.forced_bound(family) > limit:
                possible = False
                break
            found = self.find_violated(rng)
            if not len(found):
                break
            self.add(found)
        self._solver.changeColBounds(family, 0.0, highspy.kHighsInf if possible else 0.0)
        self.x = known
        return possible

    def forced_bound(self, family: int) -> float:
        """What the duals of the last solution prove of the DAGs with this family."""
        bound = self.bound()
        return bound.bound + float(bound.reduced[family])

    def add(self, clusters: Bits) -> None:
        """Add the constraints of these clusters, uint64 [k, W]."""
        for cluster in clusters:
            require_cluster(self._solver, core.covering(self.node, self.bits, cluster))
            self.clusters.append(cluster)

    def add_columns(self, node: Ints32, cost: Floats, has_parent: Bools) -> None:
        """Add families (node [k], cost [k], parents [k, n]) with their entries in every row."""
        from fedbn.extras import highspy

        bits = pack(has_parent)
        rows = [np.array([i]) for i in node]
        for c, cluster in enumerate(self.clusters):
            for column in core.covering(node, bits, cluster):
                rows[column] = np.append(rows[column], self.n + c)
        sizes = np.array([len(row) for row in rows])
        starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
        self._solver.addCols(
            len(node), cost - self._lowest[node], np.zeros(len(node)),
            np.full(len(node), highspy.kHighsInf), int(sizes.sum()), starts.astype(np.int32),
            np.concatenate(rows).astype(np.int32), np.ones(int(sizes.sum())),
        )  # fmt: skip
        self.node = np.concatenate((self.node, node))
        self.cost = np.concatenate((self.cost, cost))
        self.bits = np.concatenate((self.bits, bits))
        self.has_parent = np.concatenate((self.has_parent, has_parent))

    def duals(self) -> tuple[Bits, Floats]:
        """Clusters with positive duals in the last solution, uint64 [C, W], and these [C]."""
        duals = np.maximum(np.array(self._solver.getSolution().row_dual)[self.n :], 0.0)
        active = duals > 1e-12
        words = self.bits.shape[1]
        return np.array(self.clusters, dtype=np.uint64).reshape(-1, words)[active], duals[active]

    def bound(self) -> ClusterBound:
        """What the duals of the last solution prove of the families that are in."""
        clusters, duals = self.duals()
        value, least, reduced = core.reduced_costs(
            self.node, self.cost, self.bits, clusters, duals, self.n
        )
        return ClusterBound(value, least, reduced, clusters, duals)

    def close(
        self,
        *,
        rounds: int = 400,
        seconds: float | None = None,
        target: float = np.inf,
        rng: np.random.Generator | None = None,
    ) -> ClusterBound:
        """Solve and cut until no violated cluster is found, a limit is met or `target` reached."""
        began = time.monotonic()
        rng = np.random.default_rng(0) if rng is None else rng
        self._solve_feasible()
        for _ in range(rounds):
            if seconds is not None and time.monotonic() - began > seconds:
                break
            found = self.find_violated(rng)
            if not len(found):
                break
            self.add(found)
            self._solve_feasible()
            if target < np.inf and self.bound().bound >= target:
                break
        return self.bound()

    def _solve_feasible(self) -> None:
        if not self.solve():
            raise SearchError("the candidate parent sets admit no acyclic graph")

    def find_violated(self, rng: np.random.Generator, max_clusters: int = 30) -> Bits:
        """Clusters that the present solution violates, the most violated first.

        Greedy growth from seeds; walks with setbacks from the same seeds where that finds none.
        """
        some = np.flatnonzero(self.x > 1e-9)
        seeds = support_seeds(self.node[some], self.x[some], self.has_parent[some], rng)
        point = (self.node[some], self.x[some], self.bits[some], self.n)
        clusters: Bits
        clusters, sides = core.grow_clusters(*point, seeds, 1, VIOLATION)
        if not len(clusters) and len(seeds):
            walked, sides = core.walk_clusters(*point, seeds, 1, 3 * self.n)
            clusters, first = np.unique(walked, axis=0, return_index=True)
            low = sides[first] < 1.0 - VIOLATION
            clusters, sides = clusters[low], sides[first[low]]
        return clusters[np.argsort(sides, kind="stable")[:max_clusters]]


def covered_families(families: Families, clusters: Bits) -> Bools:
    """[C, F]: whether the node of a family is in a cluster, uint64 [C, W], and no parent is."""
    covered = np.zeros((len(clusters), families.size), dtype=np.bool_)
    for row, cluster in zip(covered, clusters, strict=True):
        row[core.covering(families.node, families.bits, cluster)] = True
    return covered


def support_seeds(
    node: Ints32,
    x: Floats,
    has_parent: Bools,
    rng: np.random.Generator,
) -> Bits:
    """Start sets, uint64 [s, W], for the search of clusters that a fractional point violates.

    Components of the edges with much weight, pairs (node, a parent), and random sets. All nodes of
    an integral cycle are in one component, so its cluster is always among them.

    Parameters
    ----------
    node, x, has_parent : the families with x > 0: child [k], value [k], parents [k, n].
    """
    n = has_parent.shape[1]
    flow = np.zeros((n, n))
    np.add.at(flow, node, x[:, None] * has_parent)
    seeds = []
    for level in (0.0, 0.25, 0.5, 0.75):
        seeds += cyclic_components(flow > level + 1e-9)
    for i, j in np.argwhere(flow > 1e-6):
        pair = np.zeros(n, dtype=np.bool_)
        pair[[i, j]] = True
        seeds.append(pair)
    share = rng.uniform(0.1, 0.6, size=(max(8, n // 3), 1))
    random = rng.random((len(share), n)) < share
    seeds += list(random[random.sum(axis=1) > 2])
    return pack(np.array(seeds, dtype=np.bool_).reshape(-1, n))
