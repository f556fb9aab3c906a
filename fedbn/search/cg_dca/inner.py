"""The convex problem of one DCA step: minimise g - y over [0, 1]^m by Lovász extension."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.search.cg_dca.submodular_difference import PricingProblem


@dataclass(frozen=True)
class Point:
    """A minimiser x [n] in [0, 1], and an order of preference [n] among its ties, high first."""

    x: Floats
    preference: Floats


class InnerSolver(Protocol):
    """Minimises a submodular function less a modular one."""

    def minimise(self, problem: PricingProblem, y: Floats, start: Floats) -> Point:
        """A minimiser of g(x) - y · x, from a start [n]."""
        ...


def decide(problem: PricingProblem, y: Floats) -> tuple[Ints, Ints]:
    """Variables that some minimiser of g - y has, and those still to decide.

    A variable whose price y is above g's largest marginal value is in some minimiser; below the
    least, in none. That is exact, and leaves categorical problems with few variables.
    """
    low, high = problem.marginals
    mine = np.zeros(problem.n, dtype=np.bool_)
    mine[problem.others] = True
    taken = mine & (y >= high)
    return np.flatnonzero(taken), np.flatnonzero(mine & ~taken & (y > low))
