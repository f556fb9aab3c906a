"""The inner problem by Kelley's cutting planes on the Lovász extension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.search.cg_dca.inner import Point, decide
from fedbn.search.cg_dca.submodular_difference import PricingProblem
from fedbn.search.families.family_program import new_solver


@dataclass(frozen=True)
class Kelley:
    """Minimise the largest of the cuts t ≥ s · x by linear programs, one more cut each time.

    Parameters
    ----------
    tolerance : stop when the best point is this close to the linear program's value.
    rounds : limit on cuts.
    """

    tolerance: float = 1e-4
    rounds: int = 500

    def minimise(self, problem: PricingProblem, y: Floats, start: Floats) -> Point:
        """The best point met, a vertex of the cuts' polytope and as a rule fractional."""
        base, free = decide(problem, y)
        x = np.zeros(problem.n)
        x[base] = 1.0
        if free.size:
            x[free] = self._solve(problem, y, base, free, np.clip(start[free], 0.0, 1.0))
        return Point(x, x)

    def _solve(
        self, problem: PricingProblem, y: Floats, base: Ints, free: Ints, point: Floats
    ) -> Floats:
        program = _CuttingPlanes(free.size)
        best, best_point = np.inf, point
        for _ in range(self.rounds):
            cut = _greedy_vertex(problem, y, base, free, point)
            value = float(cut @ point)
            if value < best:
                best, best_point = value, point
            point, bound = program.solve_with(cut)
            if best - bound <= self.tolerance:
                break
        return best_point


def _greedy_vertex(problem: PricingProblem, y: Floats, base: Ints, free: Ints, x: Floats) -> Floats:
    """The cut at x [free]: marginal values of g - y given `base`, x descending, ties by name."""
    place = np.argsort(-x, kind="stable")
    order = np.concatenate([base, free[place]])
    values = problem.prefixes(order, cut=False)
    cut = np.empty(free.size)
    cut[place] = np.diff(values.g[base.size :]) - y[free[place]]
    return cut


class _CuttingPlanes:
    """min t, t ≥ s · x for every cut s, x in [0, 1]^m."""

    def __init__(self, size: int) -> None:
        from fedbn.extras import highspy

        self._solver = new_solver(presolve="off")
        infinite = highspy.kHighsInf
        self._columns = np.arange(size + 1, dtype=np.int32)
        self._infinite = infinite
        self._solver.addVars(
            size + 1, np.append(np.zeros(size), -infinite), np.append(np.ones(size), infinite)
        )
        self._solver.changeColCost(size, 1.0)

    def solve_with(self, cut: Floats) -> tuple[Floats, float]:
        """Add a cut; the minimiser and the minimum, a lower bound."""
        row = np.append(-cut, 1.0)
        self._solver.addRow(0.0, self._infinite, row.size, self._columns, row)
        self._solver.run()
        solution = np.array(self._solver.getSolution().col_value)
        return np.clip(solution[:-1], 0.0, 1.0), float(solution[-1])
