"""The inner problem by the minimum-norm point of the base polytope (Fujishige & Wolfe)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fedbn.arrays import Floats
from fedbn.search.cg_dca.inner import Point, decide
from fedbn.search.cg_dca.submodular_difference import PricingProblem


@dataclass(frozen=True)
class MinimumNorm:
    """Minimise by the point w of least norm: {w < 0} is a minimiser, its order by w breaks ties.

    Parameters
    ----------
    tolerance : how far the set found may be from the minimum.
    rounds : limit on major cycles.
    """

    tolerance: float = 1e-4
    rounds: int = 2000

    def minimise(self, problem: PricingProblem, y: Floats, start: Floats) -> Point:
        """The indicator of the set, with -w as preference."""
        base, free = decide(problem, y)
        x, preference = np.zeros(problem.n), np.full(problem.n, -np.inf)
        x[base], preference[base] = 1.0, np.inf
        if free.size:
            w = problem.model.likelihood.minimum_norm_point(
                problem.rows, problem.node, base, free, y, -start[free], self.tolerance, self.rounds
            )
            preference[free] = -w
            order = np.concatenate([base, free[np.argsort(w, kind="stable")]])
            values = problem.prefixes(order, cut=False)
            total = values.g - np.concatenate([[0.0], np.cumsum(y[order])])
            best = base.size + int(np.argmin(total[base.size :]))
            x[order[:best]] = 1.0
        return Point(x, preference)
