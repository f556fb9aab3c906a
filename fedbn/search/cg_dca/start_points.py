"""Where DCA begins for a node: the paper's three choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fedbn.arrays import Floats
from fedbn.search.cg_dca.restricted_master import MasterProblem


class StartPoint(Protocol):
    """Gives x⁰ [n] in [0, 1] for a node."""

    def point(self, master: MasterProblem, node: int, rng: np.random.Generator) -> Floats:
        """x⁰ of the pricing problem of this node."""
        ...


@dataclass(frozen=True)
class Warm:
    """The master's solution: Σ_J x(i, J) 1_J."""

    def point(self, master: MasterProblem, node: int, rng: np.random.Generator) -> Floats:
        """Deterministic; random numbers are not used."""
        return np.clip(master.point(node), 0.0, 1.0)


@dataclass(frozen=True)
class Random:
    """Uniform in the cube."""

    def point(self, master: MasterProblem, node: int, rng: np.random.Generator) -> Floats:
        """n uniform numbers."""
        return rng.random(len(master.pi))


@dataclass(frozen=True)
class Hybrid:
    """Random until the node has `columns` columns, then warm: the paper's choice."""

    columns: int = 50

    def point(self, master: MasterProblem, node: int, rng: np.random.Generator) -> Floats:
        """As `Random`, then as `Warm`."""
        start: StartPoint = Random() if master.pool.count[node] < self.columns else Warm()
        return start.point(master, node, rng)
