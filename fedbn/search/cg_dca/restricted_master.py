"""The restricted master problem: a linear program that grows by columns and by rows.

min Σ cost x, Σ_J x(i, J) = 1 per node (dual π_i), and per cluster (C, k) of size above k
Σ_{i in C, |J ∩ C| < k} x(i, J) ≥ k (dual μ ≥ 0): in a DAG, the first k nodes of C have fewer than k
parents in C. Primal simplex after columns, dual simplex after rows; presolve would lose the basis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fedbn.arrays import Bools, Floats, Ints
from fedbn.errors import SearchError
from fedbn.search.cg_dca.pool import ColumnPool
from fedbn.search.cg_dca.submodular_difference import Clusters
from fedbn.search.cg_dca.violated_clusters import FractionalPoint
from fedbn.search.families.family_program import new_solver, require_cluster

PRIMAL, DUAL = 4, 1  # HiGHS's simplex_strategy


class MasterProblem:
    """The linear program over a pool of columns.

    Attributes
    ----------
    x : float64 [columns], the present solution.
    value : its cost.
    pi : float64 [n].
    clusters : Clusters, with duals.
    """

    def __init__(self, pool: ColumnPool) -> None:
        from fedbn.extras import highspy

        self.pool = pool
        self._solver = new_solver(presolve="off")
        self._infinite = highspy.kHighsInf
        n = len(pool.names)
        for _ in range(n):
            self._solver.addRow(1.0, 1.0, 0, np.zeros(0, dtype=np.int32), np.zeros(0))
        self._columns = 0
        self._members = np.zeros((0, n), dtype=np.bool_)
        self._sizes = np.zeros(0, dtype=np.int64)
        self.x = np.zeros(0)
        self.value = np.inf
        self.pi = np.zeros(n)
        self.clusters = Clusters(self._members, np.zeros(0), self._sizes)

    def take_columns(self) -> None:
        """Add the columns that joined the pool, and solve."""
        first = self._columns
        node, cost = self.pool.node[first:], self.pool.cost[first:]
        parents = self.pool.parents[first:]
        if not node.size:
            return
        starts, rows, values = self._entries(node, parents)
        count = node.size
        self._solver.addCols(
            count, cost, np.zeros(count), np.full(count, self._infinite), rows.size, starts, rows,
            values,
        )  # fmt: skip
        self._columns += count
        self._solve(PRIMAL)

    def add_rows(self, members: Bools, sizes: Ints) -> None:
        """Add cluster rows [C, n] with their k [C], and solve."""
        node, parents = self.pool.node, self.pool.parents
        for cluster, k in zip(members, sizes, strict=True):
            covers = cluster[node] & ((parents & cluster).sum(axis=1) < k)
            require_cluster(self._solver, np.flatnonzero(covers), float(k))
        self._members = np.concatenate([self._members, members])
        self._sizes = np.concatenate([self._sizes, sizes])
        self._solve(DUAL)

    def _entries(self, node: Any, parents: Bools) -> tuple[Any, Any, Any]:
        """Starts, row indices and values of columns in compressed form."""
        n = len(self.pool.names)
        matrix = np.zeros((node.size, n + self._sizes.size), dtype=np.bool_)
        matrix[np.arange(node.size), node] = True
        if self._sizes.size:
            met = parents.astype(np.int32) @ self._members.T.astype(np.int32)
            matrix[:, n:] = self._members[:, node].T & (met < self._sizes)
        starts = np.concatenate([[0], np.cumsum(matrix.sum(axis=1))])[:-1].astype(np.int32)
        rows = np.nonzero(matrix)[1].astype(np.int32)
        return starts, rows, np.ones(rows.size)

    def _solve(self, strategy: int) -> None:
        from fedbn.extras import highspy

        self._solver.setOptionValue("simplex_strategy", strategy)
        self._solver.run()
        status = self._solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            text = self._solver.modelStatusToString(status)
            raise SearchError(f"the master problem was not solved: the status is {text!r}")
        solution = self._solver.getSolution()
        n = len(self.pool.names)
        duals = np.array(solution.row_dual)
        self.x = np.array(solution.col_value)
        self.value = float(self._solver.getInfo().objective_function_value)
        self.pi = duals[:n]
        self.clusters = Clusters(self._members, np.maximum(duals[n:], 0.0), self._sizes)

    def point(self, node: int) -> Floats:
        """Σ_J x(node, J) 1_J, [n]."""
        own = np.flatnonzero((self.x > 1e-9) & (self.pool.node[: self.x.size] == node))
        total: Floats = self.x[own] @ self.pool.parents[own]
        return total

    def fractional_point(self) -> FractionalPoint:
        """The columns with x > 0, for separation."""
        some = np.flatnonzero(self.x > 1e-9)
        return FractionalPoint(self.pool.node[some], self.pool.parents[some], self.x[some])
