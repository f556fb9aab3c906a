"""Pricing by local search over parent sets: for any score, and far better on categorical data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedbn.arrays import Bools, Floats
from fedbn.scores.gaussian import require_regular
from fedbn.search.cg_dca.pricing import NEGATIVE, Priced
from fedbn.search.cg_dca.submodular_difference import PricingProblem

if TYPE_CHECKING:
    from fedbn.scores.base import TabulatedScore
    from fedbn.search.cg_dca._chain_kernels import Model

__all__ = ["LocalSearch"]


@dataclass(frozen=True)
class LocalSearch:
    """Descend by adding, dropping and swapping, from no parents and from the start point.

    Parameters
    ----------
    largest : the start set is of this many variables at most, the largest of x above 1/2.
    steps : moves of a descent at most.
    """

    largest: int = 3
    steps: int = 100

    def model(self, score: TabulatedScore) -> Model:
        """Of any score."""
        from fedbn.scores._tables import GAUSSIAN
        from fedbn.search.cg_dca._chain_kernels import Model

        if score.tables.kind == GAUSSIAN:
            require_regular(score)
        return Model(score.tables, np.zeros((0, 0)), 1.0, 0.0)

    def columns(
        self, problem: PricingProblem, start: Floats, rng: np.random.Generator
    ) -> list[Priced]:
        """Every set on the way down with reduced cost below `NEGATIVE`."""
        from fedbn.search.cg_dca._local_search_kernels import descend

        c = problem.clusters
        path = np.zeros((self.steps + 1, problem.n), dtype=np.bool_)
        values = np.empty(self.steps + 1)
        found: dict[bytes, Priced] = {}
        nothing = None
        for first in (np.zeros(problem.n, dtype=np.bool_), self._round(problem, start)):
            length = descend(
                problem.model, problem.node, first, c.members, c.duals, c.sizes, path, values
            )
            nothing = values[0] if nothing is None else nothing
            for k in range(length):
                reduced = problem.constant + float(values[k] - nothing)
                if reduced < NEGATIVE:
                    found[path[k].tobytes()] = Priced(path[k].copy(), reduced)
        return list(found.values())

    def _round(self, problem: PricingProblem, start: Floats) -> Bools:
        order = problem.others[np.argsort(-start[problem.others], kind="stable")]
        chosen = np.zeros(problem.n, dtype=np.bool_)
        chosen[order[: self.largest]] = True
        return chosen & (start > 0.5)
