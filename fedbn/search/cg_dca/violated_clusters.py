"""Row generation: clusters that a fractional solution violates, in the end by an exact program.

First cycles of least length where an edge j -> i has length 1 - w_ji, w_ji the weight of i's parent
sets with j; then descent by single flips from those cycles, from pairs and from random sets; and
only when these find nothing, the integer program (5). Without the last step the linear program's
value would be no bound of the relaxation and, at integral points, cycles could stay.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbn._core import families as core
from fedbn.arrays import Bools, Floats, Ints, Ints32
from fedbn.graphs.bits import pack, unpack
from fedbn.graphs.components import strong_labels

VIOLATION = 1e-4


@dataclass(frozen=True)
class FractionalPoint:
    """The columns with x > 0: nodes int32 [s], parents bool [s, n], x [s]."""

    node: Ints32
    parents: Bools
    x: Floats

    @property
    def n(self) -> int:
        """Number of variables."""
        return int(self.parents.shape[1])

    @property
    def edge_weights(self) -> Floats:
        """w [n, n]: [j, i] is the weight of the parent sets of i with j."""
        w: Floats = np.zeros((self.n, self.n))
        np.add.at(w, self.node, self.x[:, None] * self.parents)
        return w.T


@dataclass(frozen=True)
class Separation:
    """How violated clusters are looked for.

    Parameters
    ----------
    sizes : the k of the rows; (1,) in the paper, (1, 2, 3) adds k-clusters, looked for exactly.
    max_clusters : rows added at a time by the heuristics, the most violated first.
    """

    sizes: tuple[int, ...] = (1,)
    max_clusters: int = 30

    def find_violated(self, point: FractionalPoint, rng: np.random.Generator) -> tuple[Bools, Ints]:
        """Clusters [C, n] and their k [C] that heuristics find."""
        bits = pack(point.parents)
        seeds = np.concatenate([short_cycles(point), _pairs(point), _random_sets(point.n, rng)])
        for k in self.sizes:
            seeds = seeds[seeds.sum(axis=1) > k]
            walked, sides = core.walk_clusters(
                point.node, point.x, bits, point.n, pack(seeds), k, 3 * point.n
            )
            seeds = unpack(walked, point.n)
            places = np.flatnonzero(sides < k - VIOLATION)
            if places.size:
                _, first = np.unique(seeds[places], axis=0, return_index=True)
                places = places[np.sort(first)]
                best = places[np.argsort(sides[places], kind="stable")][: self.max_clusters]
                return seeds[best], np.full(best.size, k, dtype=np.int64)
        return _none(point.n)

    def proven(self, point: FractionalPoint) -> tuple[Bools, Ints]:
        """Clusters and their k by the integer program; none means that all rows hold."""
        for k in self.sizes:
            found = exact_clusters(point, k)
            if len(found):
                return found, np.full(len(found), k, dtype=np.int64)
        return _none(point.n)


def _none(n: int) -> tuple[Bools, Ints]:
    return np.zeros((0, n), dtype=np.bool_), np.zeros(0, dtype=np.int64)


def left_side(point: FractionalPoint, cluster: Bools, k: int = 1) -> float:
    """Σ of x over the columns of the cluster's nodes with fewer than k parents inside."""
    counts = cluster[point.node] & ((point.parents & cluster).sum(axis=1) < k)
    return float(point.x[counts].sum())


def short_cycles(point: FractionalPoint) -> Bools:
    """For each node a shortest cycle through it of length below 1, as node sets [c, n]."""
    from scipy.sparse.csgraph import shortest_path

    w = point.edge_weights
    length = np.where(w > 1e-9, np.maximum(1.0 - w, 1e-9), np.inf)
    distance, before = shortest_path(length, method="D", return_predecessors=True)
    closing = distance + length.T  # [i, j]: from i to j and back by the edge j -> i
    found = []
    for i in range(point.n):
        j = int(np.argmin(closing[i]))
        if closing[i, j] < 1.0 - VIOLATION:
            cycle = np.zeros(point.n, dtype=np.bool_)
            while j != i and j >= 0:
                cycle[j] = True
                j = int(before[i, j])
            cycle[i] = True
            found.append(cycle)
    return np.array(found, dtype=np.bool_).reshape(-1, point.n)


def _pairs(point: FractionalPoint) -> Bools:
    """The ends of the edges of most weight, 2n of them."""
    w = point.edge_weights
    heaviest = np.argsort(-w, axis=None, kind="stable")[: 2 * point.n]
    ends = np.stack(np.unravel_index(heaviest, w.shape), axis=1)
    ends = ends[w[ends[:, 0], ends[:, 1]] > 1e-6]
    pairs = np.zeros((len(ends), point.n), dtype=np.bool_)
    pairs[np.arange(len(ends))[:, None], ends] = True
    return pairs


def _random_sets(n: int, rng: np.random.Generator) -> Bools:
    share = rng.uniform(0.1, 0.6, size=(max(8, n // 3), 1))
    sets: Bools = rng.random((len(share), n)) < share
    return sets


def exact_clusters(point: FractionalPoint, k: int = 1, max_clusters: int = 5) -> Bools:
    """Violated clusters [C, n] by the integer program (5); none means that there is none.

    z_i says that i is in C; y_f ≥ z_i - u_f that the column f counts, where u_f = 1 only if k of
    its parents are in C (for k = 1 their sum serves). Solutions of Σ x_f y_f < k, the best first;
    the solver stops at the first `max_clusters`. Two facts shorten the search for k = 1: some
    violated cluster lies in one strongly connected component of the support, and each of its
    nodes has a parent in it (else that node alone counts 1).
    """
    from fedbn.extras import pyscipopt

    model = _quiet_model(max_clusters)
    z = [model.addVar(vtype="B") for _ in range(point.n)]
    total = 0.0
    for i, parents, x in zip(point.node, point.parents, point.x, strict=True):
        y = model.addVar(lb=0.0, ub=1.0)
        inside = pyscipopt.quicksum(z[int(j)] for j in np.flatnonzero(parents))
        if k > 1:
            enough = model.addVar(vtype="B")
            model.addCons(k * enough <= inside)
            inside = enough
        model.addCons(y >= z[int(i)] - inside)
        total += float(x) * y
    if k == 1:
        cyclic = _within_components(point)
        for i in range(point.n):
            model.addCons(z[i] <= pyscipopt.quicksum(z[int(j)] for j in np.flatnonzero(cyclic[i])))
    model.addCons(pyscipopt.quicksum(z) >= k + 1)
    model.setObjective(total)
    model.setObjlimit(k - VIOLATION)
    model.optimize()
    clusters = [[model.getSolVal(s, v) > 0.5 for v in z] for s in model.getSols()]
    good = [c for c in np.array(clusters, dtype=np.bool_) if left_side(point, c, k) < k - VIOLATION]
    return np.array(good, dtype=np.bool_).reshape(-1, point.n)


def _quiet_model(max_clusters: int) -> Any:
    """A SCIP model that branches at once: its cuts and heuristics took most of the time."""
    from fedbn.extras import pyscipopt

    scip = pyscipopt.scip
    model: Any = scip.Model("separation")
    model.hideOutput()
    model.setHeuristics(scip.PY_SCIP_PARAMSETTING.OFF)
    model.setSeparating(scip.PY_SCIP_PARAMSETTING.OFF)
    model.setParam("limits/solutions", max_clusters)
    return model


def _within_components(point: FractionalPoint) -> Bools:
    """[i, j]: j is a parent of i with weight, in the same strongly connected component."""
    edges = point.edge_weights > 1e-9
    label = strong_labels(edges)
    within: Bools = edges.T & (label[:, None] == label)
    return within
